import { randomUUID } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import type { ReserveRequest } from '#contracts/billing/holds.js';
import { DISTRIBUTED, distributeByAccount } from '../../test/distribute-by-account.js';
import { type Customer, LedgerFixture, makeReserve, makeUsage, TIMES } from '../../test/ledger-fixture.js';
import { inOrder, TracedLane } from '../../test/traced-lane.js';
import { applyBatch } from './apply-batch.js';
import type { Batch, Settle } from './batch.js';

/**
 * The hot path on tables that are distributed by account: hash partitions of one database stand for the shards of several.
 */
const ROWS = 10_000;

/** Statements that ran in any of the tests. */
const seen = new Set<string>();

const ledger = await LedgerFixture.open();
await distributeByAccount(ledger.sql);
const [first, second, budgeted] = await makeCustomersOnShards();
await addBudget(budgeted);
await fillTables();
const lane = await TracedLane.open(ledger.ownerUrl, /_(\d)$/);
afterAll(async () => {
  await lane?.connection.end();
  await ledger.close();
});

async function readShard({ accountId }: Customer): Promise<string> {
  const { rows } = await ledger.sql.query('SELECT tableoid::regclass::text AS shard FROM billing.account WHERE id = $1', [accountId]);
  return rows[0]?.shard.slice(-1) ?? '';
}

async function makeCustomersOnShards(): Promise<[Customer, Customer, Customer]> {
  const found = new Map<string, Customer>();
  while (found.size < 3) {
    const customer = await ledger.customer({ topup: 1_000_000n });
    found.set(await readShard(customer), customer);
  }
  return [...found.values()] as [Customer, Customer, Customer];
}

/** A budget whose window is over, so that the next batch begins another. */
async function addBudget({ accountId }: Customer): Promise<void> {
  await ledger.sql.query(
    `INSERT INTO billing.budget (id, account_id, period, time_zone, limit_amount, spent, held, window_start, window_end)
      VALUES (gen_random_uuid(), $1, 'day', 'UTC', 1000000, 0, 0, now() - interval '3 days', now() - interval '2 days')`,
    [accountId],
  );
}

/** As many rows of others that reading a table costs more than looking for the rows of a batch. */
async function fillTables(): Promise<void> {
  for (const statement of [
    'SET session_replication_role = replica', // without triggers and foreign keys
    `INSERT INTO billing.account (id, name, open_holds) SELECT gen_random_uuid(), 'other', 1 FROM generate_series(1, ${ROWS})`,
    `INSERT INTO billing.project (id, account_id, name, requests_per_minute_max, concurrency_max, open_holds)
      SELECT gen_random_uuid(), id, 'other', 1, 1, 1 FROM billing.account WHERE name = 'other'`,
    `INSERT INTO billing.budget (id, account_id, period, time_zone, limit_amount, spent, held, window_start, window_end)
      SELECT gen_random_uuid(), id, 'total', 'UTC', 1, 0, 0, '-infinity', 'infinity' FROM billing.account WHERE name = 'other'`,
    `INSERT INTO billing.hold (id, account_id, project_id, key_id, request_id, model, amount, plan_part, price_version, input_price,
        cached_input_price, output_price, lease_until, created_at)
      SELECT gen_random_uuid(), account_id, id, id, 'other', 'm', 0, 0, 1, 1, 1, 1, 'infinity', now() FROM billing.project WHERE name = 'other'`,
    'RESET session_replication_role',
    'ANALYZE billing.account, billing.project, billing.budget, billing.hold',
  ])
    await ledger.sql.query(statement);
}

/** Applies a batch. Returns its statements, with the shards that they looked into. */
async function readShards(batch: Batch, now?: number): Promise<Record<string, string[]>> {
  const shards = await lane.during(() => applyBatch(lane.connection, batch, TIMES, now));
  for (const statement of Object.keys(shards)) seen.add(statement);
  return shards;
}

const reserving = (...reserves: ReserveRequest[]): Batch => ({ settles: [], reserves });
const settling = (...settles: Settle[]): Batch => ({ settles, reserves: [] });
const makeSettle = (customer: Customer, holdId: string) => ({ ...customer, holdId, reason: 'completed' as const, usage: makeUsage(10) });

