/**
 * `npm test`: starts the servers that tests need, runs all suites, and ends with `N passed, N failed`. Uses its own databases, servers and
 * ports, so it can run beside `npm start`. Imports no packages: those of a new lock file may not be installed yet.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureBuilt } from './local/build.ts';
import { findChromium } from './local/chromium.ts';
import { ensureDependencies } from './local/dependencies.mjs';
import { findNatsServer } from './local/nats.ts';
import { PidFile, sweep } from './local/pid-file.ts';
import { freePort } from './local/ports.ts';
import { localPostgres } from './local/postgres.ts';
import { LOCAL, ROOT, StartError } from './local/project.mjs';
import { findPrometheus } from './local/prometheus.ts';
import { endCommands } from './local/run-command.mjs';
import { loadSecrets } from './local/secrets.ts';
import { SERVICES } from './local/services.ts';
import { type RunningStack, removeStack, type StackOptions, startStack } from './local/stack.ts';
import { createStatus, type Status, seconds } from './local/status.mjs';
import { Supervisor } from './local/supervisor.ts';
import { QUICK_CHECKS, runChecks } from './testing/checks.ts';
import { runJest } from './testing/jest.ts';
import { countCases, longTests } from './testing/long-run.ts';
import { changedFiles, changedTests } from './testing/related-tests.ts';
import { type Result, Score } from './testing/score.ts';

const PREFIX = 'test-';
const SUITES = ['checks', 'unit', 'integration', 'e2e'];
const HELP = `npm test [-- <part> …] [--shard <n>/<of>] [<pattern>]
npm test -- changed
npm run test:long [-- <pattern>]

Runs ${SUITES.join(', ')}, or those named first. <pattern> selects test files by path, --shard a part of
them, such as 1/3. Ends with "N passed, N failed".
The part changed checks types and format, and runs the unit tests that reach a file changed since main and the
integration tests beside it.
The long run has the slow suites, and the property tests of the others with many more cases.
`;
/** `TEST_LAYOUT=all` runs the services of every system in one process; otherwise only those of some. */
const LAYOUT = process.env.TEST_LAYOUT === 'all' ? 'all' : 'split';
const E2E_SETTINGS = {
  // Leases short enough to expire within a test, and long enough for a busy machine.
  ...{ LEASE_MS: '20000', REAPER_INTERVAL_MS: '500', REAPER_GRACE_MS: '1000' },
  // Suites share models: an upstream that fails for one suite must not open its circuit for the others.
  ...{ ROUTE_COOLDOWN_MS: '1', RETRY_AFTER_MAX_MS: '0' },
  LOG_LEVEL: 'info',
};

const score = new Score();
const cleanUps: (() => Promise<void>)[] = [];
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    void endCommands()
      .then(cleanUp)
      .finally(() => process.exit(1));
  });
}
try {
  await main();
} catch (error) {
  const { message, stack } = error as Error;
  process.stderr.write(`${error instanceof StartError ? message : (stack ?? error)}\n`);
  const failures = [{ file: 'scripts/test.ts', title: '(the run)', error: message }];
  score.add('npm test', { passed: 0, failed: 1, failures });
} finally {
  await cleanUp();
}
process.exitCode = score.close();

/** Choice of test files: those that match `patterns`, or `files`. */
interface Run {
  patterns?: string[];
  files?: string[];
  shard?: string | undefined;
  score: Score;
}

type Environment = Record<string, string>;

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { help: { type: 'boolean', short: 'h' }, shard: { type: 'string' } },
  });
  if (values.help) {
    process.stdout.write(HELP);
    process.exit(0);
  }
  const firstPattern = positionals.findIndex((word) => ![...SUITES, 'changed', 'long'].includes(word));
  const named = firstPattern < 0 ? positionals : positionals.slice(0, firstPattern);
  const suites = named.length > 0 ? named : SUITES;
  const patterns = positionals.slice(named.length);

  const status = createStatus();
  mkdirSync(LOCAL, { recursive: true });
  await cleanUp();
  await ensureDependencies(status, { tests: true });
  await ensureBuilt(status);

  const run = { patterns, shard: values.shard, score };
  if (suites.includes('checks')) {
    await runChecks(run);
    await suite('architecture', () => ({}), run);
  }
  if (suites.includes('unit')) await suite('unit', () => ({}), run);
  if (suites.includes('integration')) await suite('integration', () => startServers(status), run);
  if (suites.includes('e2e')) await suite('e2e', () => startWhole(status), run);
  if (suites.includes('changed')) await runChanged(status, run);
  if (suites.includes('long')) await runLong(status, run);
}

async function runChanged(status: Status, { score }: Run): Promise<void> {
  const changed = await changedFiles();
  const { unit, integration } = await changedTests(changed);
  status.say('changed', `${changed.length} files, ${unit.length + integration.length} tests of them`);
  await runChecks({ score }, QUICK_CHECKS);
  if (unit.length > 0) await suite('unit', () => ({}), { files: unit, score });
  if (integration.length > 0) await suite('integration', () => startServers(status), { files: integration, score });
}

async function runLong(status: Status, { patterns = [], score }: Run): Promise<void> {
  const files = await longTests(patterns);
  if (files.length === 0) throw new StartError('no test of the long run matches this pattern');
  status.say('long', `${files.length} files`);
  const tally = join(LOCAL, `long-run-${randomUUID()}.jsonl`);
  cleanUps.push(async () => rmSync(tally, { force: true }));
  const needsWhole = files.some((file) => file.startsWith(join(ROOT, 'test')));
  const prepare = async (): Promise<Environment> => ({
    TEST_LONG: tally,
    ...(await (needsWhole ? startWhole(status) : startServers(status))),
  });
  await suite('long', prepare, { files, score, done: () => console.log(`── ${countCases(tally).toLocaleString('en')} cases tried`) });
}

