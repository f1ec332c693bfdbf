import { ALL_SETTLE_REASONS } from '#contracts/billing/holds.js';
import {
  ATTRIBUTION_GROUPS,
  type AttributionGroup,
  USAGE_GROUPS,
  type UsageGroup,
  type UsageQueryRequest,
  type UsageRow,
} from '#contracts/billing/usage.js';
import { connectPg, type PgConnection } from '#database/pg-connection.js';
import { longOr } from '#testing/long-run.js';
import { type Customer, LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import { closeUsage, rebuildUsage } from './close-usage.js';
import { queryUsage } from './query-usage.js';
import { DAY_MS, HOUR_MS } from './usage-parts.js';

const START = Date.parse('2026-03-02T00:00:00Z');

let customer: Customer;
const ledger = await LedgerFixture.open();
beforeEach(async () => {
  customer = await ledger.customer({ topup: 10n ** 15n });
});
afterEach(async () => expect((await ledger.violations()).filter(({ invariant }) => invariant === 'I12')).toEqual([]));
afterAll(() => ledger.close());

/** Writes a settlement of `tokens` prompt tokens, as part of the connection's transaction if it has one. */
async function settleOn(connection: PgConnection, { accountId, projectId, keyId }: Customer, tokens: number, at = START): Promise<void> {
  await connection.query(
    `INSERT INTO billing.settlement (hold_id, account_id, project_id, key_id, request_id, model, upstream, reason, held, cost, plan_cost,
       ended_cost, forfeit, topup_cost, over, prompt_tokens, cached_tokens, output_tokens, reasoning_tokens, prompt_source, output_source,
       settled_by, price_version, input_price, cached_input_price, output_price, reserved_at, settled_at)
     VALUES (gen_random_uuid(), $1, $2, $3, 'req', 'sim-fast', 'local', 'completed', $4::int, $4::int, 0, 0, 0, $4::int, 0, $4::int, 0, 0, 0, 'reported',
       'reported', 'gateway', 1, 1, 0, 2, $5::timestamptz, $5::timestamptz)`,
    [accountId, projectId, keyId, tokens, new Date(at)],
  );
}

/** Requests and prompt tokens of the customer, by the query and by the rollups alone. */
async function counted(): Promise<unknown> {
  const request = { accountId: customer.accountId, from: '2026-03-01', to: '2026-03-10' };
  const { rows } = await queryUsage(ledger.prisma, request);
  const rollup = await ledger.sql.query(
    'SELECT coalesce(sum(requests), 0)::int AS requests, coalesce(sum(prompt_tokens), 0)::int AS tokens FROM billing.usage_day WHERE account_id = $1',
    [customer.accountId],
  );
  return { query: [rows[0]?.requests ?? 0, rows[0]?.promptTokens ?? 0], rollup: Object.values(rollup.rows[0]) };
}

async function withConnections<Result>(count: number, work: (connections: PgConnection[]) => Promise<Result>): Promise<Result> {
  const open = () => connectPg({ url: ledger.url, applicationName: 'test-usage' });
  const connections = await Promise.all(Array.from({ length: count }, open));
  try {
    return await work(connections);
  } finally {
    await Promise.all(connections.map((connection) => connection.end().catch(() => undefined)));
  }
}

describe('a slice ends below the oldest running transaction', () => {
  test('a settlement of a long transaction counts when it commits, though later ones were counted before', () =>
    withConnections(2, async ([long, closer]) => {
      await long?.query('BEGIN');
      await settleOn(long as PgConnection, customer, 1);
      await settleOn(ledger.sql, customer, 10);
      expect(await closeUsage(closer as PgConnection)).toBeInstanceOf(Date);
      expect(await counted()).toEqual({ query: [1, 10], rollup: [0, 0] });
      await long?.query('COMMIT');
      expect(await counted()).toEqual({ query: [2, 11], rollup: [0, 0] });
      await ledger.closeUsage(closer as PgConnection);
      expect(await counted()).toEqual({ query: [2, 11], rollup: [2, 11] });
    }));

  test('a long transaction of another user delays it, and one that is rolled back counts nothing', () =>
    withConnections(1, async ([closer]) => {
      await ledger.sql.query('BEGIN');
      await settleOn(ledger.sql, customer, 1);
      await closeUsage(closer as PgConnection);
      await ledger.sql.query('ROLLBACK');
      await settleOn(ledger.sql, customer, 10);
      await ledger.closeUsage(closer as PgConnection);
      expect(await counted()).toEqual({ query: [1, 10], rollup: [1, 10] });
    }));
});

test('settlements at times before a slice that was added, after the clock was set back, count in their own hour', () =>
  withConnections(1, async ([closer]) => {
    await settleOn(ledger.sql, customer, 10, START + 5 * HOUR_MS);
    await ledger.closeUsage(closer as PgConnection);
    await settleOn(ledger.sql, customer, 1, START);
    await ledger.closeUsage(closer as PgConnection);
    const { rows } = await queryUsage(ledger.prisma, {
      accountId: customer.accountId,
      from: '2026-03-02',
      to: '2026-03-03',
      step: 'hour',
    });
    expect(rows.map(({ start, promptTokens }) => [start, promptTokens])).toEqual([
      ['2026-03-02T00:00:00.000Z', 1],
      ['2026-03-02T05:00:00.000Z', 10],
    ]);
  }));

describe('replicas take turns', () => {
  test('a replica adds nothing while another one does', () =>
    withConnections(2, async ([one, two]) => {
      await settleOn(ledger.sql, customer, 10);
      await one?.query('BEGIN');
      await one?.query('SELECT FROM billing.usage_state FOR UPDATE');
      expect(await closeUsage(two as PgConnection)).toBeUndefined();
      await one?.query('ROLLBACK');
    }));

  test('ten at once count each settlement once', () =>
    withConnections(10, async (replicas) => {
      for (let tokens = 1; tokens <= 20; tokens++) {
        await settleOn(ledger.sql, customer, tokens);
        await Promise.all(replicas.map((replica) => closeUsage(replica)));
      }
      await ledger.closeUsage(replicas[0] as PgConnection);
      expect(await counted()).toEqual({ query: [20, 210], rollup: [20, 210] });
    }));

  test('a rebuild waits for the replica that is adding, and gives the same sums', () =>
    withConnections(2, async ([one, two]) => {
      await settleOn(ledger.sql, customer, 10);
      const added = Promise.withResolvers<void>();
      const commit = Promise.withResolvers<void>();
      const query = async (text: string, values?: unknown[]) => {
        if (text === 'COMMIT') {
          added.resolve();
          await commit.promise;
        }
        return one?.query(text, values);
      };
      const adding = closeUsage({ query } as unknown as PgConnection);
      await added.promise;
      const rebuilt = rebuildUsage(two as PgConnection);
      const waiting = `SELECT FROM pg_stat_activity WHERE application_name = 'test-usage' AND datname = current_database() AND wait_event_type = 'Lock'`;
      while (!(await ledger.sql.query(waiting)).rowCount);
      commit.resolve();
      await adding;
      expect(await rebuilt).toEqual({ hours: expect.any(Number), days: expect.any(Number), from: null });
      await ledger.closeUsage(two as PgConnection);
      expect(await counted()).toEqual({ query: [1, 10], rollup: [1, 10] });
    }));
});

/** Statements of `closeUsage`, in their order. */
const STEPS = ['BEGIN', 'lock', 'xmin', 'add', 'COMMIT'];

test.each(STEPS.flatMap((step, position) => [`before ${step}`, `after ${step}`].map((when) => [when, position] as const)))(
  'a replica that is killed %s loses and doubles nothing',
  (when, position) =>
    withConnections(2, async ([killed, next]) => {
      const victim = killed as PgConnection;
      await settleOn(ledger.sql, customer, 10);
      const { rows } = await victim.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      const kill = () => ledger.sql.query('SELECT pg_terminate_backend($1, 5000)', [rows[0]?.pid]);
      let steps = 0;
      const query = async (text: string, values?: unknown[]) => {
        const isHere = steps++ === position;
        if (isHere && when.startsWith('before')) await kill();
        const result = await victim.query(text, values);
        if (isHere && when.startsWith('after')) await kill();
        return result;
      };
      await closeUsage({ query } as unknown as PgConnection).catch(() => undefined);
      await settleOn(ledger.sql, customer, 1);
      await ledger.closeUsage(next as PgConnection);
      expect(await counted()).toEqual({ query: [2, 11], rollup: [2, 11] });
    }),
);

test('a database that was restored into another cluster is counted anew', () =>
  withConnections(1, async ([closer]) => {
    await settleOn(ledger.sql, customer, 10);
    await ledger.closeUsage(closer as PgConnection);
    await ledger.sql.query('UPDATE billing.usage_state SET system_identifier = 1, closed_to = 9000000000000000000');
    await settleOn(ledger.sql, customer, 1);
    await closeUsage(closer as PgConnection);
    await ledger.closeUsage(closer as PgConnection);
    expect(await counted()).toEqual({ query: [2, 11], rollup: [2, 11] });
  }));

interface JournalRow {
  at: number;
  sign: 1 | -1;
  accountId: string;
  projectId: string;
  keyId: string;
  model: string;
  upstream: string | null;
  ending: string;
  estimated: number;
  tokens: [prompt: number, cached: number, output: number];
  cost: bigint;
}

/** Reads both journals and counts them without SQL. */
async function readJournal(): Promise<JournalRow[]> {
  const { rows } = await ledger.sql.query(
    `SELECT to_jsonb(s) AS s, to_jsonb(l) AS l FROM billing.settlement s LEFT JOIN billing.late_settlement l ON l.hold_id = s.hold_id
     WHERE s.project_id IS NOT NULL`,
  );
  return rows.flatMap(({ s, l }): JournalRow[] => {
    const estimated = s.prompt_source === 'estimated' || (s.output_source ?? 'reported') !== 'reported' ? 1 : 0;
    const row = (from: typeof s, at: string, cost: bigint, sign: 1 | -1): JournalRow => ({
      at: Date.parse(at),
      sign,
      accountId: s.account_id,
      projectId: s.project_id,
      keyId: s.key_id,
      model: s.model,
      upstream: from.upstream,
      ending: from.reason,
      estimated,
      tokens: [from.prompt_tokens, from.cached_tokens, from.output_tokens],
      cost,
    });
    const first = row(s, s.settled_at, BigInt(s.cost), 1);
    if (!l) return [first];
    return [first, row(s, l.settled_at, BigInt(s.cost), -1), row(l, l.settled_at, BigInt(s.cost) + BigInt(l.due) - BigInt(l.writeoff), 1)];
  });
}

type RolledUp = Exclude<UsageGroup, AttributionGroup>;

const NAMES = {
  account: 'accountId',
  project: 'projectId',
  key: 'keyId',
  model: 'model',
  upstream: 'upstream',
  ending: 'ending',
} as const satisfies Record<RolledUp, keyof UsageRow>;

const ROLLED_UP = USAGE_GROUPS.filter((group): group is RolledUp => !ATTRIBUTION_GROUPS.some((other) => other === group));

function sumRows(journal: JournalRow[], question: UsageQueryRequest): UsageRow[] {
  const { from, to, step, groupBy = [], limit: _, ...filters } = question;
  const unit = step === 'day' ? DAY_MS : HOUR_MS;
  const groups = new Map<string, { key: Partial<UsageRow>; rows: JournalRow[] }>();
  for (const row of journal) {
    if (row.at < Date.parse(from) || row.at >= Date.parse(to as string)) continue;
    if (Object.entries(filters).some(([name, value]) => row[name as keyof JournalRow] !== value)) continue;
    const key = {
      ...(step && { start: new Date(row.at - (row.at % unit)).toISOString() }),
      ...Object.fromEntries(ROLLED_UP.filter((group) => groupBy.includes(group)).map((group) => [NAMES[group], row[NAMES[group]]])),
    };
    const id = JSON.stringify(Object.values(key).map((value) => value ?? ''));
    const group = groups.get(id) ?? { key, rows: [] as JournalRow[] };
    group.rows.push(row);
    groups.set(id, group);
  }
  const sum = (rows: JournalRow[], value: (row: JournalRow) => number): number =>
    rows.reduce((total, row) => total + row.sign * value(row), 0);
  return [...groups.entries()]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { key, rows }]) => ({
      ...key,
      requests: sum(rows, () => 1),
      estimatedRequests: sum(rows, ({ estimated }) => estimated),
      promptTokens: sum(rows, ({ tokens }) => tokens[0]),
      cachedTokens: sum(rows, ({ tokens }) => tokens[1]),
      outputTokens: sum(rows, ({ tokens }) => tokens[2]),
      reasoningTokens: 0,
      costPicoUsd: String(rows.reduce((total, row) => total + BigInt(row.sign) * row.cost, 0n)),
      forfeitedPicoUsd: '0',
    }));
}

