import type pg from 'pg';
import { type RequestEstimate, requestEstimate } from '#contracts/gateway.js';
import type { Messaging } from '#messaging/messaging.js';
import type { Tenant } from '#testing/tenant.js';
import { type Story, tell } from './chaos-client.js';
import { CLIENT_FORMATS } from './client-format.js';

/** Use of a request, by the journals. Times are milliseconds. */
export interface Used {
  user: string;
  team: string;
  session: string;
  child: string | null;
  reservedAt: number;
  settledAt: number;
  costPicoUsd: bigint;
  tokens: bigint;
}

/** Returns the requests of an account in the order of their holds. */
export async function usedBy(database: pg.Client, { accountId }: Tenant): Promise<Used[]> {
  const { rows } = await database.query(
    `SELECT (extract(epoch FROM s.reserved_at) * 1000)::float8 AS "reservedAt", (extract(epoch FROM s.settled_at) * 1000)::float8 AS "settledAt",
       s.attribution ->> 'user' AS user, s.attribution ->> 'tag:team' AS team, s.attribution ->> 'session' AS session, s.attribution ->> 'child' AS child,
       s.cost + coalesce(l.due - l.writeoff, 0) AS cost, coalesce(l.prompt_tokens + l.output_tokens, s.prompt_tokens + s.output_tokens) AS tokens
     FROM billing.settlement s LEFT JOIN billing.late_settlement l ON l.hold_id = s.hold_id
     WHERE s.account_id = $1 AND s.reserved_at IS NOT NULL ORDER BY s.reserved_at`,
    [accountId],
  );
  return rows.map(({ cost, tokens, ...rest }) => ({ ...rest, costPicoUsd: BigInt(cost), tokens: BigInt(tokens) }));
}

export function sumAmounts<Item>(items: readonly Item[], measure: (item: Item) => bigint): bigint {
  return items.reduce((sum, item) => sum + measure(item), 0n);
}

/** Returns the largest sum of the amounts of any 60 seconds. */
export function mostInAMinute(used: readonly Used[], measure: (one: Used) => bigint): bigint {
  let [first, sum, most] = [0, 0n, 0n];
  for (const one of used) {
    sum += measure(one);
    for (let oldest = used[first]; oldest && oldest.reservedAt <= one.reservedAt - 60_000; oldest = used[++first]) sum -= measure(oldest);
    if (sum > most) most = sum;
  }
  return most;
}

/** Returns the largest number of requests that were held at the same time. */
export function mostAtOnce(used: readonly Pick<Used, 'reservedAt' | 'settledAt'>[]): number {
  // One that ends as another begins has made room for it.
  const steps = used.flatMap(({ reservedAt, settledAt }) => [
    { at: reservedAt, change: 1 },
    { at: settledAt, change: -1 },
  ]);
  let [now, most] = [0, 0];
  for (const { change } of steps.sort((a, b) => a.at - b.at || a.change - b.change)) {
    now += change;
    most = Math.max(most, now);
  }
  return most;
}

/**
 * Sends each request twice: when one unit less is left than it may use, and when exactly that is left. Expects that the first is refused with
 * `status`, and that the second completes.
 */
export async function expectExact(
  administrator: Messaging,
  stories: readonly Story[],
  {
    estimateMost,
    leave,
    status,
  }: { estimateMost(estimate: RequestEstimate): bigint; leave(amount: bigint): Promise<unknown>; status: number },
): Promise<void> {
  for (const story of stories) {
    const body = JSON.stringify(CLIENT_FORMATS[story.format].body(story.ask));
    const most = estimateMost(await administrator.request(requestEstimate, { protocol: story.format, body }));
    await leave(most - 1n);
    await tell(story);
    expect(story.outcome).toMatchObject({ kind: 'refused', status });
    await leave(most);
    await tell(story);
    expect(story.outcome).toMatchObject({ kind: 'completed' });
  }
}

/** Outcomes that only a kill causes. */
const OF_KILLS = ['broken', 'failed', 'left', 'refused 502', 'refused 503'];

/** Expects that some requests completed, others had each of these refusals, such as `refused 402`, and the rest was killed. */
export function expectOutcomes(stories: readonly Story[], ...refusals: string[]): void {
  const counts = new Map<string, number>();
  for (const { outcome } of stories) {
    const name = outcome.kind === 'refused' ? `refused ${outcome.status}` : outcome.kind;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  process.stderr.write(`   ${stories.length} requests: ${JSON.stringify(Object.fromEntries(counts))}\n`);
  expect([...counts.keys()].filter((outcome) => !OF_KILLS.includes(outcome)).sort()).toEqual(['completed', ...refusals]);
}
