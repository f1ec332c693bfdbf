import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { accountList } from '#contracts/billing/accounts.js';
import { budgetList } from '#contracts/billing/budgets.js';
import { keyList } from '#contracts/billing/keys.js';
import { balanceGet } from '#contracts/billing/money.js';
import { requestList } from '#contracts/billing/requests.js';
import { usageQuery } from '#contracts/billing/usage.js';
import { type EndedRequest, requestsEnded } from '#contracts/gateway.js';
import { MessagingError } from '#messaging/messaging.js';
import { PanelFixture } from '../../test/panel-fixture.js';
import type { TrafficReply } from '../shapes/overview.js';
import type { RequestListReply } from '../shapes/requests.js';
import { ActivityRecorder, REFUSED_ROWS_MAX } from './activity-recorder.js';
import { readRefusals } from './refusals.js';

/** The way of a gateway's report: recorded once, counted by minute and hour, and read by those who may. */
const ACME = randomUUID();
const OTHER = randomUUID();
const IDS = { projectId: randomUUID(), keyId: randomUUID() };

const panel = await PanelFixture.open();
const owner = await panel.person('owner', ACME);
const stranger = await panel.person('owner', OTHER);
const admin = await panel.person('admin');
afterAll(() => panel.close());
beforeEach(async () => {
  await panel.sql.query('TRUNCATE activity.request, activity.traffic_minute, activity.traffic_hour');
});

/** A complete stream of Acme, received now. */
function ended(over: Partial<EndedRequest> = {}): EndedRequest {
  const id = randomUUIDv7().replaceAll('-', '');
  return {
    requestId: `req_${id}`,
    receivedAt: new Date(Number.parseInt(id.slice(0, 12), 16)).toISOString(),
    accountId: ACME,
    ...IDS,
    protocol: 'chat',
    model: 'sim-fast',
    stream: true,
    status: 200,
    outcome: 'completed',
    heldMs: 2,
    firstContentMs: 100,
    lastContentMs: 900,
    endedMs: 1_000,
    attempts: [{ upstream: 'local', startMs: 3, firstByteMs: 20, endMs: 890 }],
    ...over,
  };
}

async function record(...requests: EndedRequest[]): Promise<void> {
  panel.messaging.publish(requestsEnded, { requests });
  await panel.app.get(ActivityRecorder).flush();
}

const HOUR_MS = 3_600_000;
const anHourAgo = (): string => new Date(Date.now() - HOUR_MS).toISOString();
const anHourAhead = (): string => new Date(Date.now() + HOUR_MS).toISOString();

async function traffic(query = '', account: string = ACME, cookie = owner.cookie): Promise<TrafficReply> {
  const reply = await panel.send(`/accounts/${account}/traffic?from=${anHourAgo()}&to=${anHourAhead()}${query}`, { cookie });
  expect([reply.status, reply.body.error]).toEqual([200, undefined]);
  return reply.body as TrafficReply;
}

test('a request is shown as its gateway reported it, to its account alone', async () => {
  const request = ended();
  await record(request);
  const path = `/requests/${request.requestId}/activity`;
  const [own, others] = [await panel.send(path, { cookie: owner.cookie }), await panel.send(path, { cookie: stranger.cookie })];
  const none = await panel.send(`/requests/${ended().requestId}/activity`, { cookie: owner.cookie });
  expect([own.status, own.body]).toEqual([200, { activity: request }]);
  expect([others.status, others.body, none.body]).toEqual([200, { activity: null }, { activity: null }]);
});

test('requests are counted by outcome, with percentiles of those that completed', async () => {
  const refused = { stream: false, outcome: undefined, firstContentMs: undefined, endedMs: 1 };
  await record(
    ended(),
    ended({ endedMs: 2_000, firstContentMs: 400 }),
    ended({ endedMs: 5_000, firstContentMs: 5_000, stream: false }),
    ended({ ...refused, status: 429, code: 'rate_limit_exceeded' }),
    ended({ ...refused, status: 404, code: 'model_not_found', model: undefined }),
    ended({ outcome: 'client-disconnected' }),
    ended({ outcome: 'failed', code: 'upstream_error' }),
  );
  const { rows } = await traffic();
  const near = (ms: number): number => expect.closeTo(ms, -Math.log10(ms / 10)) as never;
  expect(rows).toEqual([
    {
      requests: 7,
      outcomes: [
        { status: 200, code: null, requests: 3 },
        { status: 200, code: 'client_disconnected', requests: 1 },
        { status: 200, code: 'upstream_error', requests: 1 },
        { status: 404, code: 'model_not_found', requests: 1 },
        { status: 429, code: 'rate_limit_exceeded', requests: 1 },
      ],
      firstContentMs: { p50: near(100), p95: near(400), p99: near(400), mean: near(250) },
      durationMs: { p50: near(2_000), p95: near(5_000), p99: near(5_000), mean: near(2_667) },
    },
  ]);
  const byModel = await traffic('&groupBy=model');
  expect(byModel.rows.map(({ model, requests }) => [model, requests])).toEqual([
    ['sim-fast', 6],
    [null, 1],
  ]);
});