test('statements of a batch look only into the shards of its accounts: under the lock, and decided from memory', async () => {
  const [a, b] = [await readShard(first), await readShard(second)];
  const both = inOrder([a, b]);
  const holds = [makeReserve(first, 100n), makeReserve(second, 100n)] as const;
  const locked = await readShards(reserving(...holds));
  expect(locked).toEqual({ lock_accounts: both, read_batch: both, write_batch: both });

  const settles = [makeSettle(first, holds[0].holdId)];
  const cached = await readShards({ settles, reserves: [makeReserve(first, 50n)] });
  expect(cached).toEqual({ write_cached_batch_settles_reserves: [a], 'within a function': [a] });

  const unknown = await readShards(settling(makeSettle(second, randomUUID())));
  expect(unknown).toEqual({ lock_accounts: [b], read_batch: [b], record_tombstones: [] });
});

test('so do those of budgets', async () => {
  const shard = await readShard(budgeted);
  const holds = [1, 2, 3].map(() => makeReserve(budgeted, 100n));
  const locked = await readShards(reserving(...holds));
  expect(locked).toEqual({
    lock_accounts: [shard],
    read_batch: [shard],
    read_budgets: [shard],
    open_budget_windows: [shard],
    'within a function': [shard],
    write_budgets: [shard],
    write_batch: [shard],
  });
  // A new window writes the account: batches take the lock until two have found it unchanged.
  const settle = ({ holdId }: { holdId: string }) => readShards(settling(makeSettle(budgeted, holdId)));
  const settled: Record<string, string[]>[] = [];
  for (const hold of holds) settled.push(await settle(hold));
  expect(settled.at(-1)).toEqual({ write_cached_batch_settles_budgets: [shard] });
});

test('so do those of rate limits', async () => {
  const shard = await readShard(first);
  const { accountId, projectId, keyId } = first;
  await ledger.sql.query(
    `INSERT INTO billing.rate_limit (id, account_id, project_id, key_id, tokens_per_minute_max, open_holds)
     SELECT $3, $1, $2, $3, 1000, count(*) FROM billing.hold WHERE account_id = $1 AND key_id = $3`,
    [accountId, projectId, keyId],
  );
  await ledger.sql.query('INSERT INTO billing.rate_limit (id, account_id, requests_per_minute_max, open_holds) VALUES ($1, $1, 1000, 0)', [
    accountId,
  ]);
  const hold = { ...makeReserve(first, 100n), tokensMax: 10 };
  const locked = await readShards(reserving(hold));
  expect(locked).toEqual({
    ...{ lock_accounts: [shard], read_batch: [shard], read_limits: [shard], read_tokens: [] },
    ...{ write_limits: [shard], write_batch_with_rare_columns: [shard] },
  });
  expect(await readShards(settling(makeSettle(first, hold.holdId)))).toEqual({
    ...{ lock_accounts: [shard], read_batch: [shard], read_limits: [shard], read_tokens: [shard] },
    ...{ write_limits: [shard], write_batch: [shard] },
  });
  const next = () => readShards(reserving({ ...makeReserve(first, 100n), tokensMax: 10 }));
  await next();
  await next();
  expect(await next()).toEqual({ write_cached_batch_rare_reserves_limits: [shard], 'within a function': [shard] });
});

test('a reaped hold is settled late in its own shard', async () => {
  const shard = await readShard(second);
  const hold = makeReserve(second, 100n);
  const now = Date.now();
  await readShards(reserving(hold), now);
  await readShards(settling({ ...makeSettle(second, hold.holdId), reason: 'lease-expired' }), now + 1_000_000);
  const late = await readShards(settling(makeSettle(second, hold.holdId)), now + 1_000_001);
  expect(late).toEqual({
    lock_accounts: [shard],
    read_batch: [shard],
    settle_late: [],
    'within a function': [shard],
    write_batch: [shard],
  });
});

test('statements of budgets of users look only into the shard of their account', async () => {
  const shard = await readShard(second);
  await ledger.sql.query(
    `INSERT INTO billing.budget (id, account_id, dimension, thresholds, period, time_zone, limit_amount, spent, held, window_start, window_end)
     VALUES (gen_random_uuid(), $1, 'user', '{}', 'total', 'UTC', 1000000, 0, 0, now() - interval '1 hour', 'infinity')`,
    [second.accountId],
  );
  const reserve = () => readShards(reserving({ ...makeReserve(second, 10n), attribution: { user: 'alice' } }));
  expect(await reserve()).toEqual({
    ...{ lock_accounts: [shard], read_batch: [shard], read_budgets: [shard], read_budget_values: [shard] },
    ...{ write_budget_values: [shard], write_batch: [shard] },
  });
  await reserve();
  await reserve();
  expect(await reserve()).toEqual({ write_cached_batch_reserves_values: [shard], 'within a function': [shard] });
});

