import { keyList } from '#contracts/billing/keys.js';
import type { UsageGroup, UsageRow } from '#contracts/billing/usage.js';
import type { AskServices } from '../../services/services.js';
import type { Project } from '../../shapes/billing.js';
import type { ProjectDetails } from '../../shapes/overview.js';
import { listBudgets } from '../list-budgets.js';
import type { RequestQuery } from '../requests/request-query.js';
import { readUsage } from './read-usage.js';
import { mostExpensive, sumUsage } from './usage-sums.js';

/** Most keys of the reply. */
const KEYS_MAX = 1_000;
const REQUESTS_MAX = 10;
/** Billing looks no further back for the last requests. */
const REQUESTS_MS = 7 * 86_400_000;

/** Reads what not every caller may see: null for one who may not. */
interface Reading {
  requests: (query: RequestQuery) => Promise<ProjectDetails['requests']>;
  /** People with a role in the account. */
  members: () => Promise<ProjectDetails['members']>;
}

/** Reads the month of a project so far, and what belongs to it, in one round of parallel calls. */
export async function readProject(services: AskServices, project: Project, reading: Reading, now = new Date()): Promise<ProjectDetails> {
  const { accountId, projectId } = project;
  const today = now.toISOString().slice(0, 10);
  const range = { accountId, projectId, from: `${today.slice(0, 7)}-01`, to: now.toISOString() };
  const usage = (question: { step?: 'day'; groupBy?: UsageGroup[] }): Promise<UsageRow[]> => readUsage(services, { ...range, ...question });
  const lastFrom = new Date(now.getTime() - REQUESTS_MS).toISOString();
  const [series, byModel, byKey, { budgets }, { keys, nextCursor }, requests, members] = await Promise.all([
    usage({ step: 'day' }),
    usage({ groupBy: ['model'] }),
    usage({ groupBy: ['key'] }),
    listBudgets(services, { accountId, projectId }),
    services.ask(keyList, { projectId, limit: KEYS_MAX }),
    reading.requests({ accountId, projectId, from: lastFrom, limit: REQUESTS_MAX }),
    reading.members(),
  ]);
  return {
    project,
    today: sumUsage(series.filter(({ start }) => start?.startsWith(today))),
    month: sumUsage(series),
    series,
    byModel: mostExpensive(byModel),
    byKey: mostExpensive(byKey),
    budgets,
    keys,
    hasMoreKeys: nextCursor !== null,
    requests: requests === null ? null : requests.slice(0, REQUESTS_MAX),
    members,
  };
}