test('only the requests of a project, a key or a model are counted', async () => {
  const [projectId, keyId] = [randomUUID(), randomUUID()];
  await record(ended(), ended({ projectId }), ended({ keyId }), ended({ keyId, model: 'sim-slow' }));
  const counted = async (query: string) => (await traffic(query)).total.requests;
  expect([await counted(`&projectId=${projectId}`), await counted(`&keyId=${keyId}`), await counted('&model=sim-slow')]).toEqual([1, 2, 1]);
});

test('the start of a time is counted, and its end is not', async () => {
  const request = ended();
  await record(request);
  const hour = Math.floor((Date.parse(request.receivedAt) + request.endedMs) / HOUR_MS) * HOUR_MS;
  const counted = async (from: number, to: number): Promise<number> => {
    const span = `from=${new Date(from).toISOString()}&to=${new Date(to).toISOString()}`;
    return (await panel.send(`/accounts/${ACME}/traffic?${span}`, { cookie: owner.cookie })).body.total.requests;
  };
  expect([await counted(hour - HOUR_MS, hour), await counted(hour, hour + HOUR_MS)]).toEqual([0, 1]);
});

test('a report that comes twice counts once, also within one message', async () => {
  const request = ended();
  await record(request, request);
  await record(request, ended());
  expect((await traffic()).rows.map(({ requests }) => requests)).toEqual([2]);
});

test('thousands of refused requests of a key without money have a few rows, and all of them count [sec-refusals-summed]', async () => {
  const refused = { outcome: undefined, heldMs: undefined, firstContentMs: undefined, lastContentMs: undefined, attempts: undefined };
  const penniless = (count: number, over: Partial<EndedRequest>) =>
    Array.from({ length: count }, () => ended({ ...refused, endedMs: 1, ...over }));
  const report = [
    ...penniless(4_000, { status: 402, code: 'insufficient_balance' }),
    ...penniless(500, { status: 400, code: 'invalid_json', model: undefined }),
    ...Array.from({ length: 50 }, () => ended()),
    ...penniless(20, { status: 503, code: 'model_unavailable', holdId: randomUUID() }),
  ];
  await record(...report.slice(0, 2_000));
  await record(...report.slice(2_000));
  const { total } = await traffic();
  const kept = await panel.sql.query(
    "SELECT details ->> 'status' AS status, count(*)::int AS kept FROM activity.request GROUP BY 1 ORDER BY 1",
  );
  expect(total.outcomes.toSorted((one, other) => one.status - other.status)).toEqual([
    { status: 200, code: null, requests: 50 },
    { status: 400, code: 'invalid_json', requests: 500 },
    { status: 402, code: 'insufficient_balance', requests: 4_000 },
    { status: 503, code: 'model_unavailable', requests: 20 },
  ]);
  expect(Object.fromEntries(kept.rows.map(({ status, kept }) => [status, kept]))).toMatchObject({ 200: 50, 503: 20 });
  // The report may come in two minutes.
  for (const { status, kept: rows } of kept.rows) if (status.startsWith('4')) expect(rows).toBeLessThanOrEqual(2 * REFUSED_ROWS_MAX);
});

test('requests without a valid key are counted for the platform, and no row is kept of them', async () => {
  const unkeyed = { accountId: undefined, projectId: undefined, keyId: undefined, model: undefined, outcome: undefined };
  await record(ended({ ...unkeyed, status: 401, code: 'invalid_api_key', firstContentMs: undefined }), ended());
  expect((await traffic()).rows.map(({ requests }) => requests)).toEqual([1]);
  const { rows } = await traffic('&groupBy=account', 'all', admin.cookie);
  expect(rows.map(({ accountId, outcomes }) => [accountId, outcomes.map(({ status }) => status)]).sort()).toEqual(
    [
      [null, [401]],
      [ACME, [200]],
    ].sort(),
  );
  expect((await panel.sql.query('SELECT count(*)::int AS kept FROM activity.request')).rows).toEqual([{ kept: 1 }]);
});

