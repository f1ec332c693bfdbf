import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator } from '#testing/tenant.js';
import { runCli } from '../../apps/cli/src/run-cli.js';
import { readSecrets } from '../../apps/cli/src/tenants/secrets-file.js';

/** A thousand accounts with twenty thousand keys in one file. */
const ACCOUNTS = 1_000;
const KEYS = 20;
const PLAN_MS_MAX = 10_000;

let stack: RunningStack;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tollgate-tenants-'));
  stack = await startPrivateStack({ layout: 'all', services: ['billing'] });
});
afterAll(async () => {
  await stack?.stop();
  if (folder) await rm(folder, { recursive: true });
});

/** Processor time of the command, which runs in this process, and of billing. The test shares the machine with others. */
function cpuMs(): { command: number; billing: number } {
  const { user, system } = process.cpuUsage();
  const ticks = readFileSync(`/proc/${stack.pid('tollgate')}/stat`, 'utf8')
    .split(' ')
    .slice(13, 15)
    .map(Number);
  return { command: (user + system) / 1_000, billing: ticks.reduce((sum, one) => sum + one, 0) * 10 };
}

async function timed(...args: string[]): Promise<{ code: number; out: string; ms: number; cpu: string }> {
  let out = '';
  const write = (text: string): void => {
    out += text;
  };
  const before = cpuMs();
  const begun = performance.now();
  const code = await runCli(args, { writeOut: write, writeErr: write }, () => connectAdministrator(stack));
  const ms = Math.round(performance.now() - begun);
  const after = cpuMs();
  const cpu = `${Math.round(after.command - before.command)} + ${Math.round(after.billing - before.billing)} ms`;
  return { code, out: out.trimEnd().split('\n').at(-1) ?? '', ms, cpu };
}

test('a thousand accounts with twenty thousand keys are planned within ten seconds, and equal after one apply', async () => {
  const accounts = Array.from({ length: ACCOUNTS }, (_, at) => ({
    name: `account ${at}`,
    lowBalanceUsd: '5.00',
    budgets: [{ period: 'month', limitUsd: '500.00', timeZone: 'Europe/Berlin' }],
    projects: ['web', 'batch'].map((name) => ({
      name,
      requestsPerMinuteMax: 600,
      budgets: [{ period: 'day', limitUsd: '5.00' }],
      keys: Array.from({ length: KEYS / 2 }, (_, key) => ({ name: `key ${key}`, models: ['gpt-*'], tokensPerMinuteMax: 20_000 })),
    })),
  }));
  const file = join(folder, 'tenants.yaml');
  const secrets = join(folder, 'keys.yaml');
  await writeFile(file, stringify({ accounts }, { aliasDuplicateObjects: false }));

  const first = await timed('apply', '-f', file, '--plan');
  const made = await timed('apply', '-f', file, '--secrets', secrets);
  const second = await timed('apply', '-f', file, '--secrets', secrets);
  const exported = await timed('export');
  const named = { plan: first, apply: made, 'second apply': second, export: exported };
  const lines = Object.entries(named).map(([name, { ms, cpu }]) => `${name} ${ms} ms (processor time of the command and billing: ${cpu})`);
  process.stderr.write(`${lines.join('\n')}\nload ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} processors\n`);
  const total = ACCOUNTS * (1 + 1 + 2 + 2 + KEYS);
  expect([first.out, made.out, second.out]).toEqual([
    `1000 accounts: ${total} to make, 0 to change, 0 to remove`,
    `1000 accounts: ${total} made, 0 changed, 0 removed`,
    'nothing to change in 1000 accounts',
  ]);
  expect(first.ms).toBeLessThan(PLAN_MS_MAX);
  expect(second.ms).toBeLessThan(PLAN_MS_MAX);
  expect((await readSecrets(secrets)).length).toBe(ACCOUNTS * KEYS);
  expect((await readFile(secrets, 'utf8')).match(/tg_live_/g)).toHaveLength(ACCOUNTS * KEYS);
}, 1_800_000);
