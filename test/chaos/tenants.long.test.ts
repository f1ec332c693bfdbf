import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parse, stringify } from 'yaml';
import { accountList } from '#contracts/billing/accounts.js';
import { keyList } from '#contracts/billing/keys.js';
import { webhookList } from '#contracts/billing/webhooks.js';
import type { Messaging } from '#messaging/messaging.js';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator } from '#testing/tenant.js';
import { readSecrets } from '../../apps/cli/src/tenants/secrets-file.js';
import { Random } from '../simulation/random.js';

/** Applies of tenants files that end by SIGKILL of the command line, of billing or of the panel at random moments, and are run again. */

const ROUNDS = 9;
const ACCOUNTS = 8;
const KILLS = 2;
const VICTIMS = ['the command line', 'billing', 'panel'] as const;
const SEED = 39;
const AGAIN_MS = 60_000;
const SLOW_MS = 120_000;

let stack: RunningStack;
let administrator: Messaging;
let folder: string;
const random = new Random(SEED);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tollgate-tenants-'));
  stack = await startPrivateStack({
    layout: 'split',
    services: ['billing', 'catalog', 'upstream-sim', 'inference-proxy', 'gateway', 'panel'],
  });
  administrator = await connectAdministrator(stack);
}, SLOW_MS);
afterAll(async () => {
  await administrator?.close();
  await stack?.stop();
  if (folder) await rm(folder, { recursive: true });
}, SLOW_MS);

interface Ended {
  /** Null: it was killed. */
  code: number | null;
  out: string;
  err: string;
}

interface Run {
  ended: Promise<Ended>;
  kill(): void;
}

/** Starts the command as a user does, in a process of its own. */
function start(...args: string[]): Run {
  const env = { ...process.env, NATS_URL: stack.natsUrl, NATS_CLI_PASSWORD: stack.natsPasswords.cli, NODE_OPTIONS: '' };
  const child = spawn(process.execPath, ['dist/apps/cli/bundle/tollgate.cjs', ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const text = { out: '', err: '' };
  child.stdout.on('data', (part: Buffer) => {
    text.out += part;
  });
  child.stderr.on('data', (part: Buffer) => {
    text.err += part;
  });
  const ended = new Promise<Ended>((resolve) => child.once('close', (code) => resolve({ code, ...text })));
  return { ended, kill: () => void child.kill('SIGKILL') };
}

/** One file with its secrets and links, and what it says. */
class Tenants {
  readonly names: string[];
  readonly file: string;
  readonly secrets: string;
  readonly invites: string;

  constructor(readonly round: string) {
    this.names = Array.from({ length: ACCOUNTS }, (_, at) => `${round}-${at}`);
    [this.file, this.secrets, this.invites] = [`${round}.yaml`, `${round}-keys.yaml`, `${round}-links.yaml`].map((one) =>
      join(folder, one),
    ) as [string, string, string];
  }

  get keys(): string[] {
    return this.names.flatMap((name) => ['web', 'batch'].flatMap((project) => ['ci', 'app'].map((key) => `${name} ${project} ${key}`)));
  }

  async write(): Promise<void> {
    const accounts = this.names.map((name) => ({
      name,
      creditLineUsd: '10.00',
      budgets: [{ period: 'month', limitUsd: '500.00' }],
      projects: ['web', 'batch'].map((project) => ({
        name: project,
        requestsPerMinuteMax: 600,
        budgets: [{ period: 'day', limitUsd: '5.00' }],
        keys: [
          { name: 'ci', models: ['sim-*'] },
          { name: 'app', budgets: [{ period: 'total', limitUsd: '1.00' }] },
        ],
      })),
      webhooks: [{ url: `https://${name}.example.com/tollgate` }],
      members: [
        { email: `ada@${name}.example.com`, role: 'owner' },
        { email: `kim@${name}.example.com`, role: 'project-developer', project: 'web' },
      ],
    }));
    await writeFile(this.file, stringify({ accounts }));
  }

  apply(): Run {
    return start('apply', '-f', this.file, '--secrets', this.secrets, '--invites', this.invites);
  }

  /** Applies until it succeeds: a process that was killed may not be back. */
  async untilApplied(): Promise<void> {
    for (const deadline = Date.now() + AGAIN_MS; ; await delay(100)) {
      const ended = await this.apply().ended;
      if (ended.code === 0) return;
      if (Date.now() > deadline) throw new Error(`apply ended with ${ended.code}: ${ended.err}`);
    }
  }

  /** Reads the tenants, without the names of the round. */
  async read(): Promise<object> {
    const renamed = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value).replaceAll(this.round, 'round')) as Value;
    const isOwn = (name: string): boolean => this.names.includes(name);
    const exported = await json<{ accounts: { name: string }[]; managed: { account: string }[]; leftOut: string[] }>('export');
    const plan = await json<{ accounts: { name: string; changes: object[] }[] }>('apply', '-f', this.file, '--plan', '--prune');
    const ids = (await listAccounts()).filter(({ name }) => isOwn(name));
    return renamed({
      exported: exported.accounts.filter(({ name }) => isOwn(name)),
      managed: exported.managed.filter(({ account }) => isOwn(account)),
      leftOut: exported.leftOut,
      differing: plan.accounts.filter(({ changes }) => changes.length > 0),
      // All that ever were, revoked ones included.
      made: await Promise.all(
        ids.map(async ({ name, accountId }) => {
          const { keys } = await administrator.request(keyList, { accountId });
          const { webhooks } = await administrator.request(webhookList, { accountId });
          return { name, keys: keys.map(({ name: key, status }) => `${key} ${status}`).sort(), webhooks: webhooks.map(({ url }) => url) };
        }),
      ),
    });
  }
}