test('minutes, hours and days have the same sums, each request at its end', async () => {
  const minutes = [0, 1, 1, 7];
  const end = (minute: number) => Date.now() - minute * 60_000;
  await record(...minutes.map((minute) => ended({ endedMs: 0, receivedAt: new Date(end(minute)).toISOString() })));
  const counted = async (step: string): Promise<[number, number]> => {
    const { rows } = await traffic(`&step=${step}`);
    return [rows.length, rows.reduce((sum, { requests }) => sum + requests, 0)];
  };
  expect(await counted('minute')).toEqual([3, 4]);
  expect((await counted('hour'))[1]).toBe(4);
  expect((await counted('day'))[1]).toBe(4);
});

test('a question with too long or no time, or too fine a group, is refused', async () => {
  const send = (query: string) => panel.send(`/accounts/${ACME}/traffic?${query}`, { cookie: owner.cookie });
  const replies = [
    await send('from=2020-01-01'),
    await send('from=2027-01-02&to=2027-01-01'),
    await send('from=2027-01-01&to=2027-01-02&groupBy=upstream'),
  ];
  expect(replies.map(({ status, body }) => [status, body.error.param])).toEqual([
    [400, 'from'],
    [400, 'to'],
    [400, 'groupBy'],
  ]);
});

test('neither the time before the first start of a panel nor the time since is a gap', async () => {
  await panel.app.get(ActivityRecorder).flush();
  expect((await traffic()).gaps).toEqual([]);
});

test('a time in which no panel ran is a gap, for an account from its opening on', async () => {
  const at = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
  const [from, opened, to] = [at(-40), at(-35), at(-30)];
  await panel.sql.query('INSERT INTO activity.recording (id, starts_at, ends_at) VALUES ($1, $2, $3), ($4, $5, now())', [
    ...[randomUUIDv7(), at(-50), from],
    ...[randomUUIDv7(), to],
  ]);
  panel.messaging.answer(accountList, ({ accountId }) => ({ accounts: [{ accountId, createdAt: opened }], nextCursor: null }) as never);
  const [own, all] = [await traffic(), await traffic('', 'all', admin.cookie)];
  expect([own.gaps, all.gaps]).toEqual([[{ from: opened, to }], [{ from, to }]]);
  panel.messaging.answer(accountList, () => {
    throw new MessagingError('timeout', 'No answer.');
  });
  expect((await traffic()).gaps).toEqual(all.gaps);
  await panel.sql.query('DELETE FROM activity.recording WHERE starts_at < $1', [at(-20)]);
});

test('the overview has errors by code and the percentiles of the first content', async () => {
  await record(ended(), ended({ status: 503, code: 'model_unavailable', outcome: 'failed' }));
  panel.messaging.answer(usageQuery, ({ from, to = '' }) => ({ from, to, rows: [], nextCursor: null }));
  panel.messaging.answer(
    accountList,
    () =>
      ({ accounts: [{ accountId: ACME, status: 'active', lowBalancePicoUsd: null, createdAt: anHourAgo() }], nextCursor: null }) as never,
  );
  panel.messaging.answer(balanceGet, () => ({ available_pico_usd: '1', balance_pico_usd: '1', plan_expires_at: null }) as never);
  panel.messaging.answer(budgetList, () => ({ budgets: [] }));
  panel.messaging.answer(keyList, () => ({ keys: [], nextCursor: null }));
  const reply = await panel.send(`/accounts/${ACME}/overview`, { cookie: owner.cookie });
  expect(reply.body.traffic).toEqual({
    requests: 2,
    outcomes: [
      { status: 200, code: null, requests: 1 },
      { status: 503, code: 'model_unavailable', requests: 1 },
    ],
    firstContentMs: expect.any(Object),
    durationMs: expect.any(Object),
    gaps: [],
  });
});

test('requests wait while the database refuses them, and are written later', async () => {
  const request = ended();
  await panel.sql.query('ALTER TABLE activity.traffic_hour RENAME TO gone');
  await record(request);
  await panel.sql.query('ALTER TABLE activity.gone RENAME TO traffic_hour');
  await panel.app.get(ActivityRecorder).flush();
  expect((await traffic()).rows.map(({ requests }) => requests)).toEqual([1]);
});

test.each([
  ['years ago', -60_000],
  ['in three days', 72],
])('a request of another day, %s, is left out, and does not stop the others', async (_when, hours) => {
  await record(ended({ receivedAt: new Date(Date.now() + hours * HOUR_MS).toISOString() }), ended());
  expect((await traffic()).rows.map(({ requests }) => requests)).toEqual([1]);
});

