/**
 * Benchmark of closed months on a large journal: ledger checks before and after the months are closed, closing, a month's usage, an export
 * that DuckDB adds up, the month at other prices, detaching and attaching the first month, and the full check. See ../README.md, "Months".
 *
 *   node bench/months/run.mjs [--settlements N] [--months N] [--rounds N] [--only plans] [--out NAME]
 */
import { deepStrictEqual } from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { ensureBuilt } from '../../scripts/local/build.ts';
import { removeStack, startStack } from '../../scripts/local/stack.ts';
import { makeAccounts } from '../billing/accounts.mjs';
import { seedSettlements } from '../growth/seed-settlements.ts';
import { describeMachine, markdown, median, writeResult } from '../report.mjs';

const { values: flags } = parseArgs({
  options: {
    settlements: { type: 'string', default: '20000000' },
    months: { type: 'string', default: '12' },
    rounds: { type: 'string', default: '3' },
    only: { type: 'string' },
    out: { type: 'string', default: 'months' },
  },
});
const settlements = Number(flags.settlements);
const ACCOUNTS = 20;
/** Pico-USD of a settlement: a prompt of 133 to 533 tokens at 1 each. */
const COST = '(133 + number % 401)';
/** A fifth of the prompts is larger. */
const BOUND = 453;
const HOUR_MS = 3_600_000;
const DATA_DIR = fileURLToPath(new URL('../../.local/bench-months', import.meta.url));
const EXPORTS = `${DATA_DIR}-exports`;

const now = new Date();
/** First moment of the month so many months ago. */
const monthStart = (/** @type {number} */ ago) => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - ago, 1);
const from = monthStart(Number(flags.months));
/** Plans are measured in closed months alone. */
const to = flags.only === 'plans' ? monthStart(0) : Date.now() - HOUR_MS;

await ensureBuilt({ step: (/** @type {string} */ _name, /** @type {() => Promise<unknown>} */ work) => work() });
const { connectMessaging } = await import('#messaging/connect-messaging.js');
const { createLogger } = await import('#observability/logger.js');
const { ledgerCheck } = await import('#contracts/billing/ledger.js');
const { monthAttach, monthClose, monthDetach, monthList } = await import('#contracts/billing/months.js');
const { usageRerate } = await import('#contracts/billing/rerate.js');
const { usageQuery } = await import('#contracts/billing/usage.js');
const { checkLedger } = await import('../../dist/apps/billing/src/ledger/check-ledger.js');
const { exportMonth } = await import('../../dist/apps/cli/src/month-files/export-month.js');
const { DuckDBInstance } = await import('@duckdb/node-api');

removeStack(DATA_DIR);
const stack = await startStack({
  dataDir: DATA_DIR,
  quiet: true,
  demo: false,
  services: ['billing'],
  env: { NODE_ENV: 'production', LOG_LEVEL: 'info' },
  // Statements of the first rollup and of a full check read the whole journal.
  serviceEnv: { billing: { LEDGER_CHECK_INTERVAL_MS: '0', LEDGER_CHECK_TIMEOUT_MS: '3600000' } },
});
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => void stop().then(() => process.exit(130)));
const logger = createLogger('bench', 'warn');
const messaging = await connectMessaging({
  url: stack.natsUrl,
  user: 'cli',
  password: stack.natsPasswords.cli,
  service: 'cli',
  logger,
});
const timeoutMs = 3_600_000;
try {
  await main();
} finally {
  await stop();
}

async function stop() {
  await messaging.close();
  await stack.stop();
  removeStack(DATA_DIR);
  await rm(EXPORTS, { recursive: true, force: true });
}

