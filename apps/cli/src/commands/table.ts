import type { CliCommand } from '../command.js';
import { accountCommands } from './accounts.js';
import { auditCommands } from './audit.js';
import { budgetCommands } from './budgets.js';
import { catalogCommands } from './catalog.js';
import { catalogPlanCommands } from './catalog-plan.js';
import { catalogPriceCommands } from './catalog-prices.js';
import { childKeyCommands } from './child-keys.js';
import { completionCommand } from './completion.js';
import { estimateCommands } from './estimate.js';
import { keyCommands } from './keys.js';
import { ledgerCommands } from './ledger.js';
import { marginCommands } from './margin.js';
import { moneyCommands } from './money.js';
import { monthCommands } from './months.js';
import { panelCommands } from './panel.js';
import { paymentCommands } from './payments.js';
import { priceCommands } from './prices.js';
import { projectCommands } from './projects.js';
import { receiptCommands } from './receipts.js';
import { reconcileCommands } from './reconcile.js';
import { requestCommands } from './requests.js';
import { rotateKeysCommands } from './rotate-keys.js';
import { serviceCommands } from './services.js';
import { tenantCommands } from './tenants.js';
import { topCommands } from './top.js';
import { traceCommands } from './trace.js';
import { upstreamTestCommands } from './upstreams-probe.js';
import { upstreamStatusCommands } from './upstreams-status.js';
import { usageCommands } from './usage.js';
import { webhookCommands } from './webhooks.js';

/** Descriptions of the command groups. */
export const GROUPS: Readonly<Record<string, string>> = {
  account: 'Customers; each has one balance',
  project: 'Projects of an account; each has its limits',
  key: 'API keys of a project',
  budget: 'Limits on what an account, a project or a key may cost',
  'auto-topup': 'Top-ups with a stored card when the balance is low',
  plan: 'Plan balances, which expire',
  movements: 'Statements of account',
  ledger: 'Consistency of the ledger',
  month: 'Closed months: digests, statements and files',
  receipt: 'Receipts of closed months, which anybody can verify',
  webhook: 'Receivers of money events',
  holds: 'Open holds of running requests',
  request: 'Single requests',
  catalog: 'Models, prices and upstreams',
  models: 'Available models',
  price: 'Prices of accounts, and scheduled prices',
  upstreams: 'Servers of the models',
  panel: 'People of the panel',
};

/** All commands, in the order of the help. */
export const COMMANDS: readonly CliCommand[] = [
  ...accountCommands,
  ...projectCommands,
  ...keyCommands,
  ...childKeyCommands,
  ...rotateKeysCommands,
  ...budgetCommands,
  ...tenantCommands,
  ...moneyCommands,
  ...paymentCommands,
  ...usageCommands,
  ...serviceCommands,
  ...marginCommands,
  ...reconcileCommands,
  ...requestCommands,
  ...estimateCommands,
  ...traceCommands,
  ...topCommands,
  ...ledgerCommands,
  ...monthCommands,
  ...receiptCommands,
  ...auditCommands,
  ...webhookCommands,
  ...catalogPlanCommands,
  ...catalogCommands,
  ...catalogPriceCommands,
  ...priceCommands,
  ...upstreamStatusCommands,
  ...upstreamTestCommands,
  ...panelCommands,
  completionCommand(() => COMMANDS, GROUPS),
];