describe('refused requests', () => {
  const told = "The API key's limit of 1 requests at once is reached. Please try again in 1s.";
  /** A refused request, received some seconds before now. */
  function refused(secondsAgo: number, over: Partial<EndedRequest> = {}): EndedRequest {
    const at = new Date(Math.floor(Date.now() / 1_000) * 1_000 - secondsAgo * 1_000);
    const id = at.getTime().toString(16).padStart(12, '0') + randomUUIDv7().replaceAll('-', '').slice(12);
    const { outcome: _, heldMs: __, firstContentMs: ___, lastContentMs: ____, attempts: _____, ...request } = ended();
    const refusal = { message: told, refusal: { by: 'key' as const } };
    return {
      ...request,
      // Of one key and code only some have a row.
      keyId: randomUUID(),
      requestId: `req_${id}`,
      receivedAt: at.toISOString(),
      status: 429,
      code: 'concurrency_limit',
      ...refusal,
      ...over,
    };
  }

  async function list(query: string, account: string = ACME, cookie = owner.cookie) {
    const { status, body } = await panel.send(`/accounts/${account}/requests?${query}`, { cookie });
    expect([status, body.error]).toEqual([200, undefined]);
    return body as RequestListReply;
  }
  const listIds = ({ requests }: RequestListReply): string[] => requests.map(({ requestId }) => requestId);

  test('are listed with what the client was told, for their account alone', async () => {
    const request = refused(1);
    await record(request, ended(), refused(2, { accountId: OTHER }));
    expect(await list('ending=refused')).toEqual({
      requests: [
        {
          ...{ requestId: request.requestId, holdId: null, accountId: ACME, ...IDS, keyId: request.keyId },
          ...{ model: 'sim-fast', upstream: null, heldPicoUsd: null },
          ...{ reservedAt: request.receivedAt, settledAt: request.receivedAt, ending: 'refused', usage: null, costPicoUsd: null },
          ...{ status: 429, code: 'concurrency_limit', message: told, refusal: { by: 'key' } },
        },
      ],
      nextCursor: null,
      searchedTo: null,
    });
    expect((await list('ending=refused', 'all', admin.cookie)).requests).toHaveLength(2);
    const { status } = await panel.send(`/accounts/${ACME}/requests?ending=refused`, { cookie: stranger.cookie });
    expect(status).toBe(404);
  });

  test('stand among the requests of billing by the time of their end', async () => {
    const requests = [refused(1), refused(3)];
    await record(...requests);
    const row = { requestId: 'req_2', holdId: randomUUID(), accountId: ACME, ...IDS, ending: 'completed' };
    const settledAt = new Date(Date.now() - 2_000).toISOString();
    panel.messaging.answer(requestList, () => ({ requests: [{ ...row, settledAt }], nextCursor: null, searchedTo: null }) as never);
    expect(listIds(await list(''))).toEqual([requests[0]?.requestId, 'req_2', requests[1]?.requestId]);
  });

  test('come page by page, also several of one moment', async () => {
    const requests = [1, 1, 1, 2, 3].map((secondsAgo, at) => refused(secondsAgo, { code: `code_${at}` }));
    await record(...requests);
    const pages: string[][] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: RequestListReply = await list(`ending=refused&limit=2${cursor && `&cursor=${cursor}`}`);
      pages.push(listIds(page));
      cursor = page.nextCursor;
    }
    expect(pages.map((page) => page.length)).toEqual([2, 2, 1]);
    expect(pages.flat().toSorted()).toEqual(requests.map(({ requestId }) => requestId).toSorted());
  });

  test.each<[string, Partial<EndedRequest>, string]>([
    ['status', { status: 402, code: 'insufficient_balance' }, 'status=402'],
    ['code', { code: 'rate_limit_exceeded' }, 'code=rate_limit_exceeded'],
    ['project', { projectId: OTHER }, `projectId=${OTHER}`],
    ['key', { keyId: OTHER }, `keyId=${OTHER}`],
    ['model', { model: 'sim-slow' }, 'model=sim-slow'],
    ['user', { attribution: { user: 'ada' } }, 'user=ada'],
    ['tag', { attribution: { 'tag:team': 'search' } }, 'tag=team%3Dsearch'],
    ['tag with any value', { attribution: { 'tag:team': 'a' } }, 'tag=team'],
  ])('are found by %s', async (_, over, query) => {
    const wanted = refused(2, over);
    await record(refused(1), wanted, refused(3));
    expect(listIds(await list(`ending=refused&${query}`))).toEqual([wanted.requestId]);
  });

  test('are found by time, its end excluded', async () => {
    const [before, wanted, after] = [refused(3), refused(2), refused(1)];
    await record(before, wanted, after);
    expect(listIds(await list(`ending=refused&from=${wanted.receivedAt}&to=${after.receivedAt}`))).toEqual([wanted.requestId]);
  });

  test('the oldest come first where asked, and pages follow', async () => {
    const wanted = [refused(3), refused(2), refused(1)];
    await record(...wanted);
    const filters = { accountId: ACME, order: 'asc' } as const;
    const first = await readRefusals(panel.prisma, filters, undefined, 2);
    const second = await readRefusals(panel.prisma, filters, first.next, 2);
    expect([first, second].map(({ refusals }) => refusals.map(({ requestId }) => requestId))).toEqual([
      wanted.slice(0, 2).map(({ requestId }) => requestId),
      wanted.slice(2).map(({ requestId }) => requestId),
    ]);
  });

  test('a page with a filter reads back a bounded number of them', async () => {
    const wanted = refused(9, { code: 'rate_limit_exceeded' });
    await record(wanted, ...[1, 2, 3, 4].map((secondsAgo) => refused(secondsAgo)));
    const filters = { accountId: ACME, code: 'rate_limit_exceeded' };
    const first = await readRefusals(panel.prisma, filters, undefined, 5, 3);
    expect([first.refusals, first.next?.at]).toEqual([[], refused(3).receivedAt]);
    const second = await readRefusals(panel.prisma, filters, first.next, 5, 3);
    expect([second.refusals.map(({ requestId }) => requestId), second.next]).toEqual([[wanted.requestId], undefined]);
  });

  test.each([
    ['an account', 'request_refused_of_account', `account_id = '${ACME}' AND`],
    ['all accounts', 'request_refused', ''],
  ])('of %s are read by their index', async (_, index, ofAccount) => {
    await panel.sql.query(
      `INSERT INTO activity.request
       SELECT now() - n * interval '1 microsecond', 'req_' || n, gen_random_uuid(), '{}' FROM generate_series(1, 200000) n`,
    );
    await panel.sql.query('ANALYZE activity.request');
    const part = `activity.request_${new Date().toISOString().slice(0, 10).replaceAll('-', '')}`;
    const { rows } = await panel.sql.query<{ 'QUERY PLAN': string }>(
      `EXPLAIN SELECT FROM ${part} WHERE ${ofAccount} (details -> 'outcome') IS NULL AND (details -> 'holdId') IS NULL
       ORDER BY received_at DESC, request_id DESC LIMIT 50`,
    );
    const { rows: indexes } = await panel.sql.query<{ name: string }>(
      `SELECT relname AS name FROM pg_inherits JOIN pg_class ON oid = inhrelid JOIN pg_index ON indexrelid = oid
       WHERE inhparent = 'activity.${index}'::regclass AND indrelid = $1::regclass`,
      [part],
    );
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect([plan.includes(` ${indexes[0]?.name} `), plan.includes('Sort')]).toEqual([true, false]);
  });
});

