import type { CliCommand } from '../command.js';
import { accountCommands } from './accounts.js';
import { catalogCommands } from './catalog.js';
import { keyCommands } from './keys.js';
import { ledgerCommands } from './ledger.js';
import { moneyCommands } from './money.js';
import { projectCommands } from './projects.js';
import { requestCommands } from './requests.js';
import { upstreamStatusCommands } from './upstreams-status.js';
import { upstreamTestCommands } from './upstreams-test.js';
import { usageCommands } from './usage.js';

/** Every command there is, in the order of the help. A new one is an entry in one of these files. */
export const COMMANDS: readonly CliCommand[] = [
  ...accountCommands,
  ...projectCommands,
  ...keyCommands,
  ...moneyCommands,
  ...usageCommands,
  ...requestCommands,
  ...ledgerCommands,
  ...catalogCommands,
  ...upstreamStatusCommands,
  ...upstreamTestCommands,
];

/** What the first words stand for. */
export const GROUPS: Readonly<Record<string, string>> = {
  account: 'Customers: each has one balance',
  project: 'Projects of an account: each has its limits',
  key: 'API keys of a project',
  plan: 'Plan balances, which end at a date',
  movements: 'Statements of account',
  ledger: 'The books as a whole',
  holds: 'What running requests hold',
  request: 'Single requests',
  catalog: 'Models, prices and upstreams',
  models: 'Models on offer',
  upstreams: 'Where models run',
};
