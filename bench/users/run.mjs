/**
 * Benchmark of end users and tags: the CPU time of a reserve and its settlement without them, with them, and with budgets of each, while a
 * million users and ten thousand tags have spent something. See ../README.md, "End users".
 *
 *   node bench/users/run.mjs [--users N] [--tags N] [--cases TEXT] [--seconds S] [--rounds N] [--out NAME]
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { connectPg } from '#database/pg-connection.js';
import { ensureBuilt } from '../../scripts/local/build.ts';
import { removeStack, startStack } from '../../scripts/local/stack.ts';
import { makeAccounts } from '../billing/accounts.mjs';
import { MAKE_BUDGETS, setBudgets } from '../budgets.mjs';
import { stopChild } from '../child-process.mjs';
import { cpuSeconds } from '../cpu-time.mjs';
import { describeMachine, markdown, median, writeResult } from '../report.mjs';

const { values: flags } = parseArgs({
  options: {
    users: { type: 'string', default: '1000000' },
    tags: { type: 'string', default: '10000' },
    /** Only cases whose name has this text, and the first. */
    cases: { type: 'string', default: '' },
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '3' },
    out: { type: 'string', default: 'users' },
  },
});
const [users, tags] = [Number(flags.users), Number(flags.tags)];
const CLIENTS = 64;
const DATA_DIR = fileURLToPath(new URL('../../.local/bench-users', import.meta.url));
/** Rows of one statement that fills the table. */
const STEP = 50_000;

/** @typedef {{ name: string, budgets: { dimension?: string, period?: string }[], job: { users?: number, tags?: number, sessions?: number } }} Case */

/** @type {Case[]} */
const ALL_CASES = [
  { name: 'neither users nor budgets', budgets: [], job: {} },
  { name: 'a budget of the account', budgets: [{}], job: {} },
  { name: 'users and tags, no budget', budgets: [], job: { users, tags } },
  { name: 'a budget of each user, 1,000 users', budgets: [{ dimension: 'user' }], job: { users: 1_000, tags } },
  { name: 'a budget of each user, all users', budgets: [{ dimension: 'user' }], job: { users, tags } },
  { name: 'sessions, no budget', budgets: [], job: { sessions: 1_000 } },
  { name: 'a budget of each session, 1,000 sessions', budgets: MAKE_BUDGETS.session(), job: { sessions: 1_000 } },
  { name: 'budgets of each user and each tag', budgets: [{ dimension: 'user' }, { dimension: 'tag:team' }], job: { users, tags } },
];

const CASES = ALL_CASES.filter(({ name }, position) => position === 0 || name.includes(flags.cases));

await ensureBuilt({ step: (/** @type {string} */ _name, /** @type {() => Promise<unknown>} */ work) => work() });
removeStack(DATA_DIR);
const stack = await startStack({ dataDir: DATA_DIR, services: ['billing'], quiet: true });
try {
  await main();
} finally {
  await stack.stop();
  removeStack(DATA_DIR);
}

async function main() {
  const accounts = await makeAccounts({ natsUrl: stack.natsUrl, password: stack.natsPasswords.cli, count: CASES.length });
  for (const [position, { budgets }] of CASES.entries()) await setBudgets(stack, accounts.slice(position, position + 1), () => budgets);
  const size = await fillValues();
  /** @type {{ name: string, microseconds: number, pairsPerSecond: number, p50: number, errors: number }[]} */
  const samples = [];
  for (let round = 0; round < Number(flags.rounds); round++) {
    for (const [position, { name, job }] of CASES.entries()) {
      const sample = { name, ...(await measure(accounts[position], job)) };
      samples.push(sample);
      console.error(
        `round ${round + 1}, ${name}: ${Math.round(sample.microseconds)} µs, ${Math.round(sample.pairsPerSecond)}/s, ${sample.errors} errors`,
      );
    }
  }
  await report(samples, size);
}

