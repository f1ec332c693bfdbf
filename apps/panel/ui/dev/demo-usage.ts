import type { Overview, UsageSums } from '../../src/shapes/overview.js';
import type { BilledRequest } from '../../src/shapes/requests.js';
import type { UsageQueryReply, UsageRow } from '../../src/shapes/usage.js';
import { budgetsOf } from './demo-budgets.js';
import { ACCOUNTS, NOW, REQUESTS } from './demo-data.js';
import { trafficOf } from './demo-traffic.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export interface UsageQuestion {
  account: string;
  from: number;
  to: number;
  step?: 'hour' | 'day';
  groupBy?: string[];
  only?: (request: BilledRequest) => boolean;
}

/** Sums of the invented requests, as billing's rollups give them. */
export function usageOf({ account, from, to, step, groupBy = [], only }: UsageQuestion): UsageQueryReply {
  const stepMs = step === 'day' ? DAY_MS : HOUR_MS;
  const rows = new Map<string, UsageRow>();
  for (const request of REQUESTS) {
    const settledAt = Date.parse(request.settlement?.settledAt ?? '');
    if (settledAt < from || settledAt >= to || (account !== 'all' && request.accountId !== account) || (only && !only(request))) continue;
    const group = {
      ...(step && { start: new Date(Math.floor(settledAt / stepMs) * stepMs).toISOString() }),
      ...(groupBy.includes('account') && { accountId: request.accountId }),
      ...(groupBy.includes('project') && { projectId: request.projectId }),
      ...(groupBy.includes('key') && { keyId: request.keyId }),
      ...(groupBy.includes('model') && { model: request.model }),
      ...(groupBy.includes('upstream') && { upstream: request.upstream }),
      ...(groupBy.includes('ending') && { ending: request.settlement?.reason }),
    };
    const name = JSON.stringify(group);
    rows.set(name, add(rows.get(name) ?? { ...group, ...NOTHING }, request));
  }
  const sorted = [...rows.values()].sort((a, b) => (a.start ?? '').localeCompare(b.start ?? ''));
  return { from: new Date(from).toISOString(), to: new Date(to).toISOString(), rows: sorted, nextCursor: null };
}

const NOTHING: UsageSums = {
  requests: 0,
  estimatedRequests: 0,
  promptTokens: 0,
  cachedTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  costPicoUsd: '0',
  forfeitedPicoUsd: '0',
};

function add(row: UsageRow, { settlement }: BilledRequest): UsageRow {
  if (!settlement) return row;
  const { usage, costPicoUsd } = settlement;
  return {
    ...row,
    requests: row.requests + 1,
    estimatedRequests: row.estimatedRequests + (usage.promptSource === 'estimated' ? 1 : 0),
    promptTokens: row.promptTokens + usage.promptTokens,
    cachedTokens: row.cachedTokens + usage.cachedTokens,
    outputTokens: row.outputTokens + usage.outputTokens,
    reasoningTokens: row.reasoningTokens + usage.reasoningTokens,
    costPicoUsd: `${BigInt(row.costPicoUsd) + BigInt(costPicoUsd)}`,
  };
}

export function overviewOf(account: string, from: number, to: number): Overview {
  const step = to - from <= 7 * DAY_MS ? 'hour' : 'day';
  const sums = (start: number) => usageOf({ account, from: start, to }).rows[0] ?? { ...NOTHING };
  const by = (group: string) =>
    usageOf({ account, from, to, groupBy: [group] })
      .rows.sort((a, b) => Number(BigInt(b.costPicoUsd) - BigInt(a.costPicoUsd)))
      .slice(0, 10);
  const today = Math.floor(NOW / DAY_MS) * DAY_MS;
  const month = Date.UTC(new Date(NOW).getUTCFullYear(), new Date(NOW).getUTCMonth(), 1);
  const own = ACCOUNTS.find(({ accountId }) => accountId === account);
  return {
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    balance: own?.balance ?? null,
    budgets: budgetsOf(account),
    total: sums(from),
    today: sums(today),
    month: sums(month),
    step,
    series: usageOf({ account, from, to, step }).rows,
    byModel: by('model'),
    byProject: by('project'),
    byKey: by('key'),
    byEnding: by('ending').sort((a, b) => b.requests - a.requests),
    traffic: { ...trafficOf({ account, from, to }).total, gaps: [] },
    warnings: own
      ? own.name === 'Acme Labs'
        ? [
            {
              kind: 'balance-low',
              accountId: own.accountId,
              availablePicoUsd: own.balance.available_pico_usd,
              lowBalancePicoUsd: own.lowBalancePicoUsd ?? '0',
            },
          ]
        : []
      : [{ kind: 'route-down', model: 'llama-3.3-70b', upstream: 'hosted-eu', replicas: 1 }],
  };
}
