import { createHash, randomUUID } from 'node:crypto';
import type { PgConnection } from '#database/pg-connection.js';
import { type Customer, LedgerFixture } from '../../test/ledger-fixture.js';
import { storedDigest } from './key-digest.js';
import { KeyLookups } from './key-lookups.js';

const PEPPER = 'p'.repeat(32);

/** Number of digests in each query. */
let queries: number[];
let lookups: KeyLookups;
const ledger = await LedgerFixture.open();
beforeEach(() => {
  queries = [];
  lookups = new KeyLookups(PEPPER, { connect: counting, batchMax: 100, queueMax: 1_000, deadlineMs: 30_000, logger: ledger.logger });
});
afterEach(() => lookups.close());
afterAll(() => ledger.close());

/** A connection that counts the digests of the queries it sends. */
async function counting(): Promise<PgConnection> {
  const connection = await ledger.connect();
  const query = connection.query.bind(connection) as (...args: unknown[]) => unknown;
  connection.query = ((statement: { values: [string] }) => {
    queries.push(statement.values[0].split(',').length);
    return query(statement);
  }) as unknown as typeof connection.query;
  return connection;
}

const guess = (): string => createHash('sha256').update(randomUUID()).digest('hex');

async function createKey(): Promise<Customer & { digest: string }> {
  const customer = await ledger.customer();
  const digest = guess();
  const stored = Buffer.from(storedDigest(digest, PEPPER));
  await ledger.sql.query('UPDATE billing.api_key SET digest = $1 WHERE id = $2', [stored, customer.keyId]);
  return { ...customer, digest };
}

test('a key is found by its digest, with its project and account', async () => {
  const { digest, ...customer } = await createKey();
  expect(await lookups.resolve(digest)).toEqual(customer);
  expect(queries).toEqual([1]);
});

test.each([
  ['an unknown key', undefined],
  ['a revoked key', 'UPDATE billing.api_key SET revoked_at = now() WHERE id = $1'],
  ['a disabled key', 'UPDATE billing.api_key SET disabled = true WHERE id = $1'],
  ['an expired key', 'UPDATE billing.api_key SET expires_at = now() WHERE id = $1'],
  [
    'a key of a disabled project',
    'UPDATE billing.project SET enabled = false WHERE id = (SELECT project_id FROM billing.api_key WHERE id = $1)',
  ],
])('%s is refused', async (_, sql) => {
  const { digest, keyId } = await createKey();
  if (sql) await ledger.sql.query(sql, [keyId]);
  await expect(lookups.resolve(sql ? digest : guess())).rejects.toMatchObject({ code: 'invalid_api_key' });
});

test('a key with an end is found with the milliseconds that are left', async () => {
  const { digest, ...customer } = await createKey();
  await ledger.sql.query(`UPDATE billing.api_key SET expires_at = now() + interval '1 hour' WHERE id = $1`, [customer.keyId]);
  const { validForMs = 0, ...found } = await lookups.resolve(digest);
  expect(found).toEqual(customer);
  expect(validForMs).toBeLessThanOrEqual(3_600_000);
  expect(validForMs).toBeGreaterThan(3_500_000);
});

test('1,000 concurrent guesses cost ten queries, and valid keys among them are found', async () => {
  const keys = await Promise.all([createKey(), createKey(), createKey()]);
  await lookups.resolve(keys[0].digest);
  queries.length = 0;
  const digests = Array.from({ length: 1_000 }, (_, count) => (count % 400 === 0 ? (keys[count / 400]?.digest as string) : guess()));
  const found = await Promise.all(digests.map((digest) => lookups.resolve(digest).catch((error: { code: string }) => error.code)));
  const expected = digests.map((_, count) => (count % 400 === 0 ? keys[count / 400]?.keyId : 'invalid_api_key'));
  expect(found.map((one) => (typeof one === 'string' ? one : one.keyId))).toEqual(expected);
  expect(queries).toEqual(Array<number>(10).fill(100));
});

test('concurrent lookups of one key are one digest of one query', async () => {
  const { digest, ...customer } = await createKey();
  expect(await Promise.all(Array.from({ length: 50 }, () => lookups.resolve(digest)))).toEqual(Array(50).fill(customer));
  expect(queries).toEqual([1]);
});

test('lookups beyond the queue are refused as unavailable', async () => {
  const waiting = Array.from({ length: 1_000 }, () => lookups.resolve(guess()).catch((error: { code: string }) => error.code));
  await expect(lookups.resolve(guess())).rejects.toMatchObject({ code: 'unavailable' });
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(['invalid_api_key']));
});

test('a lookup whose connection is lost is repeated on another', async () => {
  const { digest, ...customer } = await createKey();
  const opened: PgConnection[] = [];
  const connect = async (): Promise<PgConnection> => {
    const connection = await ledger.connect();
    opened.push(connection);
    return connection;
  };
  const options = { batchMax: 100, queueMax: 1_000, deadlineMs: 30_000, logger: ledger.logger };
  const reconnecting = new KeyLookups(PEPPER, { connect, ...options });
  await reconnecting.resolve(digest);
  const { rows } = await (opened[0] as PgConnection).query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const lost = new Promise((resolve) => opened[0]?.once('end', () => resolve(undefined)));
  await ledger.sql.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid]);
  await lost;
  expect(await reconnecting.resolve(digest)).toEqual(customer);
  expect(opened).toHaveLength(2);
  await reconnecting.close();
});

test('a key has the price plan of its account', async () => {
  const { digest, ...customer } = await createKey();
  await ledger.sql.query(`UPDATE billing.account SET price_plan = 'gold' WHERE id = $1`, [customer.accountId]);
  expect(await lookups.resolve(digest)).toEqual({ ...customer, pricePlan: 'gold' });
});

test('a key has the price plan that replaces the one of its account, and its time', async () => {
  const { digest, ...customer } = await createKey();
  const sql = `UPDATE billing.account SET next_price_plan = $2, next_price_plan_from = '2099-01-01Z' WHERE id = $1`;
  for (const pricePlan of ['gold', null]) {
    await ledger.sql.query(sql, [customer.accountId, pricePlan]);
    expect(await lookups.resolve(digest)).toEqual({ ...customer, nextPricePlan: { pricePlan, from: '2099-01-01T00:00:00.000Z' } });
  }
});