describe('the tables', () => {
  const partitions = async (): Promise<string[]> =>
    (await panel.sql.query("SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'activity.request'::regclass")).rows
      .map(({ name }) => name as string)
      .sort();

  test('a partition older than the kept days is dropped; four days have one', async () => {
    const before = await partitions();
    expect(before).toHaveLength(4);
    await panel.sql.query(
      "CREATE TABLE activity.request_20200101 PARTITION OF activity.request FOR VALUES FROM ('2020-01-01 00:00+00') TO ('2020-01-02 00:00+00')",
    );
    await panel.sql.query(`INSERT INTO activity.traffic_minute VALUES ($1, now() - interval '49 hours', $1, $1, '', 'outcome', '200', 1)`, [
      ACME,
    ]);
    await panel.prisma.$executeRaw`SELECT activity.keep_days(30)`;
    expect(await partitions()).toEqual(before);
    expect((await panel.sql.query('SELECT FROM activity.traffic_minute')).rowCount).toBe(0);
  });

  test.each([
    'CREATE TABLE activity.mine (id integer)',
    'DROP TABLE activity.request',
    'DELETE FROM activity.request',
    "UPDATE activity.request SET details = '{}'",
    'DELETE FROM activity.traffic_hour',
    'UPDATE activity.traffic_day SET requests = 1',
    'TRUNCATE activity.recording',
  ])('the panel may not: %s', async (statement) => {
    await expect(panel.prisma.$executeRawUnsafe(statement)).rejects.toThrow(/permission denied|must be owner/);
  });

  test.each(['0', '401'])('keep_days(%s) is refused', async (days) => {
    await expect(panel.prisma.$executeRawUnsafe(`SELECT activity.keep_days(${days})`)).rejects.toThrow(/not between/);
  });
});
