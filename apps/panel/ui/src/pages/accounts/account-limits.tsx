import { useState } from 'react';
import type { AccountUpdateBody, ShownAccount } from '../../../../src/shapes/accounts.js';
import { useChange } from '../../data/use-api.js';
import { DialogForm } from '../../parts/dialog-form.js';
import { TextField } from '../../parts/field.js';

/** Changes the limits that all projects of an account share, and how many projects and keys it may have. */
export function AccountLimits({ account, onClose }: { account: ShownAccount; onClose: () => void }) {
  const [perMinute, setPerMinute] = useState(`${account.requestsPerMinuteMax ?? ''}`);
  const [atOnce, setAtOnce] = useState(`${account.concurrencyMax ?? ''}`);
  const [tokens, setTokens] = useState(`${account.tokensPerMinuteMax ?? ''}`);
  const [projects, setProjects] = useState(`${account.projectsMax}`);
  const [keys, setKeys] = useState(`${account.activeKeysMax}`);
  const saving = useChange<ShownAccount>(() => ({
    method: 'PATCH',
    path: `/accounts/${account.accountId}`,
    body: {
      requestsPerMinuteMax: perMinute === '' ? null : Number(perMinute),
      concurrencyMax: atOnce === '' ? null : Number(atOnce),
      tokensPerMinuteMax: tokens === '' ? null : Number(tokens),
      projectsMax: Number(projects),
      activeKeysMax: Number(keys),
    } satisfies AccountUpdateBody,
  }));
  const number = { type: 'number', min: 1, placeholder: 'No limit' };
  return (
    <DialogForm title={`Limits: ${account.name}`} submit="Save" change={saving} onDone={onClose} onClose={onClose}>
      <p>All projects of the account share these limits. Each project and key also has its own.</p>
      <TextField
        label="Requests a minute"
        {...number}
        max={1_000_000}
        value={perMinute}
        onChange={(event) => setPerMinute(event.target.value)}
      />
      <TextField label="Requests at once" {...number} max={100_000} value={atOnce} onChange={(event) => setAtOnce(event.target.value)} />
      <TextField
        label="Tokens a minute"
        {...number}
        max={2_147_483_647}
        value={tokens}
        onChange={(event) => setTokens(event.target.value)}
      />
      <TextField
        label="Most projects"
        {...number}
        max={100_000}
        value={projects}
        onChange={(event) => setProjects(event.target.value)}
        required
      />
      <TextField
        label="Most active keys"
        {...number}
        max={1_000_000}
        value={keys}
        onChange={(event) => setKeys(event.target.value)}
        required
      />
    </DialogForm>
  );
}
