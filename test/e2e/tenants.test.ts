import { randomUUID } from 'node:crypto';
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { parse } from 'yaml';
import { digestApiKey } from '#contracts/api-key.js';
import { type AccountPlan, accountApply, accountPlan } from '#contracts/billing/tenants.js';
import type { Endpoint } from '#contracts/endpoint.js';
import type { Messaging } from '#messaging/messaging.js';
import { longOr } from '#testing/long-run.js';
import { stack } from '#testing/stack.js';
import { connectAdministrator } from '#testing/tenant.js';
import { runCli } from '../../apps/cli/src/run-cli.js';
import { type KeySecret, readSecrets } from '../../apps/cli/src/tenants/secrets-file.js';

/** Tenants in a file, with the command line on a running system: the examples of docs/tenants.md, crashes, and files with faults. */

const { gatewayUrl } = stack();
const PAGE = await readFile('docs/tenants.md', 'utf8');
const YAML = [...PAGE.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text);
const [EXAMPLE = ''] = YAML;
const [PLAN = ''] = [...PAGE.matchAll(/^```\n(account [\s\S]*?)^```$/gm)].map(([, text = '']) => text);

let folder: string;
let file: string;
let secrets: string;
/** Name of the account, which the shared system must not have. */
let name: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tollgate-tenants-'));
  file = join(folder, 'tenants.yaml');
  secrets = join(folder, 'keys.yaml');
  name = `acme-${randomUUID()}`;
  await writeFile(file, fill(EXAMPLE));
});
afterEach(() => rm(folder, { recursive: true }));

/** With people of their own: those of one test must not be known in another. */
function fill(text: string): string {
  return text.replaceAll('acme', name).replaceAll('@example.com', `@${name}.example.com`);
}

interface Outcome {
  code: number;
  out: string;
  err: string;
}

async function tollgate(args: string[], wrap = (messaging: Messaging) => messaging): Promise<Outcome> {
  const outcome = { code: 0, out: '', err: '' };
  const output = {
    writeOut: (text: string) => {
      outcome.out += text;
    },
    writeErr: (text: string) => {
      outcome.err += text;
    },
  };
  outcome.code = await runCli(args, output, async () => wrap(await connectAdministrator(stack())));
  return outcome;
}
const apply = (...args: string[]) =>
  tollgate(['apply', '-f', file, '--secrets', secrets, '--invites', join(folder, 'links.yaml'), ...args]);
const exported = async (): Promise<{ accounts: object[] }> =>
  parse((await tollgate(['export', '--account', name])).out) as { accounts: object[] };
const plans = async (...args: string[]): Promise<AccountPlan[]> =>
  JSON.parse((await tollgate(['apply', '-f', file, '--plan', '--json', ...args])).out).accounts;

