import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import pg from 'pg';
import { holdReserve, holdSettle } from '#contracts/billing/holds.js';
import { MONTH_FILE_NAMES } from '#contracts/billing/months.js';
import { usageRerate } from '#contracts/billing/rerate.js';
import { connectMessaging } from '#messaging/connect-messaging.js';
import type { Messaging } from '#messaging/messaging.js';
import { createLogger } from '#observability/logger.js';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator, createTenant, type Tenant } from '#testing/tenant.js';
import { runCli } from '../../apps/cli/src/run-cli.js';
import { JournalWatch } from './journal-watch.js';

/** A month is closed and exported with the command line, and another program reads its files. */
let running: RunningStack;
let gateway: Messaging;
let tenants: Tenant[];
let folder: string;
let journals: JournalWatch;

const now = new Date();
const MONTH = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 2, 1)).toISOString().slice(0, 7);
/** Beyond the integers that a float of 64 bits holds exactly. */
const COST = 9_007_199_254_740_993n;

beforeAll(async () => {
  running = await startPrivateStack({ services: ['billing'] });
  journals = await new JournalWatch(running.databaseUrl).open();
  folder = await mkdtemp(join(tmpdir(), 'tollgate-months-'));
  const { natsUrl: url, natsPasswords } = running;
  gateway = await connectMessaging({
    url,
    user: 'gateway',
    password: natsPasswords.gateway,
    service: 'gateway',
    logger: createLogger('test', 'silent'),
  });
  const administrator = await connectAdministrator(running);
  tenants = [await createTenant(administrator, { usd: '10000000.00' }), await createTenant(administrator, { usd: '100000.000000000001' })];
  await administrator.close();
  for (const tenant of tenants) for (let count = 0; count < 3; count++) await request(tenant, count);
  await moveBack();
});
afterAll(async () => {
  await gateway?.close();
  await journals?.close();
  await running?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Costs `COST`, whatever its number: only the first token has a price. */
async function request({ accountId, projectId, keyId }: Tenant, number: number): Promise<void> {
  const holdId = randomUUID();
  const price = { version: 1, inputPicoUsd: String(COST), cachedInputPicoUsd: '0', outputPicoUsd: '0' };
  const hold = { holdId, accountId, projectId, keyId, requestId: `req, "${holdId}"`, model: 'sim-fast' };
  await gateway.request(holdReserve, { ...hold, amountPicoUsd: String(COST), price });
  const counts = { promptTokens: 1 + 10 * number, cachedTokens: 10 * number, outputTokens: 7 * number, reasoningTokens: 0 };
  const usage = { ...counts, promptSource: 'reported', outputSource: 'reported' } as const;
  await gateway.request(holdSettle, { holdId, accountId, reason: 'completed', usage });
}

/** Makes the rows as old as the month. */
async function moveBack(): Promise<void> {
  const client = new pg.Client({ connectionString: running.databaseUrl });
  await client.connect();
  await client.query('SET session_replication_role = replica');
  await client.query(`UPDATE billing.settlement SET settled_at = '${MONTH}-20Z'`);
  await client.query(`UPDATE billing.movement SET created_at = '${MONTH}-20Z'`);
  await client.end();
}

async function tollgate(...args: string[]): Promise<{ code: number; out: string }> {
  let out = '';
  const write = (text: string): void => {
    out += text;
  };
  const code = await runCli(args, { writeOut: write, writeErr: write }, () => connectAdministrator(running));
  return { code, out };
}

/** Runs a command of months, and returns its rows in the journal. */
async function month(...args: string[]): Promise<{ code: number; out: string; rows: unknown[] }> {
  const { result, rows } = await journals.during(
    () => tollgate('month', ...args),
    ({ action }) => action.startsWith('month.'),
  );
  return { ...result, rows: rows.map(({ action, via }) => [action, via]) };
}

const sha256 = (content: Buffer): string => createHash('sha256').update(content).digest('hex');

async function contents(out: string): Promise<Record<string, string>> {
  const names = ['manifest.txt', ...MONTH_FILE_NAMES.flatMap((file) => [`${file}.csv`, `${file}.parquet`])];
  const digests = names.map(async (name) => [name, sha256(await readFile(join(out, MONTH, name)))]);
  return Object.fromEntries((await Promise.all(digests)) as [string, string][]);
}

test('a closed month is exported twice with the same bytes, and DuckDB sums its Parquet to the statements exactly', async () => {
  const closed = await month('close', MONTH, '--json');
  expect(closed).toMatchObject({ code: 0, rows: [['month.close', 'cli']] });
  const { digest, files } = JSON.parse(closed.out) as { digest: string; files: { file: string; sha256: string }[] };
  const [first, second] = [join(folder, 'first'), join(folder, 'second')];
  expect(await tollgate('month', 'export', MONTH, '--out', first)).toMatchObject({
    code: 0,
    out: expect.stringContaining('what was closed'),
  });
  await tollgate('month', 'export', MONTH, '--out', second);
  const written = await contents(first);
  expect(await contents(second)).toEqual(written);
  const expected = files.map(({ file, sha256 }) => [`${file}.csv`, sha256]);
  expect(written).toMatchObject({ 'manifest.txt': digest, ...Object.fromEntries(expected) });

  const connection = await (await DuckDBInstance.create()).connect();
  const parquet = (file: string): string => `'${join(first, MONTH, `${file}.parquet`)}'`;
  const rows = async (sql: string): Promise<unknown[][]> => (await connection.runAndReadAll(sql)).getRowsJson();
  const sums = await rows(
    `SELECT account_id::text, sum(cost)::text, count(*)::text FROM ${parquet('settlements')} GROUP BY ALL ORDER BY account_id::text`,
  );
  const statements = await rows(
    `SELECT account_id::text, cost::text, requests::text FROM ${parquet('statements')} ORDER BY account_id::text`,
  );
  expect(sums).toEqual(statements);
  expect(sums).toEqual(tenants.map(({ accountId }) => [accountId, String(3n * COST), '3']).sort());
  const closing = await rows(`SELECT sum(closing)::text, sum(topups)::text FROM ${parquet('statements')}`);
  const paid = await rows(`SELECT sum(amount)::text, min(created_at)::text FROM ${parquet('movements')}`);
  const toppedUp = 10_100_000_000_000_000_001n;
  expect([closing, paid]).toEqual([
    [[String(toppedUp - 6n * COST), String(toppedUp)]],
    [[String(toppedUp), expect.stringContaining(`${MONTH}-20 00:00:00`)]],
  ]);
  connection.closeSync();
});

test('a month at other prices is what DuckDB makes of its Parquet', async () => {
  const before = { inputUsdPerMTok: '0.15', cachedInputUsdPerMTok: '0.015', outputUsdPerMTok: '0.60' };
  const steps = [{ above: 11, inputUsdPerMTok: '0.30', cachedInputUsdPerMTok: '0.03' }];
  const prices = {
    ...{ models: [{ id: 'sim-fast', before, after: { ...before, requestUsd: '0.001', steps } }] },
    ...{ plansBefore: [], plansAfter: [] },
  };
  const administrator = await connectAdministrator(running);
  const { accounts } = await administrator.request(usageRerate, { month: MONTH, prices });
  await administrator.close();
  const rated = accounts.map(({ accountId, beforePicoUsd, afterPicoUsd }) => [accountId, beforePicoUsd, afterPicoUsd]);

  const connection = await (await DuckDBInstance.create()).connect();
  const cost = (input: number, cached: number) =>
    `(prompt_tokens - cached_tokens) * ${input} + cached_tokens * ${cached} + output_tokens * 600000`;
  const result = await connection.runAndReadAll(`
    SELECT account_id::text, sum(${cost(150_000, 15_000)})::text,
      sum(1000000000 + CASE WHEN prompt_tokens > 11 THEN ${cost(300_000, 30_000)} ELSE ${cost(150_000, 15_000)} END)::text
    FROM '${join(folder, 'first', MONTH, 'settlements.parquet')}' GROUP BY ALL`);
  expect(rated.sort()).toEqual(result.getRowsJson().sort());
  expect(rated).toHaveLength(2);
  connection.closeSync();
});
