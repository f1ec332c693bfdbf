import { useState } from 'react';
import type { CreatedInvite, InviteCreateBody, Role } from '../../../../src/shapes/identity.js';
import { useChange } from '../../data/api.js';
import { useSession } from '../../data/session.js';
import { CopyLine } from '../../parts/copy-line.js';
import { DialogForm, DoneDialog } from '../../parts/dialog.js';
import { SelectField, TextField } from '../../parts/field.js';

const PLATFORM_ROLES: [Role, string][] = [
  ['admin', 'Admin: everything, in every account'],
  ['auditor', 'Auditor: reads everything'],
];
const ACCOUNT_ROLES: [Role, string][] = [
  ['owner', 'Owner: projects, keys, members, money'],
  ['finance', 'Finance: money and budgets'],
  ['developer', 'Developer: projects and keys'],
  ['viewer', 'Viewer: usage and requests'],
];

/** Makes a link for one person, which is shown once. */
export function NewInvite({ accountId, onClose }: { accountId: string | undefined; onClose: () => void }) {
  const { accountName } = useSession();
  const roles = accountId ? ACCOUNT_ROLES : PLATFORM_ROLES;
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>(accountId ? 'developer' : 'auditor');
  const inviting = useChange<CreatedInvite>(() => ({
    method: 'POST',
    path: '/invites',
    body: { email, role, ...(accountId && { accountId }) } satisfies InviteCreateBody,
  }));
  if (inviting.data) {
    return (
      <DoneDialog title="Invite created" onClose={onClose}>
        <p>Send this link to {email}. It works once, within 24 hours, and is not shown again.</p>
        <CopyLine text={inviting.data.link} label="Copy the link" wrap />
      </DoneDialog>
    );
  }
  return (
    <DialogForm
      title={accountId ? `Invite to ${accountName(accountId)}` : 'Invite to the platform'}
      submit="Create link"
      change={inviting}
      onClose={onClose}
    >
      <TextField label="E-mail" type="email" value={email} onText={setEmail} required />
      <SelectField label="Role" options={roles} value={role} onChoose={setRole} />
    </DialogForm>
  );
}
