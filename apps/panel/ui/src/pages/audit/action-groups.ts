import { AUDITED_ACTIONS } from '#contracts/rules/audit-sentences.js';

/** Titles of the groups by the noun that their actions begin with. Nouns that belong together have one title. */
const TITLES: Readonly<Record<string, string>> = {
  account: 'Accounts',
  project: 'Projects',
  key: 'Keys',
  'child-key': 'Keys',
  budget: 'Budgets',
  topup: 'Money',
  refund: 'Money',
  adjustment: 'Money',
  'credit-note': 'Money',
  plan: 'Money',
  'auto-topup': 'Money',
  'statement-mail': 'Money',
  usage: 'Ledger and months',
  ledger: 'Ledger and months',
  month: 'Ledger and months',
  webhook: 'Webhooks',
  catalog: 'Catalog, prices, upstreams',
  price: 'Catalog, prices, upstreams',
  upstream: 'Catalog, prices, upstreams',
  invite: 'People and roles',
  member: 'People and roles',
  user: 'People and roles',
  identity: 'Sign-ins and sessions',
  session: 'Sign-ins and sessions',
  factor: 'Sign-ins and sessions',
  token: 'Tokens',
  permission: 'Refusals',
};

/** Every action that the journals can have, for the filter. A new noun is among the others until it has a title. */
export function groupActions(): { title: string; options: [action: string, text: string][] }[] {
  const groups = new Map<string, [string, string][]>();
  for (const action of AUDITED_ACTIONS) {
    const title = TITLES[action.split('.')[0] ?? ''] ?? 'Others';
    groups.set(title, [...(groups.get(title) ?? []), [action, action]]);
  }
  return [...groups].map(([title, options]) => ({ title, options }));
}
