import { usageRerate } from '#contracts/billing/rerate.js';
import { catalogPlan } from '#contracts/catalog-revisions.js';
import type { PriceComparison } from '#contracts/price-comparison.js';
import { ServiceError } from '#contracts/service-error.js';
import { type Messaging, MessagingError } from '#messaging/messaging.js';
import type { CliCommand, Parameters, Values } from '../command.js';
import { argument, month, optional, text } from '../parameters.js';
import { readCatalog } from './catalog.js';
import { type RatedChange, renderPlan, renderRated } from './catalog-report.js';

/** Prices with steps read the journal of the month. */
const RERATE_MS = 600_000;

const PARAMETERS = {
  file: argument(text(500, 'file'), 'such as config/catalog.yaml'),
  month: optional(month, 'month whose usage is priced; default the last one'),
} satisfies Parameters;

export const catalogPlanCommands: readonly CliCommand[] = [
  {
    name: 'catalog plan',
    summary:
      'Show the faults of a YAML file, or what applying it would change and what new prices would have cost last month; exit code 1 on a fault',
    parameters: PARAMETERS,
    examples: ['catalog plan config/catalog.yaml', 'catalog plan config/catalog.yaml --month 2027-01 --json'],
    async run(values, json, connect) {
      const { file, month = lastMonth(new Date()) } = values as Values<typeof PARAMETERS>;
      const yaml = await readCatalog(file);
      const messaging = await connect();
      const { prices, ...plan } = await messaging.request(catalogPlan, { yaml, withPrices: true });
      const rated = prices && (await rate(messaging, month, prices));
      const shown = json
        ? JSON.stringify({ ...plan, ...rated }, null, 2)
        : [renderPlan(plan), ...(rated ? renderRated(rated) : [])].join('\n');
      return { text: shown, failed: plan.faults.length > 0 };
    },
  },
];

/** The plan is also for those who have no billing beside the catalog: that it cannot be re-rated is no failure of the plan. */
async function rate(messaging: Messaging, month: string, prices: PriceComparison): Promise<RatedChange> {
  try {
    return { month, rated: await messaging.request(usageRerate, { month, prices }, { timeoutMs: RERATE_MS }) };
  } catch (error) {
    if (error instanceof ServiceError || error instanceof MessagingError) return { month, notRated: error.message };
    throw error;
  }
}

function lastMonth(now: Date): string {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1)).toISOString().slice(0, 7);
}
