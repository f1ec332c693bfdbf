import { useState } from 'react';
import { NAME_LENGTH_MAX } from '#contracts/rules/bounds.js';
import type { CreatedToken, Permission, TokenCreateBody } from '../../../../src/shapes/identity.js';
import { useChange } from '../../data/api.js';
import { useSession } from '../../data/session.js';
import { CopyLine } from '../../parts/copy-line.js';
import { DialogForm, DoneDialog } from '../../parts/dialog.js';
import { SelectField, TextField } from '../../parts/field.js';
import styles from './new-token.module.css';

const DAY_MS = 86_400_000;
const LIFETIMES = [7, 30, 90, 366];
/** Tokens never manage people. */
const NEVER: Permission[] = ['members', 'members.read', 'tokens', 'playground'];

/** Makes a token with permissions that the person has, and shows it once. */
export function NewToken({ accountId, onClose }: { accountId: string | undefined; onClose: () => void }) {
  const { me, may } = useSession();
  const [tokenId] = useState(() => crypto.randomUUID());
  const [name, setName] = useState('');
  const [days, setDays] = useState(90);
  const [permissions, setPermissions] = useState<Permission[]>(['usage.read']);
  const offered = [...new Set(me.grants.flatMap((grant) => grant.permissions))].filter(
    (permission) => may(permission) && !NEVER.includes(permission),
  );
  const making = useChange<CreatedToken>(() => ({
    method: 'POST',
    path: '/tokens',
    body: {
      tokenId,
      name,
      permissions,
      expiresAt: new Date(Date.now() + days * DAY_MS).toISOString(),
      ...(accountId && { accountId }),
    } satisfies TokenCreateBody,
  }));
  if (making.data) {
    return (
      <DoneDialog title="Your new token" onClose={onClose}>
        <p>Copy it now. The panel cannot show it again.</p>
        <CopyLine text={making.data.token} label="Copy the token" wrap />
        <CopyLine
          text={`curl ${location.origin}/panel/v1/accounts \\\n  -H "authorization: Bearer ${making.data.token}"`}
          label="Copy the call"
        />
      </DoneDialog>
    );
  }
  return (
    <DialogForm title="New token" submit="Create token" change={making} onClose={onClose} disabled={permissions.length === 0}>
      <TextField label="Name" hint="The program that uses it." value={name} onText={setName} maxLength={NAME_LENGTH_MAX} required />
      <fieldset className={styles.permissions}>
        <legend>It may</legend>
        {offered.map((permission) => (
          <label key={permission}>
            <input
              type="checkbox"
              checked={permissions.includes(permission)}
              onChange={(event) =>
                setPermissions(event.target.checked ? [...permissions, permission] : permissions.filter((each) => each !== permission))
              }
            />
            {permission}
          </label>
        ))}
      </fieldset>
      <SelectField label="Ends" options={LIFETIMES.map((each) => [each, `in ${each} days`])} value={days} onChoose={setDays} />
    </DialogForm>
  );
}
