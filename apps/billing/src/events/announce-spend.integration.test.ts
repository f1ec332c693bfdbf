import { type Customer, LedgerFixture } from '../../test/ledger-fixture.js';
import { announceSpend } from './announce-spend.js';

const USD = 1_000_000_000_000n;
const HOUR_MS = 3_600_000;

let ledger: LedgerFixture;
let acme: Customer;
/** Start of the running hour. */
let now: number;
beforeEach(async () => {
  ledger = await LedgerFixture.open();
  acme = await ledger.customer();
  const { rows } = await ledger.sql.query(
    `SELECT (extract(epoch FROM date_trunc('hour', clock_timestamp(), 'UTC')) * 1000)::float8 AS hour`,
  );
  now = Number(rows[0]?.hour);
});
afterEach(() => ledger.close());

/** Adds what the project spent in an hour to the rollup. */
async function spend(hoursAgo: number, cost: bigint, { accountId, projectId, keyId } = acme): Promise<void> {
  await ledger.sql.query(
    `INSERT INTO billing.usage_hour (account_id, hour, project_id, key_id, model, upstream, ending, requests, estimated_requests, prompt_tokens,
       cached_tokens, output_tokens, reasoning_tokens, cost, forfeit, last_at)
     VALUES ($1, $2, $3, $4, 'm', 'u', 'completed', 1, 0, 0, 0, 0, 0, $5, 0, $2)`,
    [accountId, new Date(now - hoursAgo * HOUR_MS), projectId, keyId, String(cost)],
  );
}

/** Gives the project `hours` hours with `cost`, each a few hours after the one before. */
async function spendOrdinarily(hours: number, cost: bigint): Promise<void> {
  for (let hour = 1; hour <= hours; hour++) await spend(1 + hour * 5, cost);
}

async function readEvents(): Promise<Record<string, unknown>[]> {
  await announceSpend(ledger.sql);
  const { rows } = await ledger.sql.query('SELECT kind, payload FROM billing.money_event ORDER BY sequence');
  return rows;
}

const event = (hoursAgo: number, spent: bigint, median: bigint) => ({
  kind: 'spend-unusual',
  payload: {
    ...{ projectId: acme.projectId, hour: new Date(now - hoursAgo * HOUR_MS).toISOString() },
    ...{ spentPicoUsd: String(spent), medianPicoUsd: String(median) },
  },
});

test('an hour above six times the median of the hours with spend of seven days is one event', async () => {
  await spendOrdinarily(24, USD);
  await spend(0, 6n * USD + 1n);
  expect(await readEvents()).toEqual([event(0, 6n * USD + 1n, USD)]);
  expect(await readEvents()).toHaveLength(1);
});

test('the hour before has its event too, when it is added late', async () => {
  await spendOrdinarily(24, USD);
  await spend(1, 7n * USD);
  expect(await readEvents()).toEqual([event(1, 7n * USD, USD)]);
});

test('six times the median is ordinary', async () => {
  await spendOrdinarily(24, USD);
  await spend(0, 6n * USD);
  expect(await readEvents()).toEqual([]);
});

test('less than a dollar is no news', async () => {
  await spendOrdinarily(24, 1n);
  await spend(0, USD - 1n);
  expect(await readEvents()).toEqual([]);
});

test('a project with less than 24 hours of spend in seven days has no median', async () => {
  await spendOrdinarily(23, USD);
  for (let day = 8; day < 10; day++) await spend(day * 24, USD);
  await spend(0, 100n * USD);
  expect(await readEvents()).toEqual([]);
});

test('what another project of the account spends is nothing to it', async () => {
  const other = await ledger.customer();
  await spendOrdinarily(24, USD);
  await spend(0, 5n * USD);
  await spend(0, 5n * USD, { ...acme, projectId: other.projectId });
  expect(await readEvents()).toEqual([]);
});
