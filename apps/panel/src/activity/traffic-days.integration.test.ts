import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import type { EndedRequest } from '#contracts/gateway.js';
import { OPERATOR } from '#database/journal-reads.js';
import { longOr } from '#testing/long-run.js';
import { PanelFixture } from '../../test/panel-fixture.js';
import type { TrafficReply } from '../shapes/overview.js';
import { Activity } from './activity.js';
import { ActivityRecorder } from './activity-recorder.js';
import { TrafficDays } from './traffic-days.js';
import { NO_ID, writeRequests } from './write-requests.js';

/** Days of traffic have the sums of their minutes, whatever part of them is asked for. */
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const ACCOUNTS = [randomUUID(), randomUUID(), undefined];
const MODELS = ['sim-fast', 'sim-large', undefined];

const panel = await PanelFixture.open();
const activity = panel.app.get(Activity);
// Its chore of the hour deletes old minutes, which are compared here.
await panel.app.get(ActivityRecorder).flush();
afterAll(() => panel.close());
beforeEach(empty);

async function empty(): Promise<void> {
  await panel.sql.query('TRUNCATE activity.traffic_minute, activity.traffic_hour, activity.traffic_day');
}

const today = (): number => Math.floor(Date.now() / DAY_MS) * DAY_MS;
const replica = (): TrafficDays => new TrafficDays(panel.prisma, { warn: () => undefined });
const addUp = (): Promise<void> => replica().round();

interface Ended {
  /** Milliseconds since the start of today. */
  at: number;
  account: number;
  model: number;
  /** A refused request has no percentiles. */
  isRefused: boolean;
  ms: number;
}

/** Writes requests as the recorder does. */
async function write(requests: readonly Ended[]): Promise<void> {
  const start = today();
  const toRequest = ({ at, account, model, isRefused, ms }: Ended, number: number): EndedRequest => ({
    requestId: `req_${number}`,
    receivedAt: new Date(start + at).toISOString(),
    accountId: ACCOUNTS[account],
    protocol: 'chat',
    model: MODELS[model],
    stream: true,
    endedMs: 0,
    ...(isRefused ? { status: 429, code: 'rate_limit_exceeded' } : { status: 200, outcome: 'completed', firstContentMs: ms }),
  });
  await writeRequests(
    panel.prisma,
    requests.map((request, number) => ({ request: toRequest(request, number), hasRow: false })),
  );
}

/** One request in the middle of each of these days before today. */
const writeDays = (...daysAgo: number[]): Promise<void> =>
  write(daysAgo.map((days) => ({ at: 12 * HOUR_MS - days * DAY_MS, account: 0, model: 0, isRefused: false, ms: 100 })));

async function days(): Promise<number[]> {
  const { rows } = await panel.sql.query<{ at: Date }>('SELECT DISTINCT at FROM activity.traffic_day ORDER BY at');
  return rows.map(({ at }) => (today() - at.getTime()) / DAY_MS);
}

const stored = async (): Promise<unknown[]> =>
  (await panel.sql.query('SELECT * FROM activity.traffic_day ORDER BY 1, 2, 3, 4, 5, 6, 7')).rows;

interface Span {
  from: string;
  to: string;
}

/** The requests of the minutes of whole hours, by day, account and model. */
async function sumMinutes({ from, to }: Span): Promise<string[]> {
  const { rows } = await panel.sql.query<{ start: Date; account: string; model: string; requests: number }>(
    `SELECT date_trunc('day', at, 'UTC') AS start, account_id AS account, model, sum(requests)::int AS requests FROM activity.traffic_minute
     WHERE property = 'outcome' AND date_trunc('hour', at, 'UTC') >= date_trunc('hour', $1::timestamptz, 'UTC') AND date_trunc('hour', at, 'UTC') < $2
     GROUP BY 1, 2, 3`,
    [from, to],
  );
  return rows.map(({ start, account, model, requests }) => `${start.toISOString()} ${account} ${model} ${requests}`).sort();
}

const describeRows = ({ rows }: TrafficReply): string[] =>
  rows.map(({ start, accountId, model, requests }) => `${start} ${accountId ?? NO_ID} ${model ?? ''} ${requests}`).sort();

const byAll = (span: Span): Promise<TrafficReply> => activity.traffic({ ...span, step: 'day', groupBy: ['account', 'model'] }, OPERATOR);

/** Asks about a time as pages do. The order of equal rows is not a promise. */
async function ask(span: Span): Promise<unknown[]> {
  const [accountId] = ACCOUNTS;
  const replies = [
    await byAll(span),
    await activity.traffic(span, OPERATOR),
    await activity.traffic({ ...span, groupBy: ['model'] }, OPERATOR),
    await activity.traffic({ ...span, step: 'day', accountId }, OPERATOR),
    await activity.traffic({ ...span, step: 'hour', model: 'sim-fast' }, OPERATOR),
  ];
  return replies.map(({ rows, total }) => ({ total, rows: rows.map((row) => JSON.stringify(row)).sort() }));
}

