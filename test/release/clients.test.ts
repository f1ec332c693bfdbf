/** The generated clients, each installed in an empty folder, against the installed server. */
import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ROOT } from '../../scripts/local/project.mjs';
import { CLIENTS, writeClientPackages } from '../../scripts/packages/client-packages.ts';
import { cleanEnvironment, inEmptyFolder, npmPack, run, runWell } from './empty-folder.ts';
import { packServer } from './pack-server.ts';
import { type RunningServer, startServer } from './running-server.ts';

const PASSWORD = 'a quiet orange river';
const HOUR_MS = 3_600_000;
const TSC = join(ROOT, 'packages/node_modules/typescript/bin/tsc');
/** A line that the types of each client refuse. */
const WRONG: Record<string, string> = {
  client: "await createClient({ baseUrl: '', apiKey: '' }).GET('/v1/balances');",
  'panel-client': "await createPanelClient({ baseUrl: '', token: '' }).POST('/panel/v1/accounts', { body: { title: 'a' } });",
  'nats-client': "await (await connectTollgate({ servers: '', user: '' })).request('billing.v1.balance.get', { account: 'a' });",
};

const folder = mkdtempSync(join(tmpdir(), 'tollgate-clients-'));
const env = cleanEnvironment(folder);
let server: RunningServer;
let variables: Record<string, string>;

before(async () => {
  await writeClientPackages(join(folder, 'packages'));
  const { archive, remove } = await packServer();
  runWell('npm', ['install', '--prefix', folder, archive], { cwd: folder, env });
  remove();
  server = await startServer('node_modules/.bin/tollgate-server', [], { cwd: folder, env: { ...env, PORT: '0', PANEL_PORT: '0' } });
  const kept = (file: string) => JSON.parse(readFileSync(join(folder, '.tollgate', file), 'utf8'));
  variables = {
    ...{ TOLLGATE_URL: server.baseUrl, TOLLGATE_KEY: server.apiKey, TOLLGATE_PANEL_URL: new URL(server.panelUrl).origin },
    ...{ NATS_URL: kept('demo.json').natsUrl, NATS_INTERNAL_PASSWORD: kept('secrets.json').natsPasswords.internal },
    TOLLGATE_TOKEN: await makeToken(),
  };
});
after(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Checks of what each example prints. */
const EXPECTED: Record<string, (printed: never) => void> = {
  client({ cost, balance }: { cost: string; balance: string }) {
    assert.equal(BigInt(balance), 100_000_000_000_000n - BigInt(cost)); // of the 100 dollars of the demo account
    assert.ok(BigInt(cost) > 0n);
  },
  'panel-client'({ accounts }: { accounts: { name: string; balance: string }[] }) {
    assert.deepEqual(
      accounts.map(({ name }) => name),
      ['demo'],
    );
    assert.match(accounts[0]?.balance ?? '', /^\d+$/);
  },
  'nats-client'({ models }: { models: string[] }) {
    assert.ok(models.includes('sim-fast'));
  },
};

for (const name of CLIENTS) {
  void test(`the ${name} calls the gateway, and its types refuse a wrong call`, async () => {
    await inEmptyFolder(async (empty, clean) => {
      writeFileSync(join(empty, 'package.json'), '{ "type": "module", "private": true }');
      runWell('npm', ['install', npmPack(join(folder, 'packages', name), empty, clean)], { cwd: empty, env: clean });
      const own = join('node_modules/@tollgate-gateway', name);
      const { version } = JSON.parse(readFileSync(join(empty, own, 'package.json'), 'utf8'));
      assert.equal(version, JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version);
      const printed = JSON.parse(runWell(process.execPath, [join(own, 'example.mjs')], { cwd: empty, env: { ...clean, ...variables } }));
      EXPECTED[name]?.(printed as never);

      const [head = ''] = /^import .*$/m.exec(readFileSync(join(empty, own, 'example.mjs'), 'utf8')) ?? [];
      writeFileSync(join(empty, 'wrong.ts'), `${head}\n${WRONG[name]}\n`);
      copyFileSync(join(empty, own, 'example.mjs'), join(empty, 'example.mjs'));
      const check = (file: string) =>
        run(process.execPath, [TSC, '--noEmit', '--checkJs', '--allowJs', '--strict', '--target', 'es2022', '--module', 'nodenext', file], {
          cwd: empty,
          env: clean,
        });
      const { stdout } = check('wrong.ts');
      assert.match(stdout, /^wrong\.ts\(2,\d+\): error /);
      // The example is written for any editor: only variables of the environment may be absent there.
      const faults = check('example.mjs')
        .stdout.split('\n')
        .filter((line) => /error/.test(line) && !/process|undefined/.test(line));
      assert.deepEqual(faults, []);
    });
  });
}

/** Makes the first admin with the link that the server printed, and a token of theirs. */
async function makeToken(): Promise<string> {
  const origin = new URL(server.panelUrl).origin;
  const post = async (path: string, body: object, cookie = '') => {
    const headers = { origin, cookie, 'content-type': 'application/json' };
    const response = await fetch(`${origin}/panel/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    assert.equal(response.status, 201, await response.clone().text());
    return response;
  };
  const token = new URL(server.signIn ?? '').hash.slice(1);
  const accepted = await post('/invites/accept', { token, email: 'ada@example.com', password: PASSWORD });
  const [cookie = ''] = (accepted.headers.get('set-cookie') ?? '').split(';');
  const expiresAt = new Date(Date.now() + HOUR_MS).toISOString();
  const made = await post('/tokens', { name: 'release', permissions: ['usage.read', 'money.read'], expiresAt }, cookie);
  return ((await made.json()) as { token: string }).token;
}