test('so do those of windows that begin earlier, because the clock was set back', async () => {
  const customer = await ledger.customer({ topup: 1_000_000n });
  const shard = await readShard(customer);
  const now = Date.now();
  const reserve = () => reserving({ ...makeReserve(customer, 10n), attribution: { user: 'alice' } });
  await readShards(reserve(), now - 60_000); // a hold from before the window
  await ledger.sql.query(
    `INSERT INTO billing.budget (id, account_id, dimension, thresholds, period, time_zone, limit_amount, spent, held, window_start, window_end)
     VALUES (gen_random_uuid(), $1, 'user', '{}', 'day', 'UTC', 1000000, 0, 0, to_timestamp($2::float8 / 1000), 'infinity')`,
    [customer.accountId, now],
  );
  expect(await readShards(reserve(), now - 120_000)).toEqual({
    ...{ lock_accounts: [shard], read_batch: [shard], read_budgets: [shard], open_budget_windows: [shard], 'within a function': [shard] },
    ...{ count_earlier_holds: [shard], read_budget_values: [shard], write_budget_values: [shard], write_batch: [shard] },
  });
});

test('so do those of events', async () => {
  const shard = await readShard(budgeted);
  await ledger.sql.query('UPDATE billing.budget SET limit_amount = 40, passed = 0, spent = 19, held = 0 WHERE account_id = $1', [
    budgeted.accountId,
  ]);
  const hold = makeReserve(budgeted, 10n);
  await readShards(reserving(hold));
  expect(await readShards(settling(makeSettle(budgeted, hold.holdId)))).toEqual({
    ...{ lock_accounts: [shard], read_batch: [shard], read_budgets: [shard], write_budgets: [shard], write_events: [] },
    ...{ write_passed: [shard], 'within a function': [shard], write_batch: [shard] },
  });
});

test('so do those of the end of a plan', async () => {
  const shard = await readShard(first);
  await ledger.sql.query(
    `UPDATE billing.account SET plan = 100, grant_id = gen_random_uuid(), grant_ends_at = now() - interval '1 minute' WHERE id = $1`,
    [first.accountId],
  );
  const ended = await readShards(reserving(makeReserve(first, 10n)));
  expect(ended).toMatchObject({ lock_accounts: [shard], read_batch: [shard], forfeit_grants: [], 'within a function': [shard] });
});

test('a batch with an item of a service also asks for the row of the service, which is of no account', async () => {
  const reserve = {
    ...makeReserve(first, 3n),
    model: 'crawler/page',
    price: { version: 1, inputPicoUsd: '0', cachedInputPicoUsd: '0', outputPicoUsd: '0', requestPicoUsd: '3' },
    item: { service: 'crawler', quantityMax: 1 },
  };
  expect(await readShards(reserving(reserve))).toMatchObject({ add_services: [], lock_services: [], write_services: [] });
});

/** Statements of the same files that are no part of a request, or do not run where tables are distributed. */
const NOT_SEEN = ['read_elsewhere', 'renew_holds', 'renew_items', 'not_settled'];

test('each named statement of a batch has run, and the documentation names it', () => {
  const sources = globSync('apps/billing/src/**/*.ts', { exclude: (name) => name.includes('.test.') })
    .map((file) => readFileSync(file, 'utf8'))
    .filter((text) => text.includes("/statement.js'"));
  const naming = /(?:\bstatement(?:<[^(]*>)?\(|writeBatch\(|writeAlone\(|name: |name = \[|hasRare \? \[)\s*'([a-z_]+)'/g;
  const named = sources.flatMap((text) => [...text.matchAll(naming)].map(([, name = '']) => name));
  // The statement of a batch from memory ends with the names of its parts.
  const parts = [...seen].map((name) => /^(write_cached_batch)((?:_[a-z]+)*)$/.exec(name) ?? ['', name, '']);
  const ran = new Set(parts.flatMap(([, name = '', of = '']) => [name, ...of.split('_').filter(Boolean)]));
  expect([...ran, ...NOT_SEEN].filter((name) => name !== 'within a function').sort()).toEqual(named.sort());
  const documentation = readFileSync('docs/scale.md', 'utf8');
  expect([...named, ...Object.keys(DISTRIBUTED)].filter((name) => !documentation.includes(`\`${name}\``))).toEqual([]);
});