/** Prepares, runs and cleans up a suite. A suite whose preparation fails has failed. */
async function suite(
  name: string,
  prepare: () => Environment | Promise<Environment>,
  { patterns, files, shard, score, done }: Run & { done?: () => void },
): Promise<void> {
  const started = performance.now();
  let result: Result;
  try {
    result = await runJest({ name, patterns, files, shard, environment: await prepare() });
    done?.();
  } catch (error) {
    const { message, stack } = error as Error;
    process.stderr.write(`${name}: ${error instanceof StartError ? message : stack}\n`);
    result = { passed: 0, failed: 1, failures: [{ file: name, title: '(preparation)', error: message }] };
  }
  score.add(name, result);
  console.log(`── ${name}: ${result.passed} passed, ${result.failed} failed (${seconds(performance.now() - started)})\n`);
  await cleanUp();
}

/** A Postgres server in which every test creates its own database, and a NATS binary that every test starts. */
async function startServers(status: Status): Promise<Environment> {
  const natsServer = process.env.TEST_NATS_SERVER || (await findNatsServer(status));
  return { TEST_POSTGRES_URL: process.env.TEST_POSTGRES_URL || (await startPostgres(status)), TEST_NATS_SERVER: natsServer };
}

async function startPostgres(status: Status): Promise<string> {
  const dataDir = join(LOCAL, PREFIX + randomUUID());
  mkdirSync(dataDir, { recursive: true });
  const pidFile = await PidFile.claim(dataDir);
  const supervisor = new Supervisor({ logDir: join(dataDir, 'logs'), pidFile, say: console.log });
  cleanUps.push(async () => {
    await supervisor.stopAll();
    pidFile.release();
    discard(dataDir);
  });
  const { postgresPassword: password } = loadSecrets(dataDir);
  const { url, version, program } = await localPostgres({
    dataDir,
    port: await freePort(),
    password,
    durable: false,
    step: createStatus({ quiet: true }).step,
  });
  await supervisor.start(program);
  status.say('tests', `on PostgreSQL ${version}`);
  return url;
}

/** The systems that end-to-end tests share (libs/testing/src/stack.ts). Their logs are kept when a test fails. */
async function startWhole(status: Status): Promise<Environment> {
  const { ensureBundled, PROGRAMS } = await import('./local/bundles.ts'); // its package may not have been installed before
  await ensureBundled(status, PROGRAMS);
  const recording = { 'upstream-sim': { SIM_RECORD: 'true' }, panel: { TRACE_URL: 'https://traces.example.com/trace/{traceId}' } };
  const [stack, catalogStack] = await Promise.all([
    startShared('common', { serviceEnv: recording }),
    startShared('catalog', { layout: 'all', demo: false, bundled: true, services: SERVICES.filter((name) => name !== 'panel') }),
  ]);
  status.say('e2e', `started a system at ${stack.gatewayUrl}`);
  const stacks = { TEST_STACK: JSON.stringify(stack), TEST_CATALOG_STACK: JSON.stringify(catalogStack) };
  return { ...stacks, ...(await toolVariables(status)), ...(await startServers(status)) };
}

async function startShared(name: string, options: Partial<StackOptions>): Promise<RunningStack> {
  const dataDir = join(LOCAL, PREFIX + randomUUID());
  const abort = new AbortController();
  const failuresBefore = score.failed;
  let stack: RunningStack | undefined;
  cleanUps.push(async () => {
    abort.abort();
    await stack?.stop();
    if (score.failed > failuresBefore) keepLogs(dataDir, name);
    discard(dataDir);
  });
  stack = await startStack({
    dataDir,
    layout: LAYOUT,
    durable: false,
    env: E2E_SETTINGS,
    quiet: true,
    signal: abort.signal,
    ...options,
  });
  return stack;
}

/** Without a tool its tests are skipped, which is a failure where `CI` is set. */
async function toolVariables(status: Status): Promise<Environment> {
  const chromium = await toolVariable('TEST_CHROMIUM', 'test/browser', () => findChromium(status), status);
  const prometheus = await toolVariable('TEST_PROMETHEUS', 'test/e2e/observability.test.ts', () => findPrometheus(status), status);
  return { ...chromium, ...prometheus };
}

async function toolVariable(name: string, tests: string, find: () => Promise<object>, status: Status): Promise<Environment> {
  try {
    return { [name]: JSON.stringify(await find()) };
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    status.say('tests', `${tests} is skipped: ${error.message}`);
    const failures = process.env.CI ? [{ file: tests, title: '(preparation)', error: error.message }] : [];
    score.add(tests, { passed: 0, failed: failures.length, failures });
    return {};
  }
}

function keepLogs(dataDir: string, name: string): void {
  if (!existsSync(join(dataDir, 'logs'))) return; // failed before it started anything
  const kept = join(LOCAL, 'e2e-logs', name);
  mkdirSync(dirname(kept), { recursive: true });
  rmSync(kept, { recursive: true, force: true });
  renameSync(join(dataDir, 'logs'), kept);
  console.log(`logs of the services: ${kept}`);
}

function discard(folder: string): void {
  removeStack(folder);
  rmSync(folder, { recursive: true, force: true });
}

/** Stops everything that this run started, and what killed tests or earlier runs left behind. */
async function cleanUp(): Promise<void> {
  for (const task of cleanUps.splice(0).reverse()) await task();
  for (const folder of await sweep(LOCAL, PREFIX)) discard(folder);
}