async function listModels({ key }: KeySecret): Promise<number> {
  return (await fetch(`${gatewayUrl}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status;
}

test('the example of the page has the plan of the page, and fits the schema', async () => {
  expect((await tollgate(['apply', '-f', file, '--plan'])).out.replaceAll(`@${name}.`, '@').replaceAll(name, 'acme')).toBe(PLAN);
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(
    JSON.parse(await readFile('docs/tenants.schema.json', 'utf8')),
  );
  expect([validate(parse(EXAMPLE)), validate.errors]).toEqual([true, null]);
  expect(validate({ accounts: [{ name: 'acme', colour: 'red' }] })).toBe(false);
});

test('applied, its keys work; a second apply changes nothing; its export is equal, also with prune', async () => {
  await writeFile(file, fill(EXAMPLE).replace(', networks: [10.0.0.0/8]', ''));
  expect(await apply()).toMatchObject({ code: 0, out: expect.stringMatching(/1 account: 12 made, 0 changed, 0 removed\n$/) });
  const made = await readSecrets(secrets);
  expect((await stat(secrets)).mode & 0o777).toBe(0o600);
  expect(made.map(({ account, project, name: key }) => [account, project, key])).toEqual([
    [name, 'web', 'ci'],
    [name, 'web', 'app'],
  ]);
  expect(await Promise.all(made.map(listModels))).toEqual([200, 200]);
  const links = parse(await readFile(join(folder, 'links.yaml'), 'utf8')) as { account: string; email: string; link: string }[];
  expect((await stat(join(folder, 'links.yaml'))).mode & 0o777).toBe(0o600);
  expect(links.map(({ account, email }) => [account, email])).toEqual([
    [name, `ada@${name}.example.com`],
    [name, `kim@${name}.example.com`],
  ]);
  expect(await apply()).toEqual({ code: 0, out: 'nothing to change in 1 account\n', err: '' });
  await writeFile(file, (await tollgate(['export', '--account', name])).out);
  expect(await apply('--prune')).toEqual({ code: 0, out: 'nothing to change in 1 account\n', err: '' });
  await writeFile(file, `accounts: [{ name: ${name}, projects: [{ name: web, keys: [{ name: app }] }] }]`);
  expect((await apply('--prune')).out).toContain('  - key ci of project web: revoked\n');
  expect(await Promise.all(made.map(listModels))).toEqual([401, 200]);
});

test('the command of the Job of the page writes a manifest of a Secret for each key', async () => {
  const job = parse(YAML.find((text) => text.includes('kind: Job')) ?? '') as {
    spec: { template: { spec: { initContainers: { command: string[] }[] } } };
  };
  const [program, ...args] = job.spec.template.spec.initContainers[0]?.command ?? [];
  const here = args.map((arg) => arg.replace('/tenants/tenants.yaml', file).replace('/secrets', folder));
  expect(program).toBe('tollgate');
  expect(await tollgate(here)).toMatchObject({ code: 0, err: '' });
  const manifests = (await readFile(secrets, 'utf8')).split('---\n').map((text) => parse(text) as { kind: string; stringData: object });
  expect(manifests.map(({ kind, stringData }) => [kind, Object.keys(stringData)])).toEqual([
    ['Secret', ['api-key']],
    ['Secret', ['api-key']],
  ]);
  expect((await tollgate(here)).out).toBe('nothing to change in 1 account\n');
});

/** A connection that breaks at a request: before it is sent, or when its answer is on the way. */
const breakAt =
  (at: number, when: 'before' | 'after') =>
  (messaging: Messaging): Messaging => {
    let count = 0;
    const request = async <Request extends object, Reply>(endpoint: Endpoint<Request, Reply>, payload: Request): Promise<Reply> => {
      const isLast = ++count === at;
      if (isLast && when === 'before') throw new Error('killed');
      const reply = await messaging.request(endpoint, payload, { timeoutMs: 30_000 });
      if (isLast) throw new Error('killed');
      return reply;
    };
    return { request, close: () => messaging.close() } as Partial<Messaging> as Messaging;
  };

test('ended at any request, before or after it is served, and run again, it ends the same, and each key has its secret', async () => {
  const names = [0, 1, 2].map((at) => `${name}-${at}`);
  const text = (names_: string[]) =>
    [
      'accounts:',
      ...names_.map(
        (one) =>
          `  - { name: ${one}, budgets: [{ period: day, limitUsd: "1" }], projects: [{ name: web, keys: [{ name: ci }, { name: app }] }] }`,
      ),
    ].join('\n');
  let finished = false;
  for (let at = 1; !finished; at++) {
    for (const when of ['before', 'after'] as const) {
      const run = names.map((one) => `${one}-${at}-${when}`);
      await writeFile(file, text(run));
      await rm(secrets, { force: true });
      const args = ['apply', '-f', file, '--secrets', secrets];
      finished = (await tollgate(args, breakAt(at, when))).code === 0;
      expect((await tollgate(args)).code).toBe(0);
      expect(await plans('--prune')).toEqual(
        run.map((one) => ({ accountId: expect.any(String), name: one, faults: [], changes: [], kept: [], notes: [] })),
      );
      const made = await readSecrets(secrets);
      expect(made.map(({ account, name: key }) => `${account} ${key}`)).toEqual(run.flatMap((one) => [`${one} ci`, `${one} app`]));
      expect(await Promise.all(made.map(listModels))).toEqual(made.map(() => 200));
      expect(new Set(made.map(({ key }) => digestApiKey(key))).size).toBe(6);
    }
  }
});

test('a key that a killed run makes after the next run has compared keeps the secret of the file', async () => {
  await writeFile(file, `accounts: [{ name: ${name}, projects: [{ name: web, keys: [{ name: ci }] }] }]`);
  const args = ['apply', '-f', file, '--secrets', secrets];
  const late = (messaging: Messaging): Messaging => {
    const request = async <Request extends object, Reply>(endpoint: Endpoint<Request, Reply>, payload: Request): Promise<Reply> => {
      const reply = await messaging.request(endpoint, payload, { timeoutMs: 30_000 });
      if (endpoint.subject === accountPlan.subject && (await readSecrets(secrets)).length === 0) {
        expect((await tollgate(args)).code).toBe(0);
      }
      return reply;
    };
    return { request, close: () => messaging.close() } as Partial<Messaging> as Messaging;
  };
  expect((await tollgate(args, late)).code).toBe(0);
  const made = await readSecrets(secrets);
  expect(made.map((one) => one.name)).toEqual(['ci']);
  expect(await Promise.all(made.map(listModels))).toEqual([200]);
});

test.each(['yaml', 'kubernetes'])(
  'of two applies at once, the later one keeps no secret of the key that the other made, as %s',
  async (format) => {
    const both = `accounts: [{ name: ${name}, projects: [{ name: web, keys: [{ name: ci }, { name: app }] }] }]`;
    await writeFile(file, both);
    const other = join(folder, 'other.yaml');
    const args = ['apply', '-f', file, '--secrets-format', format, '--secrets'];
    const late = (messaging: Messaging): Messaging => {
      const request = async <Request extends object, Reply>(endpoint: Endpoint<Request, Reply>, payload: Request): Promise<Reply> => {
        if (endpoint.subject === accountApply.subject) {
          await writeFile(file, `accounts: [{ name: ${name}, projects: [{ name: web, keys: [{ name: ci }] }] }]`);
          expect((await tollgate([...args, secrets])).code).toBe(0);
        }
        return messaging.request(endpoint, payload, { timeoutMs: 30_000 });
      };
      return { request, close: () => messaging.close() } as Partial<Messaging> as Messaging;
    };
    const outcome = await tollgate([...args, other], late);
    expect(outcome).toMatchObject({ code: 0, out: expect.stringContaining('! key ci of project web was made by another apply meanwhile') });
    const made = [...(await readSecrets(secrets)), ...(await readSecrets(other))];
    expect(made.map((one) => one.name)).toEqual(['ci', 'app']);
    expect(await Promise.all(made.map(listModels))).toEqual([200, 200]);
    await writeFile(file, both);
    expect((await tollgate([...args, secrets])).out).toBe('nothing to change in 1 account\n');
  },
);

test('an apply whose keys another one has all made leaves no file of secrets', async () => {
  await writeFile(file, `accounts: [{ name: ${name}, projects: [{ name: web, keys: [{ name: ci }] }] }]`);
  const other = join(folder, 'other.yaml');
  const late = (messaging: Messaging): Messaging => {
    const request = async <Request extends object, Reply>(endpoint: Endpoint<Request, Reply>, payload: Request): Promise<Reply> => {
      if (endpoint.subject === accountApply.subject) expect((await apply()).code).toBe(0);
      return messaging.request(endpoint, payload, { timeoutMs: 30_000 });
    };
    return { request, close: () => messaging.close() } as Partial<Messaging> as Messaging;
  };
  expect((await tollgate(['apply', '-f', file, '--secrets', other], late)).code).toBe(0);
  expect((await readSecrets(secrets)).map((one) => one.name)).toEqual(['ci']);
  await expect(stat(other)).rejects.toMatchObject({ code: 'ENOENT' });
});

test('a file for secrets that cannot be written makes no key', async () => {
  await chmod(folder, 0o500);
  const missing = join(folder, 'missing', 'keys.yaml');
  const { code, err } = await tollgate(['apply', '-f', file, '--secrets', missing, '--invites', join(folder, 'links.yaml')]);
  await chmod(folder, 0o700);
  expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(/^error: cannot write .*: (ENOENT|EACCES)\n$/) });
  expect((await plans())[0]).toMatchObject({ accountId: null });
});

test('a file with any damage is applied as it reads, or refused with line and column, and then nothing is changed', async () => {
  const plain = fill(EXAMPLE);
  await apply();
  const before = await exported();
  const words = ['', '  ', '- ', ': ', '[', '{', '"', '0', '-1', 'null', 'period: year', 'colour: red', '&a', '*a', '\t'];
  const damage = fc.tuple(fc.nat(plain.length), fc.nat(12), fc.constantFrom(...words));
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(damage, { minLength: 1, maxLength: 2 }), async (damages) => {
      const text = damages.reduce((whole, [at, length, word]) => whole.slice(0, at) + word + whole.slice(at + length), plain);
      await writeFile(file, text);
      const { code, out, err } = await tollgate(['apply', '-f', file, '--plan']);
      if (code === 0) return expect(out).not.toBe('');
      refused += 1;
      // Only a file without faults is applied: this one never changes anything.
      expect(await apply()).toEqual({ code: 2, out: '', err });
      const [head, ...lines] = err.trimEnd().split('\n');
      expect(head).toBe('error: the file has faults, and nothing was changed');
      const places = lines.map((line) => /^(.*):(\d+):(\d+): \S/.exec(line) ?? []);
      expect(lines.length).toBeGreaterThan(0);
      for (const [, at, line] of places) {
        expect(at).toBe(file);
        expect(Number(line)).toBeLessThanOrEqual(text.split('\n').length);
      }
    }),
    { numRuns: longOr(60, 1_000) },
  );
  expect(refused).toBeGreaterThan(10);
  expect(await exported()).toEqual(before);
});
