import * as audit from './audit.js';
import * as accounts from './billing/accounts.js';
import * as budgets from './billing/budgets.js';
import * as childKeys from './billing/child-keys.js';
import * as billingEvents from './billing/events.js';
import * as holds from './billing/holds.js';
import * as keys from './billing/keys.js';
import * as ledger from './billing/ledger.js';
import * as margin from './billing/margin.js';
import * as money from './billing/money.js';
import * as months from './billing/months.js';
import * as movements from './billing/movements.js';
import * as ownKey from './billing/own-key.js';
import * as plans from './billing/plans.js';
import * as projects from './billing/projects.js';
import * as quotes from './billing/quotes.js';
import * as receipts from './billing/receipts.js';
import * as requests from './billing/requests.js';
import * as rerate from './billing/rerate.js';
import * as services from './billing/services.js';
import * as tenants from './billing/tenants.js';
import * as usage from './billing/usage.js';
import * as webhooks from './billing/webhooks.js';
import * as catalog from './catalog.js';
import * as catalogRevisions from './catalog-revisions.js';
import { Endpoint, StreamEndpoint, Topic } from './endpoint.js';
import * as gateway from './gateway.js';
import * as inference from './inference.js';
import * as items from './items.js';
import * as panel from './panel.js';
import * as payments from './payments.js';
import * as policy from './policy.js';
import * as probe from './probe.js';
import * as proxyReplicas from './proxy-replicas.js';
import * as replicas from './replica-status.js';
import * as routeCosts from './route-costs.js';
import * as routeStatus from './route-status.js';
import * as scheduledPrices from './scheduled-prices.js';
import * as tenantMembers from './tenant-members.js';

/** All contracts, for checks of every subject: permissions, documents, tests. */
const MODULES = [
  accounts,
  projects,
  keys,
  childKeys,
  ownKey,
  quotes,
  budgets,
  money,
  plans,
  movements,
  usage,
  services,
  rerate,
  margin,
  holds,
  requests,
  receipts,
  ledger,
  months,
  audit,
  billingEvents,
  webhooks,
  tenants,
  catalog,
  catalogRevisions,
  scheduledPrices,
  routeCosts,
  gateway,
  items,
  inference,
  policy,
  proxyReplicas,
  routeStatus,
  replicas,
  probe,
  panel,
  tenantMembers,
  payments,
];
const contracts: unknown[] = MODULES.flatMap((module) => Object.values(module));

export const everyEndpoint = contracts.filter((contract) => contract instanceof Endpoint) as Endpoint<object, unknown>[];
export const everyStreamEndpoint = contracts.filter((contract) => contract instanceof StreamEndpoint) as StreamEndpoint<object, object>[];
export const everyTopic = contracts.filter((contract) => contract instanceof Topic) as Topic<object>[];
