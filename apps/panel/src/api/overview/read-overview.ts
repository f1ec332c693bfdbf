import { IsOptional } from 'class-validator';
import { accountList } from '#contracts/billing/accounts.js';
import { budgetList } from '#contracts/billing/budgets.js';
import { Id, Instant } from '#contracts/billing/fields.js';
import { keyList } from '#contracts/billing/keys.js';
import { balanceGet } from '#contracts/billing/money.js';
import { type UsageGroup, type UsageRow, usageQuery } from '#contracts/billing/usage.js';
import type { Activity } from '../../activity/activity.js';
import { gapsSince } from '../../activity/recording.js';
import { PanelError } from '../../errors/panel-error.js';
import { type AskServices, collectRows, readPages } from '../../services/services.js';
import type { OverviewFigures, OverviewTraffic, OverviewWarning } from '../../shapes/overview.js';
import { type AccountState, accountWarnings, ENDS_SOON_MS } from './account-warnings.js';
import { mostExpensive, sumUsage } from './usage-sums.js';

const DAY_MS = 24 * 3_600_000;
/** Up to this long the series has hours. */
const HOURS_MS = 7 * DAY_MS;
const PAGE_ROWS = 1_000;

/**
 * Reads the figures of one account, or of the platform, in one round of parallel calls. `platformWarnings` are those of an operator.
 */
export async function readOverview(
  services: AskServices,
  activity: Activity,
  query: OverviewQuery,
  reader: string,
  platformWarnings: () => Promise<OverviewWarning[]>,
  now = new Date(),
): Promise<OverviewFigures> {
  const { accountId } = query;
  const { from, to } = parseRange(query, now);
  const step = Date.parse(to) - Date.parse(from) <= HOURS_MS ? 'hour' : 'day';
  const usage = (question: { from: string; to: string; step?: 'hour' | 'day'; groupBy?: UsageGroup[] }): Promise<UsageRow[]> =>
    collectRows(readPages((cursor) => services.ask(usageQuery, { accountId, limit: PAGE_ROWS, ...question, cursor })));
  const spenders = async (group: UsageGroup): Promise<UsageRow[]> => mostExpensive(await usage({ from, to, groupBy: [group] }));
  const today = now.toISOString().slice(0, 10);
  const [state, series, month, byModel, byProject, byKey, byEnding, traffic, warnings] = await Promise.all([
    accountId ? readAccount(services, accountId, now) : undefined,
    usage({ from, to, step }),
    usage({ from: `${today.slice(0, 7)}-01`, to: now.toISOString(), step: 'day' }),
    spenders('model'),
    spenders('project'),
    spenders('key'),
    spenders('ending'),
    readTraffic(activity, { accountId, from, to }, reader),
    platformWarnings(),
  ]);
  return {
    from,
    to,
    balance: state?.balance ?? null,
    budgets: state?.budgets ?? [],
    total: sumUsage(series),
    today: sumUsage(month.filter(({ start }) => start?.startsWith(today))),
    month: sumUsage(month),
    step,
    series,
    byModel,
    byProject,
    byKey,
    byEnding,
    traffic: state ? { ...traffic, gaps: gapsSince(new Date(state.account.createdAt), traffic.gaps) } : traffic,
    warnings: [...(state ? accountWarnings(state, now) : []), ...warnings],
  };
}

async function readTraffic(
  activity: Activity,
  query: { accountId: string | undefined; from: string; to: string },
  reader: string,
): Promise<OverviewTraffic> {
  const { total, gaps } = await activity.traffic(query, reader);
  return { ...total, gaps };
}

function parseRange({ from, to }: OverviewQuery, now: Date): { from: string; to: string } {
  const end = to ? new Date(to) : now;
  const start = from ? new Date(from) : new Date(end.getTime() - DAY_MS);
  if (start >= end) throw new PanelError('invalid_request', 'to must be later than from.', { param: 'to' });
  return { from: start.toISOString(), to: end.toISOString() };
}

async function readAccount(services: AskServices, accountId: string, now: Date): Promise<AccountState> {
  const endsBefore = new Date(now.getTime() + ENDS_SOON_MS).toISOString();
  const [{ accounts }, balance, { budgets }, { keys: endingKeys }] = await Promise.all([
    services.ask(accountList, { accountId }),
    services.ask(balanceGet, { accountId }),
    services.ask(budgetList, { accountId }),
    services.ask(keyList, { accountId, endsBefore }),
  ]);
  const [account] = accounts;
  if (!account) throw new PanelError('not_found', 'There is no such account.', { param: 'accountId' });
  return { account, balance, budgets, endingKeys };
}

export class OverviewQuery {
  /** Absent: the whole platform. */
  @IsOptional() @Id() accountId?: string;
  /** Start, included. Default: 24 hours before `to`. */
  @IsOptional() @Instant() from?: string;
  /** End, excluded. Default: now. */
  @IsOptional() @Instant() to?: string;
}