/** Moments of the last week, those around the start of a day and of an hour among them. */
const moments = fc
  .tuple(fc.integer({ min: -7, max: 0 }), fc.integer({ min: 0, max: 23 }), fc.constantFrom(0, 0, 1, -1, 30 * 60_000), fc.boolean())
  .map(([day, hour, offset, isDay]) => day * DAY_MS + (isDay ? 0 : hour * HOUR_MS) + offset);
const histories = fc.record({
  requests: fc.array(
    fc.record({
      at: moments,
      account: fc.nat(ACCOUNTS.length - 1),
      model: fc.nat(MODELS.length - 1),
      isRefused: fc.boolean(),
      ms: fc.constantFrom(5, 80, 3_000),
    }),
    { minLength: 20, maxLength: 80 },
  ),
  spans: fc.array(
    fc.tuple(moments, moments).filter(([one, other]) => one !== other),
    { minLength: 6, maxLength: 6 },
  ),
});

test('any time has the sums of its minutes, before and after its days are added up', async () => {
  for (const { requests, spans } of fc.sample(histories, { seed: 2026, numRuns: longOr(8, 200) })) {
    await empty();
    await write(requests);
    const start = today();
    const asked = spans.map(([one, other]) => {
      const [from, to] = [Math.min(one, other), Math.max(one, other)];
      return { from: new Date(start + from).toISOString(), to: new Date(start + to).toISOString() };
    });
    const before = await Promise.all(asked.map(ask));
    await addUp();
    expect(await Promise.all(asked.map(ask))).toEqual(before);
    for (const span of asked) expect([span, describeRows(await byAll(span))]).toEqual([span, await sumMinutes(span)]);
  }
});

test('whole days are read from their own sums, and hours around them', async () => {
  await writeDays(6, 5, 4, 3, 2);
  await addUp();
  await panel.sql.query('DELETE FROM activity.traffic_hour');
  const counted = async (from: number, to: number): Promise<number> => {
    const span = { from: new Date(today() + from).toISOString(), to: new Date(today() + to).toISOString() };
    return (await activity.traffic(span, OPERATOR)).total.requests;
  };
  const hour = HOUR_MS;
  expect([
    await counted(-7 * DAY_MS, 0),
    await counted(-6 * DAY_MS, -3 * DAY_MS),
    await counted(-6 * DAY_MS + hour, -3 * DAY_MS),
    await counted(-6 * DAY_MS, -3 * DAY_MS - hour),
    await counted(-6 * DAY_MS, -5 * DAY_MS - hour),
  ]).toEqual([4, 3, 2, 2, 0]);
});

test('the two days before today are left: requests of yesterday may still come', async () => {
  await writeDays(5, 4, 3, 2, 1, 0);
  await addUp();
  expect(await days()).toEqual([5, 4, 3]);
});

test('days without traffic stop nothing', async () => {
  await writeDays(30, 29);
  await addUp();
  await writeDays(10, 4);
  await addUp();
  expect(await days()).toEqual([30, 29, 10, 4]);
});

test('a second run changes nothing, nor do two replicas at once', async () => {
  await writeDays(9, 8, 8, 7, 5, 4, 3);
  await addUp();
  const once = await stored();
  await addUp();
  expect(await stored()).toEqual(once);
  await panel.sql.query('TRUNCATE activity.traffic_day');
  await Promise.all([addUp(), addUp()]);
  await addUp();
  expect(await stored()).toEqual(once);
});

test('a day that fails leaves nothing, is logged, and is added up later', async () => {
  await writeDays(5, 4);
  await panel.sql.query('ALTER TABLE activity.traffic_day ADD CONSTRAINT refused CHECK (value <> $$200$$) NOT VALID');
  const warnings: unknown[] = [];
  await new TrafficDays(panel.prisma, { warn: (...line: unknown[]) => void warnings.push(line[1]) }).round();
  expect([warnings, await stored()]).toEqual([['traffic of a day not added up: trying again'], []]);
  await panel.sql.query('ALTER TABLE activity.traffic_day DROP CONSTRAINT refused');
  await addUp();
  expect(await days()).toEqual([5, 4]);
});

test('a day that loses its first hours is not added up, and its sums are deleted', async () => {
  await writeDays(400, 399, 398);
  await addUp();
  expect(await days()).not.toContain(400);
  await panel.sql.query('TRUNCATE activity.traffic_day');
  await panel.sql.query(
    `INSERT INTO activity.traffic_day SELECT account_id, date_trunc('day', at, 'UTC'), project_id, key_id, model, property, value, requests
     FROM activity.traffic_hour`,
  );
  await addUp();
  expect(await days()).toEqual([399, 398]);
});
