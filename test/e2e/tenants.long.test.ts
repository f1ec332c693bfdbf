import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
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

async function timed(...args: string[]): Promise<{ code: number; out: string; ms: number }> {
  let out = '';
  const write = (text: string): void => {
    out += text;
  };
  const begun = performance.now();
  const code = await runCli(args, { writeOut: write, writeErr: write }, () => connectAdministrator(stack));
  return { code, out: out.trimEnd().split('\n').at(-1) ?? '', ms: Math.round(performance.now() - begun) };
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
  process.stderr.write(`plan ${first.ms} ms, apply ${made.ms} ms, second apply ${second.ms} ms, export ${exported.ms} ms\n`);
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
