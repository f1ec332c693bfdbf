import { IsOptional } from 'class-validator';
import { accountList } from '#contracts/billing/accounts.js';
import { Id, Instant } from '#contracts/billing/fields.js';
import { keyList } from '#contracts/billing/keys.js';
import { balanceGet } from '#contracts/billing/money.js';
import type { UsageGroup, UsageRow } from '#contracts/billing/usage.js';
import type { Activity } from '../../activity/activity.js';
import { gapsSince } from '../../activity/recording.js';
import { PanelError } from '../../errors/panel-error.js';
import type { AskServices } from '../../services/services.js';
import type { OverviewFigures, OverviewTraffic, OverviewWarning } from '../../shapes/overview.js';
import { listBudgets } from '../list-budgets.js';
import { type AccountState, accountWarnings, ENDS_SOON_MS, type LimitState, limitWarnings } from './account-warnings.js';
import { readUsage } from './read-usage.js';
import { mostExpensive, sumUsage } from './usage-sums.js';

const DAY_MS = 24 * 3_600_000;
/** Up to this long the series has hours. */
const HOURS_MS = 7 * DAY_MS;

/**
 * Reads the figures of one account, one project of it, or of the platform, in one round of parallel calls. `platformWarnings` are those of an operator.
 */
export async function readOverview(
  services: AskServices,
  activity: Activity,
  query: OverviewQuery,
  reader: string,
  platformWarnings: () => Promise<OverviewWarning[]>,
  now = new Date(),
): Promise<OverviewFigures> {
  const { accountId, projectId } = query;
  const { from, to } = parseRange(query, now);
  const step = Date.parse(to) - Date.parse(from) <= HOURS_MS ? 'hour' : 'day';
  const usage = (question: { from: string; to: string; step?: 'hour' | 'day'; groupBy?: UsageGroup[] }): Promise<UsageRow[]> =>
    readUsage(services, { accountId, projectId, ...question });
  const spenders = async (group: UsageGroup): Promise<UsageRow[]> => mostExpensive(await usage({ from, to, groupBy: [group] }));
  const today = now.toISOString().slice(0, 10);
  const [limits, account, series, month, byModel, byProject, byKey, byEnding, traffic, warnings] = await Promise.all([
    accountId ? readLimits(services, { accountId, projectId }, now) : undefined,
    accountId && !projectId ? readAccount(services, accountId) : undefined,
    usage({ from, to, step }),
    usage({ from: `${today.slice(0, 7)}-01`, to: now.toISOString(), step: 'day' }),
    spenders('model'),
    spenders('project'),
    spenders('key'),
    spenders('ending'),
    readTraffic(activity, { accountId, projectId, from, to }, reader),
    platformWarnings(),
  ]);
  return {
    from,
    to,
    balance: account?.balance ?? null,
    budgets: limits?.budgets ?? [],
    total: sumUsage(series),
    today: sumUsage(month.filter(({ start }) => start?.startsWith(today))),
    month: sumUsage(month),
    step,
    series,
    byModel,
    byProject,
    byKey,
    byEnding,
    traffic: account ? { ...traffic, gaps: gapsSince(new Date(account.account.createdAt), traffic.gaps) } : traffic,
    warnings: [...(account ? accountWarnings(account, now) : []), ...(limits ? limitWarnings(limits) : []), ...warnings],
  };
}

async function readTraffic(
  activity: Activity,
  query: { accountId: string | undefined; projectId: string | undefined; from: string; to: string },
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

/** Reads what a project has too. */
async function readLimits(
  services: AskServices,
  { accountId, projectId }: { accountId: string; projectId: string | undefined },
  now: Date,
): Promise<LimitState> {
  const endsBefore = new Date(now.getTime() + ENDS_SOON_MS).toISOString();
  const [{ budgets }, { keys: endingKeys }] = await Promise.all([
    listBudgets(services, { accountId, projectId }),
    services.ask(keyList, { accountId, projectId, endsBefore }),
  ]);
  return { accountId, budgets, endingKeys };
}

/** Reads what belongs to the whole account alone. */
async function readAccount(services: AskServices, accountId: string): Promise<AccountState> {
  const [{ accounts }, balance] = await Promise.all([services.ask(accountList, { accountId }), services.ask(balanceGet, { accountId })]);
  const [account] = accounts;
  if (!account) throw new PanelError('not_found', 'There is no such account.', { param: 'accountId' });
  return { account, balance };
}

export class OverviewQuery {
  /** Absent: the whole platform. */
  @IsOptional() @Id() accountId?: string;
  /** Only this project: without what belongs to the whole account. */
  @IsOptional() @Id() projectId?: string;
  /** Start, included. Default: 24 hours before `to`. */
  @IsOptional() @Instant() from?: string;
  /** End, excluded. Default: now. */
  @IsOptional() @Instant() to?: string;
}
