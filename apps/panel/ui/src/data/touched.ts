/** Resources that show a change of the named one. A change of a resource that is missing here shows everywhere: money, people, prices. */
const SHOWN_BY: Record<string, readonly string[]> = {
  budgets: ['budgets', 'projects', 'overview', 'audit'],
  keys: ['keys', 'projects', 'overview', 'audit'],
  projects: ['projects', 'keys', 'overview', 'audit'],
  checkouts: [],
  'auto-topup': ['card-payments', 'audit'],
  webhooks: ['webhooks', 'audit'],
  sessions: ['sessions', 'audit'],
  invites: ['invites', 'audit'],
  tokens: ['tokens', 'audit'],
  ledger: ['ledger', 'audit'],
};

/** True when the reply of `GET path` may differ after a change at `changed`. */
export function isTouched(path: string, changed: string): boolean {
  const resource = collectWords(changed).findLast((word) => word in SHOWN_BY);
  const shown = resource === undefined ? undefined : SHOWN_BY[resource];
  return shown === undefined || collectWords(path).some((word) => shown.includes(word));
}

function collectWords(path: string): string[] {
  return path.replace(/\?.*/, '').split('/');
}
