import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { freePort } from '#testing/nats-server.js';
import { stack } from '#testing/stack.js';

/** A data folder of its own, so that it can run beside `npm start`. The runner removes folders with this name. */
const dataDir = resolve('.local', `test-${randomUUID()}`);
const children: ChildProcess[] = [];
let port: number;
let panelPort: number;

beforeAll(async () => {
  [port, panelPort] = await Promise.all([freePort(), freePort()]);
});
afterAll(async () => {
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
  rmSync(dataDir, { recursive: true, force: true });
});

interface Launch {
  child: ChildProcess;
  output(): string;
}

function launch(args: string[] = [], settings: Record<string, string> = {}): Launch {
  const cleared = { NODE_OPTIONS: '', DATABASE_URL: '', NATS_URL: '' };
  const env = { ...process.env, ...cleared, TOLLGATE_DATA: dataDir, PORT: String(port), PANEL_PORT: String(panelPort), ...settings };
  const child = spawn(process.execPath, ['scripts/start.ts', ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (bytes: Buffer) => (output += bytes.toString()));
  return { child, output: () => output };
}

/** Resolves when the launcher has printed that Tollgate is ready. */
async function ready({ child, output }: Launch): Promise<void> {
  while (!output().includes('console.log(')) {
    if (child.exitCode !== null) throw new Error(`npm start ended with ${child.exitCode}: ${output()}`);
    await Promise.race([once(child.stdout as NodeJS.ReadableStream, 'data'), once(child, 'exit')]);
  }
}

async function ended({ child, output }: Launch): Promise<{ code: number | null; lines: string[] }> {
  if (child.exitCode === null) await once(child, 'close');
  return { code: child.exitCode, lines: output().trim().split('\n') };
}

/** Environment variables of each started process, by program. */
function startedVariables(): Record<string, string[]> {
  const { children: started } = JSON.parse(readFileSync(join(dataDir, 'pids.json'), 'utf8')) as {
    children: Record<string, { pid: number }>;
  };
  return Object.fromEntries(
    Object.entries(started).map(([name, { pid }]) => {
      const variables = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean);
      return [name, variables.map((variable) => variable.slice(0, variable.indexOf('=')))];
    }),
  );
}

function startedPids(): number[] {
  const { children: started } = JSON.parse(readFileSync(join(dataDir, 'pids.json'), 'utf8')) as {
    children: Record<string, { pid: number }>;
  };
  return Object.values(started).map(({ pid }) => pid);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function natsPasswords(passwords: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(passwords).map(([user, password]) => [`NATS_${user.toUpperCase().replaceAll('-', '_')}_PASSWORD`, password]),
  );
}

/** Variables of `npm start`, each for one service. */
const OUR_VARIABLES = {
  UPSTREAM_KEY_HOSTED: 'sk-hosted',
  GITHUB_TOKEN: 'ghp-ours',
  LEASE_MS: '45000',
  UPSTREAM_OTHER_URL: 'http://127.0.0.1:1/v1',
  PEEK_MS: '20000',
};
const SECRETS = ['DATABASE_URL', 'KEY_PEPPER', 'NATS_PASSWORD', 'RECEIPT_SIGNING_KEY'];

let first: Launch;
test('starts everything and prints how to use it', async () => {
  first = launch(['--split'], OUR_VARIABLES);
  await ready(first);
  const demo = JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8')) as Record<string, string>;
  expect(demo).toEqual({
    gatewayUrl: `http://127.0.0.1:${port}`,
    apiKey: expect.stringMatching(/^tg_/),
    accountId: expect.any(String),
    projectId: expect.any(String),
    databaseUrl: expect.stringMatching(/^postgres:\/\/.*@127\.0\.0\.1:/),
    natsUrl: expect.stringMatching(/^nats:\/\/127\.0\.0\.1:/),
    panelUrl: `http://127.0.0.1:${panelPort}`,
    panelLink: expect.stringMatching(new RegExp(`^http://127\\.0\\.0\\.1:${panelPort}/panel/welcome#[\\w-]{43}$`)),
  });
  expect(first.output()).toContain(`base URL   ${demo.gatewayUrl}/v1`);
  expect(first.output()).toContain(`demo key   ${demo.apiKey}`);
  expect(first.output()).toContain(`panel      ${demo.panelUrl}/panel/`);
  expect(first.output()).toContain(`sign in    ${demo.panelLink}`);
  expect(first.output()).toMatch(/^ {2}simulator {2}http:\/\/127\.0\.0\.1:\d+\/v1, /m);
  for (const file of ['demo.json', 'secrets.json', 'pids.json']) expect(statSync(join(dataDir, file)).mode & 0o777).toBe(0o600);
});

