import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import type { PgConnection } from '#database/pg-connection.js';
import { connectPg } from '#database/pg-connection.js';
import { freePort } from '#testing/nats-server.js';
import { LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import { Lane, type LaneOptions } from './lane.js';

const ledger = await LedgerFixture.open();
afterEach(async () => expect(await ledger.violations()).toEqual([]));
afterAll(() => ledger.close());

function newLane<Item, Outcome>(
  work: LaneOptions<Item, Outcome>['work'],
  options: Partial<LaneOptions<Item, Outcome>> = {},
): Lane<Item, Outcome> {
  return new Lane({ connect: ledger.connect, work, batchMax: 100, queueMax: 1_000, deadlineMs: 30_000, logger: ledger.logger, ...options });
}

test('items pushed during a batch are the next batch', async () => {
  const batches: number[][] = [];
  const lane = newLane<number, number>(async (connection, items) => {
    batches.push([...items]);
    await connection.query('SELECT 1');
    return items.map((item) => item * 2);
  });
  const first = lane.push(1);
  await delay(0);
  while (batches.length === 0) await delay(1);
  const rest = [2, 3, 4].map((item) => lane.push(item));
  expect(await Promise.all([first, ...rest])).toEqual([2, 4, 6, 8]);
  expect(batches).toEqual([[1], [2, 3, 4]]);
  await lane.close();
});

test('open repeats until the database accepts, and the first item uses its connection', async () => {
  let attempts = 0;
  const connect = () => (++attempts < 3 ? Promise.reject(new Error('timeout expired')) : ledger.connect());
  const lane = newLane<number, number>(async (_, items) => [...items], { connect });
  await lane.open();
  expect({ pushed: await lane.push(1), attempts }).toEqual({ pushed: 1, attempts: 3 });
  await lane.close();
});

test('a lane that closes is not opened', async () => {
  const connect = () => Promise.reject(new Error('timeout expired'));
  const lane = newLane<number, number>(async (_, items) => [...items], { connect });
  const opened = lane.open();
  await lane.close();
  await opened;
  await expect(lane.push(1)).rejects.toMatchObject({ code: 'unavailable' });
});

test('a full queue refuses at once, and close finishes the queued items', async () => {
  const lane = newLane<number, number>(async (_, items) => [...items], { queueMax: 2 });
  const accepted = [lane.push(1), lane.push(2)];
  await expect(lane.push(3)).rejects.toMatchObject({ name: 'ServiceError', code: 'unavailable' });
  await lane.close();
  expect(await Promise.all(accepted)).toEqual([1, 2]);
  await expect(lane.push(4)).rejects.toMatchObject({ code: 'unavailable' });
});

test('one owner cannot fill the queue: at most its share may wait', async () => {
  const share = { findOwner: (item: string) => item, max: 2 };
  const lane = newLane<string, string>(async (_, items) => [...items], { queueMax: 8, share });
  const accepted = [lane.push('big'), lane.push('big')];
  await expect(lane.push('big')).rejects.toMatchObject({ name: 'ServiceError', code: 'unavailable' });
  accepted.push(lane.push('small'));
  expect(await Promise.all(accepted)).toEqual(['big', 'big', 'small']);
  expect(await Promise.all([lane.push('big'), lane.push('big')])).toEqual(['big', 'big']);
  await lane.close();
});

test('a perishable item past its deadline is dropped, any other is sent', async () => {
  const sent: string[] = [];
  const options = { deadlineMs: 400, isPerishable: (item: string) => item.startsWith('reserve') };
  const lane = newLane<string, string>(async (_, items) => {
    sent.push(...items);
    await delay(500);
    return [...items];
  }, options);
  const first = lane.push('settle 1'); // which may wait for the connection, however long that takes
  while (sent.length === 0) await delay(0);
  const late = lane.push('reserve 2');
  const settle = lane.push('settle 3');
  await expect(late).rejects.toMatchObject({ name: 'ServiceError', code: 'unavailable' });
  expect(await Promise.all([first, settle])).toEqual(['settle 1', 'settle 3']);
  expect(sent).toEqual(['settle 1', 'settle 3']);
  await lane.close();
});

test('only the item that the database refuses fails, not its batch', async () => {
  const batches: number[] = [];
  const lane = newLane<number, number>(async (connection, items) => {
    batches.push(items.length);
    await connection.query('SELECT 1 / (1 - (99 = ANY ($1::int[]))::int)', [items]);
    return [...items];
  });
  const outcomes = await Promise.allSettled([1, 2, 3, 99, 5, 6, 7, 8].map((item) => lane.push(item)));
  expect(outcomes.map(({ status }) => status)).toEqual([...Array(3).fill('fulfilled'), 'rejected', ...Array(4).fill('fulfilled')]);
  expect(outcomes[3]).toMatchObject({ reason: { name: 'ServiceError', code: 'internal_error' } });
  expect(batches).toEqual([8, 4, 2, 2, 1, 1, 4]);
  await lane.close();
});

test('the log names the item that the database refuses', async () => {
  const logged: Record<string, unknown>[] = [];
  const logger = pino({ base: {} }, { write: (line: string) => void logged.push(JSON.parse(line)) });
  const lane = newLane<number, number>(
    async (connection, items) => {
      await connection.query('SELECT 1 / (1 - (99 = ANY ($1::int[]))::int)', [items]);
      return [...items];
    },
    { logger, logFields: (item) => ({ requestId: `req_${item}` }) },
  );
  await Promise.allSettled([1, 99, 3].map((item) => lane.push(item)));
  await lane.close();
  expect(logged).toEqual([expect.objectContaining({ msg: 'item rejected: its batch fails with it', requestId: 'req_99' })]);
});

test('a statement that hangs is ended by the server, and its items are sent again on a new connection', async () => {
  const connect = (): Promise<PgConnection> => connectPg({ url: ledger.url, applicationName: 'test', statementTimeoutMs: 1_000 });
  let attempts = 0;
  const lane = newLane<number, number>(
    async (connection, items) => {
      attempts += 1;
      await connection.query('SELECT pg_sleep($1)', [attempts === 1 ? 10 : 0]);
      return [...items];
    },
    { connect },
  );
  expect(await lane.push(1)).toBe(1);
  expect(attempts).toBe(2);
  await lane.close();
});

test('without a database a push fails at once', async () => {
  const port = await freePort();
  const connect = (): Promise<PgConnection> => connectPg({ url: `postgres://127.0.0.1:${port}/none`, applicationName: 'test' });
  const lane = newLane<number, number>(async (_, items) => [...items], { connect, deadlineMs: 60_000 });
  await expect(lane.push(1)).rejects.toMatchObject({ name: 'ServiceError', code: 'unavailable' });
  await lane.close();
});

const KILLS_MAX = 60;

test('connections that break before or after the commit: every hold is charged once, none is lost', async () => {
  const customer = await ledger.customer({ topup: 1_000_000n });
  const { accountId } = customer;
  /** Sessions that the lane has got: one that breaks before is an outage, in which what was not sent is refused. */
  const sessions: number[] = [];
  const connect = async (): Promise<PgConnection> => {
    const connection = await ledger.connect();
    const { rows } = await connection.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    sessions.push(...rows.map(({ pid }) => pid));
    return connection;
  };
  const lanes = ledger.newLanes({ connect, lanes: 1, batchMax: 8, deadlineMs: 30_000 });
  let running = true;
  let kills = 0;
  const killer = (async () => {
    // A machine on which a batch takes longer than a session lives would never come to its end.
    while (running && kills < KILLS_MAX) {
      await delay(10 + ((kills * 37) % 90));
      const broken = sessions.splice(0);
      await ledger.sql.query('SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) pid', [broken]);
      kills += broken.length;
    }
  })();
  const request = async (_: unknown, count: number): Promise<bigint> => {
    const reserve = makeReserve(customer, 1_000n);
    expect(await lanes.reserve(reserve)).toMatchObject({ status: 'held' });
    const settle = { holdId: reserve.holdId, accountId, reason: 'completed' as const, usage: makeUsage(count) };
    const outcome = await lanes.settle(settle);
    expect(outcome).toMatchObject({ status: expect.stringMatching(/settled|already/), costPicoUsd: String(count) });
    return BigInt(outcome.costPicoUsd);
  };
  const costs: bigint[] = [];
  do costs.push(...(await Promise.all(Array.from({ length: 100 }, request))));
  while (kills < 5);
  running = false;
  await killer;
  const spent = costs.reduce((sum, cost) => sum + cost, 0n);
  expect(await ledger.account(accountId)).toMatchObject({ topup: String(1_000_000n - spent), topup_held: '0', open_holds: 0 });
});

/** True for the statement that commits a locked batch, and for that of a cached batch, which is its own transaction. */
function isCommit(statement: unknown): boolean {
  return statement === 'COMMIT' || (statement as { name?: string }).name?.startsWith('write_cached_batch') === true;
}

test('a batch whose reply was lost after the commit is answered on the new connection', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const { accountId } = customer;
  let cut = 0;
  const connect = async (): Promise<PgConnection> => {
    const connection = await ledger.connect();
    const query = connection.query.bind(connection) as (...values: unknown[]) => Promise<unknown>;
    Object.assign(connection, {
      query: async (...values: unknown[]) => {
        const result = await query(...values);
        if (isCommit(values[0]) && cut++ % 2 === 0) {
          connection.end().catch(() => undefined);
          throw new Error('the connection was lost after the commit');
        }
        return result;
      },
    });
    return connection;
  };
  const lanes = ledger.newLanes({ connect, lanes: 1 });
  const reserve = makeReserve(customer, 100n);
  expect(await lanes.reserve(reserve)).toMatchObject({ status: 'held' });
  const settle = { holdId: reserve.holdId, accountId, reason: 'completed' as const, usage: makeUsage(30) };
  expect(await lanes.settle(settle)).toEqual({ status: 'already', holdId: reserve.holdId, costPicoUsd: '30' });
  expect(await ledger.account(accountId)).toMatchObject({ topup: '970', topup_held: '0', open_holds: 0 });
});