async function main() {
  console.error(`fills the journal with ${settlements.toLocaleString('en')} settlements of ${flags.months} months`);
  await fill(await makeAccounts({ natsUrl: stack.natsUrl, password: stack.natsPasswords.cli, count: ACCOUNTS }));
  await untilCounted();
  const check = (/** @type {boolean} */ full) => messaging.request(ledgerCheck, { full }, { timeoutMs });
  /** @type {string[][]} */
  const rows = [];
  const add = (/** @type {string} */ work, /** @type {string} */ taken) => {
    rows.push([work, taken]);
    console.error(`${work}: ${taken}`);
  };
  if (flags.only !== 'plans') add('check on request, no month closed', await timed(1, () => sound(check(false))));
  const closing = [];
  for (let ago = Number(flags.months); ago > 0; ago--) {
    const month = new Date(monthStart(ago)).toISOString().slice(0, 7);
    closing.push(await measureMilliseconds(() => messaging.request(monthClose, { month }, { timeoutMs })));
    console.error(`closed ${month} in ${closing.at(-1)?.toFixed(0)} ms`);
  }
  add('closing a month', describe(closing));
  await measurePlans(add);
  if (flags.only === 'plans') return writeReport(rows, 'A fifth of the prompts is above the bound of the step.');
  add('check on request, all months closed', await timed(Number(flags.rounds), () => sound(check(false))));
  add('daily check', await timed(1, scheduledCheck));
  add('scheduled check, from its checkpoint', await timed(Number(flags.rounds), scheduledCheck));
  const usage = { from: new Date(monthStart(1)).toISOString(), to: new Date(monthStart(0)).toISOString(), groupBy: ['account'] };
  add('usage of a month, all accounts', await timed(Number(flags.rounds), () => messaging.request(usageQuery, usage, { timeoutMs })));
  const { months } = await messaging.request(monthList, {});
  const before = process.memoryUsage().rss;
  add('export of a month', await timed(1, () => exportMonth(messaging, months[0], EXPORTS)));
  const growth = (process.resourceUsage().maxRSS * 1024 - before) / 2 ** 20;
  const sums = await sumParquet(months[0].month);
  console.error(`DuckDB adds up: ${sums}`);
  const { month } = months.at(-1);
  add('detaching a month', await timed(1, () => messaging.request(monthDetach, { month }, { timeoutMs })));
  add('check on request, a month detached', await timed(1, () => sound(check(false))));
  add('attaching it', await timed(1, () => messaging.request(monthAttach, { month }, { timeoutMs })));
  add('full check, all months attached', await timed(1, () => sound(check(true))));
  await flip();
  /** @type {{ invariant: string, subject: string }[]} */
  let violations = [];
  const full = async () => {
    ({ violations } = await check(true));
  };
  add('full check, a cost of the first month changed', await timed(1, full));
  const found = violations.map((one) => `${one.invariant} ${one.subject}`).join(', ');
  await report(rows, { growth, sums, found });
}

/**
 * Rates the newest closed month at the prices of two catalogs, as `tollgate catalog plan` does.
 * @param {(work: string, taken: string) => void} add
 */
async function measurePlans(add) {
  const month = new Date(monthStart(1)).toISOString().slice(0, 7);
  const before = { inputUsdPerMTok: '1', cachedInputUsdPerMTok: '0', outputUsdPerMTok: '0' };
  const step = { above: BOUND, inputUsdPerMTok: '2', cachedInputUsdPerMTok: '0', outputUsdPerMTok: '0' };
  const { outputUsdPerMTok: _, ...excess } = step;
  for (const [change, after] of /** @type {const} */ ([
    ['another flat price', { ...before, inputUsdPerMTok: '1.1' }],
    ['a step for the whole request', { ...before, steps: [{ ...step, reprices: 'whole' }] }],
    ['a step for the excess', { ...before, steps: [{ ...excess, reprices: 'excess' }] }],
  ])) {
    const prices = { models: [{ id: 'sim-fast', before, after }], plansBefore: [], plansAfter: [] };
    const rate = () => messaging.request(usageRerate, { month, prices }, { timeoutMs });
    add(`plan of a month, ${change}`, await timed(Number(flags.rounds), rate));
  }
}

/**
 * Adds up the exported settlements of a month by account, as an auditor would. Fails unless they are the costs and requests of the statements.
 * @param {string} month
 */
async function sumParquet(month) {
  const connection = await (await DuckDBInstance.create()).connect();
  const parquet = (/** @type {string} */ file) => `'${EXPORTS}/${month}/${file}.parquet'`;
  const read = async (/** @type {string} */ sql) => (await connection.runAndReadAll(sql)).getRowsJson();
  const settlements = await read(
    `SELECT account_id::text, count(*)::text, sum(cost)::text FROM ${parquet('settlements')} GROUP BY ALL ORDER BY 1`,
  );
  const statements = await read(
    `SELECT account_id::text, requests::text, cost::text FROM ${parquet('statements')} WHERE requests > 0 ORDER BY 1`,
  );
  connection.closeSync();
  deepStrictEqual(settlements, statements);
  const total = (/** @type {1 | 2} */ column) => settlements.reduce((sum, row) => sum + BigInt(`${row[column]}`), 0n).toLocaleString('en');
  return `${total(1)} settlements of ${settlements.length} accounts in ${month}, ${total(2)} pico-USD`;
}