const below = (limit: number): number => Math.floor(Math.random() * limit);
const pickOne = <Value>(values: readonly Value[]): Value => values[below(values.length)] as Value;

describe('under random traffic, with slices, long transactions and kills between', () => {
  /** Requests that end in every way, at times that jump back and forth over three days. */
  async function traffic(customers: Customer[], requests: number): Promise<void> {
    const lanes = ledger.newLanes({ lanes: 1, now: () => START + below(3 * DAY_MS) });
    for (let count = 0; count < requests; count++) {
      const who = pickOne(customers);
      const reserve = { ...makeReserve(who, 1_000n), model: pickOne(['sim-fast', 'Sim-large', 'ähnlich']) };
      if ((await lanes.reserve(reserve)).status !== 'held') continue;
      const settle = (reason: string) =>
        lanes.settle({
          holdId: reserve.holdId,
          accountId: who.accountId,
          reason: reason as 'completed',
          ...(below(4) > 0 && reason !== 'lease-expired' && { upstream: pickOne(['a', 'b']) }),
          usage: { ...makeUsage(10 + below(90), below(9), below(9)), promptSource: pickOne(['reported', 'estimated'] as const) },
        });
      await settle(pickOne(ALL_SETTLE_REASONS));
      if (below(2) === 0) await settle(pickOne(ALL_SETTLE_REASONS.slice(0, 4)));
    }
  }

  /** A question of whole or ragged hours and days. */
  function anyQuestion(customers: Customer[]): UsageQueryRequest {
    const unit = pickOne([1, HOUR_MS, DAY_MS]);
    const [from, to] = [START + below((2 * DAY_MS) / unit) * unit, START + 2 * DAY_MS + below(DAY_MS / unit) * unit];
    const groups = ROLLED_UP.filter(() => below(3) === 0);
    return {
      from: new Date(from).toISOString(),
      to: new Date(below(3) > 0 ? to : START + 30 * DAY_MS).toISOString(),
      accountId: pickOne(customers).accountId,
      groupBy: groups,
      limit: 1_000,
      ...(below(2) === 0 && { step: pickOne(['hour', 'day'] as const) }),
      ...(below(4) === 0 && { ending: pickOne(ALL_SETTLE_REASONS) }),
      ...(below(4) === 0 && { upstream: pickOne(['a', 'b']) }),
      ...(below(4) === 0 && { model: 'sim-fast' }),
    };
  }

  test('every query is the sum of the journal', async () => {
    const customers = [customer, await ledger.customer({ topup: 10n ** 15n })];
    let long: PgConnection | undefined;
    for (let round = 0; round < longOr(12, 2_000); round++) {
      await traffic(customers, 8);
      if (long && below(2) === 0) {
        await long.query(pickOne(['COMMIT', 'ROLLBACK']));
        await long.end();
        long = undefined;
      } else if (!long) {
        long = await connectPg({ url: ledger.url, applicationName: 'test-long' });
        await long.query('BEGIN');
        await settleOn(long, pickOne(customers), 7, START + below(3 * DAY_MS));
      }
      await withConnections(3, async (replicas) => {
        const closings = replicas.map((replica) => closeUsage(replica).catch(() => undefined));
        if (below(2) === 0) {
          await ledger.sql.query(
            `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'test-usage' AND datname = current_database()`,
          );
        }
        await Promise.all(closings);
      });
      const journal = await readJournal();
      const { accountId: _, ...ofAll } = anyQuestion(customers);
      const all = sumRows(journal, ofAll).slice(0, 1_000);
      expect((await queryUsage(ledger.prisma, ofAll)).rows).toEqual(all);
      for (let asked = 0; asked < 3; asked++) {
        const question = anyQuestion(customers);
        expect((await queryUsage(ledger.prisma, question)).rows).toEqual(sumRows(journal, question).slice(0, 1_000));
      }
    }
    await long?.query('COMMIT');
    await long?.end();
  }, 120_000);

  test('sums that are read while slices are added never differ', () =>
    withConnections(1, async ([connection]) => {
      const closer = connection as PgConnection;
      await traffic([customer], 20);
      const question = { accountId: customer.accountId, from: '2026-03-01', to: '2026-03-10', groupBy: [...ROLLED_UP] };
      const expected = sumRows(await readJournal(), question);
      let adding = true;
      const slices = (async () => {
        while (adding) {
          await ledger.sql.query('BEGIN');
          await ledger.sql.query('DELETE FROM billing.usage_hour');
          await ledger.sql.query('DELETE FROM billing.usage_day');
          await ledger.sql.query('UPDATE billing.usage_state SET closed_to = 0, newest_at = NULL');
          await ledger.sql.query('COMMIT');
          await closeUsage(closer);
        }
      })();
      for (let asked = 0; asked < longOr(30, 1_000); asked++) expect((await queryUsage(ledger.prisma, question)).rows).toEqual(expected);
      adding = false;
      await slices;
    }));
});
