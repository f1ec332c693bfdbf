import { useState } from 'react';
import { ACTIVE_KEYS_MAX, CONCURRENCY_MAX, PROJECTS_MAX, REQUESTS_PER_MINUTE_MAX, TOKENS_MAX } from '#contracts/rules/bounds.js';
import type { AccountUpdateBody, ShownAccount } from '../../../../src/shapes/accounts.js';
import { useChange } from '../../data/use-api.js';
import { DialogForm } from '../../parts/dialog-form.js';
import { LimitField } from '../../parts/field.js';

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
  return (
    <DialogForm title={`Limits: ${account.name}`} submit="Save" change={saving} onDone={onClose} onClose={onClose}>
      <p>All projects of the account share these limits. Each project and key also has its own.</p>
      <LimitField label="Requests a minute" max={REQUESTS_PER_MINUTE_MAX} value={perMinute} onText={setPerMinute} />
      <LimitField label="Requests at once" max={CONCURRENCY_MAX} value={atOnce} onText={setAtOnce} />
      <LimitField label="Tokens a minute" max={TOKENS_MAX} value={tokens} onText={setTokens} />
      <LimitField label="Most projects" max={PROJECTS_MAX} value={projects} onText={setProjects} required />
      <LimitField label="Most active keys" max={ACTIVE_KEYS_MAX} value={keys} onText={setKeys} required />
    </DialogForm>
  );
}
