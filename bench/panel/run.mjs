/**
 * Benchmark of the panel on a large journal: the times of its pages' calls, and the memory of a large file. See ../README.md, "The panel".
 *
 *   node bench/panel/run.mjs [--settlements N] [--traffic N] [--csv N] [--rounds N] [--out NAME]
 */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ensureBuilt } from '../../scripts/local/build.ts';
import { removeStack, startStack } from '../../scripts/local/stack.ts';
import { makeAccounts } from '../billing/accounts.mjs';
import { seedSettlements } from '../growth/seed-settlements.ts';
import { describeMachine, markdown, median, writeResult } from '../report.mjs';
import { seedTraffic, untilAddedUp } from './seed-traffic.mjs';

const { values: flags } = parseArgs({
  options: {
    settlements: { type: 'string', default: '10000000' },
    traffic: { type: 'string', default: '3800000' },
    csv: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '9' },
    out: { type: 'string', default: 'panel' },
  },
});
const settlements = Number(flags.settlements);
const DAYS = 30;
const DAY_MS = 86_400_000;
/** The first account has every second settlement, the others share the rest. */
const ACCOUNTS = 20;
const MODELS = ['sim-fast', 'sim-large', 'sim-reasoning', 'sim-vision', 'sim-small'];
const DATA_DIR = fileURLToPath(new URL('../../.local/bench-panel', import.meta.url));
const PASSWORD = 'a quiet orange river';

removeStack(DATA_DIR);
await ensureBuilt({ step: (/** @type {string} */ _name, /** @type {() => Promise<unknown>} */ work) => work() });
const stack = await startStack({ dataDir: DATA_DIR, quiet: true, env: { NODE_ENV: 'production', LOG_LEVEL: 'info' } });
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => void stop().then(() => process.exit(130)));
try {
  await main();
} finally {
  await stop();
}

async function stop() {
  await stack.stop();
  removeStack(DATA_DIR);
}

async function main() {
  const accounts = await makeAccounts({ natsUrl: stack.natsUrl, password: stack.natsPasswords.cli, count: ACCOUNTS });
  await settleOne();
  const to = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const from = to - DAYS * DAY_MS;
  console.error(`fills the journal with ${settlements.toLocaleString('en')} settlements`);
  await seedSettlements(stack.databaseUrl, settlements, {
    millisecond: `(${from}::bigint + number * ${(DAYS * DAY_MS) / settlements})::bigint`,
    columns: {
      ...Object.fromEntries(['account', 'project', 'key'].map((kind) => [`${kind}_id`, pick(accounts.map((one) => one[`${kind}Id`]))])),
      model: `(ARRAY[${MODELS.map((name) => `'${name}'`).join(',')}])[1 + number % ${MODELS.length}]`,
    },
  });
  console.error(`fills the traffic with about ${Number(flags.traffic).toLocaleString('en')} rows`);
  const traffic = await seedTraffic(stack.databaseUrl, Number(flags.traffic), { accounts, models: MODELS, from, days: DAYS });
  await untilAddedUp(stack.databaseUrl, to);
  const cookie = await signIn();
  const ask = (/** @type {string} */ path) => fetch(`${stack.panelUrl}/panel/v1${path}`, { headers: { cookie } });
  await untilCounted(ask, accounts[0].accountId, new Date(from), new Date(to));
  const period = `from=${new Date(from).toISOString()}&to=${new Date(to).toISOString()}`;
  const busy = accounts[0].accountId;
  const calls = {
    'usage of 30 days by day and model': `/accounts/${busy}/usage?${period}&step=day&groupBy=model`,
    'usage of 30 days by day and model, all accounts': `/accounts/all/usage?${period}&step=day&groupBy=model`,
    'overview of an account': `/accounts/${busy}/overview?${period}`,
    'overview of the platform': `/accounts/all/overview?${period}`,
    'traffic of 30 days by model, all accounts': `/accounts/all/traffic?${period}&groupBy=model`,
    'traffic of 30 days by day, all accounts': `/accounts/all/traffic?${period}&step=day`,
    'traffic of 30 days by day, an account': `/accounts/${busy}/traffic?${period}&step=day`,
    'first page of requests, an account': `/accounts/${busy}/requests?to=${new Date(to).toISOString()}&limit=50`,
    'first page of requests, all accounts': `/accounts/all/requests?to=${new Date(to).toISOString()}&limit=50`,
    'a filter that nothing matches, one step': `/accounts/${busy}/requests?to=${new Date(to).toISOString()}&limit=50&model=none`,
    'the most expensive requests of a day, an account': `/accounts/${busy}/requests?from=${new Date(to - DAY_MS).toISOString()}&to=${new Date(to).toISOString()}&limit=50&sort=cost`,
    'a filter that one in five matches': `/accounts/${busy}/requests?to=${new Date(to).toISOString()}&limit=50&model=sim-large`,
    'movements of money': `/accounts/${busy}/movements?limit=50`,
    'the statement of the month': `/accounts/${busy}/statements/${new Date(to - DAY_MS).toISOString().slice(0, 7)}`,
    'first page of the journal of changes': '/audit?limit=50',
  };
  const rows = [];
  for (const [name, path] of Object.entries(calls)) rows.push([name, ...(await times(() => ask(path)))]);
  const file = await downloadFile(ask, busy, to);
  await report(rows, file, traffic);
}