const onLinux = process.platform === 'linux' ? test : test.skip; // other systems do not show the environment of a process
/** The variables of each started process that are ours or secret. */
function seenVariables(): Record<string, string[]> {
  const watched = [...Object.keys(OUR_VARIABLES), ...SECRETS];
  const isWatched = (variable: string): boolean => watched.some((one) => variable === one || variable.endsWith(`_${one}`));
  return Object.fromEntries(Object.entries(startedVariables()).map(([name, variables]) => [name, variables.filter(isWatched).sort()]));
}

onLinux('--split: each process has the variables it reads: secrets of upstreams are the inference-proxy’s alone', () => {
  expect(seenVariables()).toEqual({
    postgres: [],
    nats: [],
    billing: ['DATABASE_URL', 'KEY_PEPPER', 'LEASE_MS', 'NATS_PASSWORD', 'RECEIPT_SIGNING_KEY'],
    catalog: ['DATABASE_URL', 'NATS_PASSWORD', 'UPSTREAM_OTHER_URL'],
    'upstream-sim': [],
    'inference-proxy': ['NATS_PASSWORD', 'UPSTREAM_KEY_HOSTED'],
    gateway: ['NATS_PASSWORD', 'PEEK_MS'],
    panel: ['DATABASE_URL', 'NATS_PASSWORD'],
  });
});

test('services reach the database by its Unix socket', async () => {
  const { databaseUrl } = JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8')) as { databaseUrl: string };
  const sql = new pg.Client({ connectionString: databaseUrl });
  await sql.connect();
  const { rows } = await sql.query(
    `SELECT usename AS user, bool_and(client_addr IS NULL) AS "bySocket" FROM pg_stat_activity
     WHERE usename LIKE 'tollgate\\_%' GROUP BY usename ORDER BY usename`,
  );
  await sql.end();
  expect(rows).toEqual(['tollgate_billing', 'tollgate_catalog', 'tollgate_panel'].map((user) => ({ user, bySocket: true })));
});

test('the printed curl line works', () => {
  const line =
    first
      .output()
      .split('\n')
      .find((text) => text.trim().startsWith('curl ')) ?? '';
  const { stdout } = spawnSync('bash', ['-c', `${line} --silent --show-error`], { encoding: 'utf8' });
  expect(JSON.parse(stdout)).toMatchObject({ object: 'chat.completion', choices: [{ message: { content: expect.stringMatching(/\w/) } }] });
});

test('the printed SDK lines work', () => {
  const lines = first
    .output()
    .split('\n')
    .filter((text) => /^ {2}(import|const|console\.log)/.test(text));
  expect(lines).toHaveLength(4);
  const file = join(dataDir, 'hello.mjs');
  writeFileSync(file, lines.join('\n'));
  const env = { ...process.env, NODE_OPTIONS: '' };
  const { status, stdout, stderr } = spawnSync(process.execPath, [file], { encoding: 'utf8', env });
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: expect.stringMatching(/\w/), stderr: '' });
});

test('a second start is refused in one line and changes nothing', async () => {
  const before = startedPids();
  const { code, lines } = await ended(launch());
  expect({ code, lines }).toEqual({ code: 1, lines: [expect.stringMatching(/^Tollgate is already running here \(process \d+\)/)] });
  expect(startedPids()).toEqual(before);
});

const withPrometheus = process.env.TEST_PROMETHEUS ? test : test.skip; // left out on machines that have no Prometheus and cannot fetch one
const OBSERVED = process.env.TEST_PROMETHEUS ? ['--observe'] : [];