async function json<Reply>(...args: string[]): Promise<Reply> {
  const { out, err } = await start(...args, '--json').ended;
  if (err !== '') throw new Error(err);
  return JSON.parse(out) as Reply;
}

async function listAccounts(): Promise<{ name: string; accountId: string }[]> {
  const found: { name: string; accountId: string }[] = [];
  let cursor: string | undefined;
  do {
    const reply = await administrator.request(accountList, { cursor });
    found.push(...reply.accounts.map(({ name, accountId }) => ({ name, accountId })));
    cursor = reply.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return found;
}

async function callWith(key: string): Promise<number> {
  return (await fetch(`${stack.gatewayUrl}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status;
}

/** Kills at random moments of an apply. Resolves to how many hit a run that had not ended. */
async function killWithin(tenants: Tenants, victim: (typeof VICTIMS)[number], startMs: number, wholeMs: number): Promise<number> {
  let hits = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    const run = tenants.apply();
    await Promise.race([run.ended, delay(random.between(startMs, wholeMs))]);
    if (victim === 'the command line') {
      run.kill();
      // The next run begins at once: what billing was asked last may still be on its way.
      hits += (await run.ended).code === null ? 1 : 0;
    } else {
      await stack.kill(victim);
      hits += (await run.ended).code === 0 ? 0 : 1;
      await stack.ready(victim);
    }
  }
  return hits;
}

test('an apply that is killed at random moments and run again ends as one that is not, with a secret that works for each key', async () => {
  const calm = new Tenants('calm');
  await calm.write();
  const begun = performance.now();
  await start('apply', '-f', calm.file, '--plan').ended;
  const startMs = performance.now() - begun;
  expect((await calm.apply().ended).err).toBe('');
  const wholeMs = performance.now() - begun - startMs;
  const wanted = await calm.read();
  expect(wanted).toMatchObject({ differing: [] });

  const hits: Record<string, number> = {};
  for (let round = 0; round < ROUNDS; round++) {
    const victim = VICTIMS[round % VICTIMS.length] as (typeof VICTIMS)[number];
    const tenants = new Tenants(`round-${round}`);
    await tenants.write();
    hits[victim] = (hits[victim] ?? 0) + (await killWithin(tenants, victim, startMs / 2, wholeMs));
    await tenants.untilApplied();
    expect({ victim, ...(await tenants.read()) }).toEqual({ victim, ...wanted });
    const made = await readSecrets(tenants.secrets);
    expect(made.map(({ account, project, name }) => `${account} ${project} ${name}`)).toEqual(tenants.keys);
    expect(await Promise.all(made.map(({ key }) => callWith(key)))).toEqual(made.map(() => 200));
    // A link may be lost with the run; nobody is invited twice.
    const links = parse(await readFile(tenants.invites, 'utf8').catch(() => '[]')) as { email: string; link: string }[];
    expect(new Set(links.map(({ email }) => email)).size).toBe(links.length);
  }
  process.stderr.write(`   killed runs of ${ROUNDS} rounds: ${JSON.stringify(hits)}; an apply takes ${Math.round(wholeMs)} ms\n`);
  for (const victim of VICTIMS) expect(hits[victim]).toBeGreaterThan(0);
}, 600_000);