/** One of the values: the first for every second number. @param {string[]} values */
function pick(values) {
  const list = values
    .slice(1)
    .map((value) => `'${value}'`)
    .join(',');
  return `CASE WHEN number % 2 = 0 THEN '${values[0]}' ELSE (ARRAY[${list}])[1 + (number / 2) % ${values.length - 1}] END::uuid`;
}

/** A request through the gateway, whose settlement is the pattern of all others. */
async function settleOne() {
  const response = await fetch(`${stack.gatewayUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${stack.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim-fast', messages: [{ role: 'user', content: 'Hello' }] }),
  });
  if (!response.ok) throw new Error(await response.text());
  await response.text();
}

async function signIn() {
  const token = new URL(stack.panelLink ?? '').hash.slice(1);
  const response = await fetch(`${stack.panelUrl}/panel/v1/invites/accept`, {
    method: 'POST',
    headers: { origin: stack.panelUrl, 'content-type': 'application/json' },
    body: JSON.stringify({ token, email: 'bench@example.com', password: PASSWORD }),
  });
  if (!response.ok) throw new Error(await response.text());
  return response.headers.get('set-cookie')?.split(';')[0] ?? '';
}

/**
 * Resolves when the rollups have the whole journal: a query that is fast enough does not read it.
 *
 * @param {(path: string) => Promise<Response>} ask @param {string} account @param {Date} from @param {Date} to
 */
async function untilCounted(ask, account, from, to) {
  const path = `/accounts/${account}/usage?from=${from.toISOString()}&to=${to.toISOString()}&step=day`;
  for (;;) {
    const [milliseconds] = await times(() => ask(path), 1);
    if (Number(milliseconds) < 1_000) return;
    await new Promise((resolve) => setTimeout(resolve, 5_000));
  }
}

/** Median and range in milliseconds, to the last byte. @param {() => Promise<Response>} call */
async function times(call, rounds = Number(flags.rounds)) {
  const taken = [];
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    const response = await call();
    const text = await response.text();
    if (!response.ok) throw new Error(text);
    taken.push(performance.now() - start);
  }
  return [median(taken).toFixed(0), `${Math.min(...taken).toFixed(0)}–${Math.max(...taken).toFixed(0)}`];
}

/** Reads a file of `--csv` rows, and notes the panel's memory. @param {(path: string) => Promise<Response>} ask @param {string} account @param {number} to */
async function downloadFile(ask, account, to) {
  const wanted = Number(flags.csv);
  const spanMs = Math.ceil((wanted * 2 * DAYS * DAY_MS) / settlements);
  const pid = stack.pids().panel;
  const before = await residentBytes(pid);
  let peak = before;
  const timer = setInterval(async () => {
    peak = Math.max(peak, await residentBytes(pid));
  }, 200);
  const start = performance.now();
  const response = await ask(
    `/accounts/${account}/requests.csv?from=${new Date(to - spanMs).toISOString()}&to=${new Date(to).toISOString()}`,
  );
  let lines = 0;
  for await (const chunk of response.body ?? []) for (const byte of chunk) if (byte === 10) lines++;
  clearInterval(timer);
  return { rows: lines - 1, seconds: (performance.now() - start) / 1000, growth: (peak - before) / 2 ** 20 };
}

/** @param {number | undefined} pid */
async function residentBytes(pid) {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}

/** @param {string[][]} rows @param {{ rows: number, seconds: number, growth: number }} file @param {number} traffic */
async function report(rows, file, traffic) {
  const day = new Date().toISOString().slice(0, 10);
  const text = `# ${day}: the panel on ${settlements.toLocaleString('en')} settlements and ${traffic.toLocaleString('en')} rows of traffic

Machine: ${describeMachine()}. Journal, services and client share it.

Method: \`bench/README.md\`, "The panel". ${flags.rounds} calls each, one at a time.

${markdown(['call', 'median ms', 'range'], rows)}

A file of ${file.rows.toLocaleString('en')} requests took ${file.seconds.toFixed(0)} s; the panel's memory grew by ${file.growth.toFixed(0)} MiB.
`;
  await writeResult(text, flags.out);
}