let second: Launch;
test('the next start keeps the data after the launcher was killed, and stops what it left: now the services share a process', async () => {
  const { apiKey } = JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8')) as { apiKey: string };
  const orphans = startedPids();
  expect(orphans).toHaveLength(8);
  first.child.kill('SIGKILL');
  await once(first.child, 'exit');

  second = launch(OBSERVED, { ...OUR_VARIABLES, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' });
  await ready(second);
  expect(orphans.filter(isAlive)).toEqual([]);
  expect(second.output()).toContain(`demo key   ${apiKey}`);
});

onLinux('the process of all services has their variables, those of one service by its name, and nothing else of the shell', () => {
  const own = { billing: SECRETS, catalog: ['DATABASE_URL', 'NATS_PASSWORD'], panel: ['DATABASE_URL', 'NATS_PASSWORD'] };
  const prefixed = Object.entries(own).flatMap(([name, variables]) => variables.map((variable) => `${name.toUpperCase()}_${variable}`));
  const connected = ['GATEWAY_NATS_PASSWORD', 'INFERENCE_PROXY_NATS_PASSWORD'];
  const { GITHUB_TOKEN: _, ...ours } = OUR_VARIABLES;
  expect(seenVariables()).toEqual({
    postgres: [],
    nats: [],
    'upstream-sim': [],
    tollgate: [...prefixed, ...connected, ...Object.keys(ours)].sort(),
    ...(OBSERVED.length > 0 && { prometheus: [] }),
  });
});

withPrometheus('--observe: the printed Prometheus has every service, every rule, and the exemplar of a traced request', async () => {
  const url = /prometheus (http:\/\/127\.0\.0\.1:\d+)/.exec(second.output())?.[1];
  const read = async (path: string): Promise<unknown> => ((await (await fetch(url + path)).json()) as { data: unknown }).data;
  const { apiKey } = JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8')) as { apiKey: string };
  const reply = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim-fast', messages: [{ role: 'user', content: 'Hello' }] }),
  });
  const traceId = reply.headers.get('x-request-id')?.replace('req_', '');
  const now = Date.now() / 1000;
  const exemplars = `/api/v1/query_exemplars?query=tollgate_gateway_request_seconds_bucket&start=${now - 60}&end=${now + 600}`;
  while (!JSON.stringify(await read(exemplars)).includes(`"trace_id":"${traceId}"`)) await delay(200);
  const { activeTargets } = (await read('/api/v1/targets')) as { activeTargets: { labels: { job: string }; health: string }[] };
  const { result } = (await read('/api/v1/query?query=tollgate_nats_connected')) as { result: { metric: { job: string } }[] };
  const { groups } = (await read('/api/v1/rules')) as { groups: { name: string }[] };
  expect({
    targets: activeTargets.map(({ labels }) => labels.job),
    jobs: result.map(({ metric }) => metric.job).sort(),
    groups: groups.map(({ name }) => name).sort(),
  }).toEqual({
    targets: ['tollgate'],
    jobs: ['billing', 'catalog', 'gateway', 'inference-proxy', 'panel'],
    groups: [...readFileSync('deploy/observability/rules.yaml', 'utf8').matchAll(/^ {2}- name: (.*)$/gm)].map(([, name]) => name).sort(),
  });
});

test('asked to stop, it stops all it started', async () => {
  const pids = startedPids();
  expect(pids).toHaveLength(4 + OBSERVED.length);
  second.child.kill('SIGINT');
  expect(await ended(second)).toMatchObject({ code: 0 });
  expect(pids.filter(isAlive)).toEqual([]);
  expect(existsSync(join(dataDir, 'pids.json'))).toBe(false);
});

let third: Launch;
test('--reset deletes earlier data', async () => {
  const { accountId } = JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8')) as { accountId: string };
  third = launch(['--reset', '--demo-traffic']);
  await ready(third);
  const demo = JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8')) as { accountId: string };
  expect(demo.accountId).not.toBe(accountId);
});

test('--demo-traffic: asked to stop in the middle, it stops everything', async () => {
  while (!/demo traffic +\d+ of \d+ requests/.test(third.output())) await once(third.child.stdout as NodeJS.ReadableStream, 'data');
  const pids = startedPids();
  third.child.kill('SIGINT');
  const { code, lines } = await ended(third);
  expect({ code, last: lines.at(-1), left: pids.filter(isAlive) }).toEqual({ code: 0, last: 'stopped', left: [] });
});

test('a port in use gives one line', async () => {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  const { code, lines } = await ended(launch());
  server.close();
  expect({ code, lines }).toEqual({ code: 1, lines: [expect.stringMatching(new RegExp(`^port ${port} is in use by another program; `))] });
});

test.each([
  ['PORT that is no port', { PORT: '80a' }, /^PORT must be a number/],
  ['a database that is not there', { DATABASE_URL: 'postgres://x@127.0.0.1:1/x' }, /^DATABASE_URL: no server answers at 127\.0\.0\.1:1$/],
  ['a database of another kind', { DATABASE_URL: 'mysql://x@127.0.0.1/x' }, /^DATABASE_URL must be a URL such as postgres:/],
  ['a NATS server without passwords', { NATS_URL: 'nats://127.0.0.1:1' }, /^NATS_URL also needs the passwords/],
  [
    'a NATS server with another password',
    { NATS_URL: stack().natsUrl, ...natsPasswords({ ...stack().natsPasswords, billing: 'another' }) },
    /^NATS_URL: the server refuses billing: wrong NATS_BILLING_PASSWORD$/,
  ],
])('%s gives one line', async (_name, settings, line) => {
  const { code, lines } = await ended(launch([], settings));
  expect({ code, last: lines.at(-1) }).toEqual({ code: 1, last: expect.stringMatching(line) });
});