/** Adds a row for each user and tag, as if each had spent something. Returns the bytes of a row with its index entry. */
async function fillValues() {
  const sql = await connectPg({ url: stack.databaseUrl, applicationName: 'bench', statementTimeoutMs: 120_000 });
  const { rows: budgets } = await sql.query("SELECT id, dimension FROM billing.budget WHERE dimension <> 'session'");
  for (const { id, dimension } of budgets) {
    const count = dimension === 'user' ? users : tags;
    for (let from = 0; from < count; from += STEP) {
      await sql.query(
        `INSERT INTO billing.budget_value (budget_id, account_id, window_end, value, spent, held)
         SELECT b.id, b.account_id, b.window_end, CASE b.dimension WHEN 'user' THEN rpad('user-' || n, 24, 'x') ELSE 'tag-' || n END, 45000000::numeric * n, 0
         FROM billing.budget b, generate_series($2::int, $3::int) AS n WHERE b.id = $1`,
        [id, from, Math.min(from + STEP, count) - 1],
      );
    }
  }
  await sql.query('VACUUM ANALYZE billing.budget_value');
  const { rows } = await sql.query(
    "SELECT pg_total_relation_size('billing.budget_value')::float8 / count(*) AS bytes, count(*)::int AS rows FROM billing.budget_value",
  );
  await sql.end();
  return /** @type {{ bytes: number, rows: number }} */ (rows[0]);
}

/** @param {any} account @param {object} more */
async function measure(account, more) {
  const child = fork(fileURLToPath(new URL('../billing/load-worker.mjs', import.meta.url)), {
    env: { ...process.env, NODE_OPTIONS: '', NODE_ENV: 'production' },
    serialization: 'advanced',
  });
  const before = used();
  child.send({
    ...{ path: 'nats', natsUrl: stack.natsUrl, password: stack.natsPasswords.gateway, seconds: Number(flags.seconds) },
    ...{ accounts: [account], count: 1, clients: CLIENTS, ...more },
  });
  /** @type {any} */
  let outcome;
  do [outcome] = await once(child, 'message');
  while (outcome === 'connected');
  const microseconds = ((used() - before) / Math.max(1, outcome.pairs)) * 1_000_000;
  await stopChild(child);
  if (outcome.errors > 0) console.error(outcome.firstError);
  return { microseconds, pairsPerSecond: outcome.pairsPerSecond, p50: outcome.p50, errors: outcome.errors };
}

/** CPU seconds of billing, Postgres and NATS. */
function used() {
  return Object.values(cpuSeconds(stack.pids())).reduce((sum, part) => sum + part, 0);
}

/** @param {{ name: string, microseconds: number, pairsPerSecond: number, p50: number, errors: number }[]} samples @param {{ bytes: number, rows: number }} size */
async function report(samples, size) {
  const middle = (/** @type {string} */ name, /** @type {'microseconds' | 'pairsPerSecond' | 'p50'} */ figure) =>
    median(samples.filter((sample) => sample.name === name).map((sample) => sample[figure]));
  const first = middle(CASES[0]?.name ?? '', 'microseconds');
  const rows = CASES.map(({ name }) => [
    name,
    String(Math.round(middle(name, 'microseconds'))),
    `${Math.round((middle(name, 'microseconds') / first) * 100)} %`,
    Math.round(middle(name, 'pairsPerSecond')).toLocaleString('en'),
    middle(name, 'p50').toFixed(1),
  ]);
  const text = [
    `# End users and tags`,
    describeMachine(),
    `${users.toLocaleString('en')} users and ${tags.toLocaleString('en')} tags on one account, ${CLIENTS} clients, ${flags.rounds} rounds of ${flags.seconds} s.`,
    markdown(['a reserve and its settlement with', 'CPU µs', 'of the first', 'a second', 'reserve p50 ms'], rows),
    `A user with something spent takes ${Math.round(size.bytes)} bytes with its index entry (${size.rows.toLocaleString('en')} rows).`,
  ].join('\n\n');
  await writeResult(text, flags.out);
}