/** @param {{ accountId: string, projectId: string, keyId: string }[]} accounts */
async function fill(accounts) {
  await addPartitions();
  const [first] = accounts;
  await sql(
    `INSERT INTO billing.settlement (hold_id, account_id, project_id, key_id, request_id, model, upstream, reason, held, cost, plan_cost, ended_cost,
       forfeit, topup_cost, over, prompt_tokens, cached_tokens, output_tokens, reasoning_tokens, prompt_source, output_source, settled_by,
       price_version, input_price, cached_input_price, output_price, reserved_at, settled_at)
     VALUES (gen_random_uuid(), '${first?.accountId}', '${first?.projectId}', '${first?.keyId}', 'first', 'sim-fast', 'local', 'completed', 1000, 0, 0,
       0, 0, 0, 0, 0, 0, 0, 0, 'reported', 'reported', 'gateway', 1, 1, 0, 0, now(), to_timestamp(${from / 1_000}))`,
  );
  const pick = (/** @type {'accountId' | 'projectId' | 'keyId'} */ name) =>
    `(ARRAY[${accounts.map((one) => `'${one[name]}'`).join(',')}])[1 + number % ${ACCOUNTS}]::uuid`;
  await seedSettlements(stack.databaseUrl, settlements, {
    millisecond: `(${from}::bigint + number * ${(to - from) / settlements})::bigint`,
    columns: {
      ...{ account_id: pick('accountId'), project_id: pick('projectId'), key_id: pick('keyId') },
      ...{ cost: COST, topup_cost: COST, prompt_tokens: COST },
    },
  });
  await sql(
    `SET session_replication_role = replica; UPDATE billing.movement SET created_at = to_timestamp(${from / 1_000});
     UPDATE billing.account a SET topup = topup - s.cost
     FROM (SELECT account_id, sum(topup_cost) AS cost FROM billing.settlement GROUP BY account_id) s WHERE s.account_id = a.id`,
  );
}

/** Replaces the first partition, which has all months until the next one, by those that a journal of this age has. */
async function addPartitions() {
  const { rows } = await sql(
    `SELECT min(right(relname, 7)) AS last FROM pg_class WHERE relnamespace = 'journal'::regnamespace AND relname ~ '^settlement_\\d{4}_\\d{2}$'`,
  );
  await sql(`DROP TABLE journal.late_settlement_${rows[0].last}, journal.settlement_${rows[0].last}`);
  for (let ago = Number(flags.months); ago >= -1; ago--) {
    const id = (/** @type {number} */ start) => `quote_literal(billing.first_id_of('${new Date(start).toISOString().slice(0, 10)}'))`;
    const lowest = ago === Number(flags.months) ? `'MINVALUE'` : id(monthStart(ago));
    const name = new Date(monthStart(ago)).toISOString().slice(0, 7).replace('-', '_');
    await sql(`SELECT billing.add_partitions('${name}', format('FOR VALUES FROM (%s) TO (%s)', ${lowest}, ${id(monthStart(ago - 1))}))`);
  }
}

/** Changes one cost in the first month, past all triggers. */
function flip() {
  return sql(
    `SET session_replication_role = replica; UPDATE billing.settlement SET cost = cost - 1, topup_cost = topup_cost - 1
     WHERE hold_id = (SELECT hold_id FROM billing.settlement WHERE request_id = 'seeded-1000')`,
  );
}

async function untilCounted() {
  for (;;) {
    const { rows } = await sql('SELECT count(*)::int AS missing FROM billing.usage_state WHERE newest_at IS NULL');
    if (rows[0].missing === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 5_000));
  }
}

/** Checks the ledger as billing does on its schedule: the first such check reads the open month, the others the rows since the one before. */
function scheduledCheck() {
  return withClient((client) => sound(checkLedger(client, HOUR_MS, { scheduled: true })));
}

/** @param {string} text @returns {Promise<any>} */
function sql(text) {
  return withClient((client) => client.query(text));
}

/** @template Result @param {(client: any) => Promise<Result>} work @returns {Promise<Result>} */
async function withClient(work) {
  // As in the sessions of billing.
  const client = new pg.Client({ connectionString: stack.databaseUrl, options: '-c jit=off' });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** @param {Promise<{ violations: object[] }>} check */
async function sound(check) {
  const { violations } = await check;
  if (violations.length > 0) throw new Error(JSON.stringify(violations.slice(0, 5)));
}

/** @param {number} rounds @param {() => Promise<unknown>} work */
async function timed(rounds, work) {
  const taken = [];
  for (let round = 0; round < rounds; round++) taken.push(await measureMilliseconds(work));
  return describe(taken);
}

/** @param {() => Promise<unknown>} work */
async function measureMilliseconds(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** @param {number[]} taken */
function describe(taken) {
  return `${(median(taken) / 1_000).toFixed(2)} s (${taken.length})`;
}

/** @param {string[][]} rows @param {{ growth: number, sums: string, found: string }} seen */
async function report(rows, { growth, sums, found }) {
  await writeReport(
    rows,
    `The memory of the export grew by ${growth.toFixed(0)} MiB. DuckDB adds up its Parquet files to the statements of the month exactly: ${sums}.
After a month was attached, the full check found nothing. After one cost of the first month was changed, the full check found: ${found}.`,
  );
}

/** @param {string[][]} rows @param {string} notes */
async function writeReport(rows, notes) {
  const day = now.toISOString().slice(0, 10);
  const text = `# ${day}: closed months, ${settlements.toLocaleString('en')} settlements of ${flags.months} months

Machine: ${describeMachine()}. Journal, service and client share it.

Method: \`bench/README.md\`, "Months".

${markdown(['work', 'median (runs)'], rows)}

${notes}
`;
  await writeResult(text, flags.out);
}
