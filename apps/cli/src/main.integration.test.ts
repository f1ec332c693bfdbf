import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { hostname, tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Controller, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type Account, type AccountListReply, type AccountRow, accountCreate, accountList } from '#contracts/billing/accounts.js';
import { ServiceError } from '#contracts/service-error.js';
import { connectMessaging } from '#messaging/connect-messaging.js';
import type { CallContext } from '#messaging/messaging.js';
import { NatsTransport } from '#messaging/nats-transport.js';
import { Serves } from '#messaging/serves.js';
import { createLogger } from '#observability/logger.js';
import { freePort, type TestNatsServer } from '#testing/nats-server.js';
import { startNatsWithUsers, TEST_NATS_PASSWORD } from '#testing/nats-with-users.js';
import { bundleCommandLine } from '../../../scripts/local/bundles.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const PROGRAM = 'dist/apps/cli/bundle/tollgate.cjs';
const ACCOUNT: Account = {
  accountId: '0190a6f0-7c1e-7000-8000-000000000001',
  name: 'acme',
  status: 'active',
  statusReason: null,
  lowBalancePicoUsd: null,
  creditLinePicoUsd: null,
  pricePlan: null,
  nextPricePlan: null,
  requestsPerMinuteMax: null,
  concurrencyMax: null,
  tokensPerMinuteMax: null,
  projectsMax: 100,
  activeKeysMax: 1_000,
  createdAt: '2026-11-21T00:00:00.000Z',
};
const ROW: AccountRow = {
  ...ACCOUNT,
  balance: {
    object: 'balance',
    currency: 'USD',
    balance_pico_usd: '2500000000000',
    balance_usd: '2.50',
    reserved_pico_usd: '500000000000',
    available_pico_usd: '2000000000000',
    topup_balance_pico_usd: '2500000000000',
    plan_balance_pico_usd: '0',
    plan_expires_at: null,
  },
};
const logger = createLogger('test', 'silent');

@Controller()
class FakeBilling {
  @Serves(accountList) async list(): Promise<AccountListReply> {
    return { accounts: [ROW], nextCursor: null };
  }

  @Serves(accountCreate) async create({ name }: { name: string }, { caller }: CallContext): Promise<Account> {
    if (name === 'who am I') return { ...ACCOUNT, name: JSON.stringify(caller) };
    if (name === 'slow') return new Promise(() => undefined);
    throw new ServiceError('conflict', 'There is such an account.');
  }
}

@Module({ controllers: [FakeBilling] })
class FakeBillingModule {}

let nats: TestNatsServer;
let folder: string;
let stopBilling: () => Promise<void>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tollgate-cli-'));
  [nats] = await Promise.all([startNatsWithUsers(), build()]);
  const messaging = await connectMessaging({ url: nats.url, user: 'billing', password: TEST_NATS_PASSWORD, service: 'billing', logger });
  const app = await NestFactory.createMicroservice(FakeBillingModule, {
    strategy: new NatsTransport({ messaging, name: 'billing', description: 'Not really', logger, shutdownGraceMs: 0 }),
    logger: false,
  });
  await app.listen();
  stopBilling = async () => {
    await app.close();
    await messaging.close();
  };
});

afterAll(async () => {
  await stopBilling();
  await nats.stop();
  await rm(folder, { recursive: true });
});

/** Compiles and bundles the CLI into a folder of the test, so that it never runs an older build. */
async function build(): Promise<void> {
  await cp(join(ROOT, 'package.json'), join(folder, 'package.json'));
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const swc = join(ROOT, 'node_modules/@swc/cli/bin/swc.js');
  await promisify(execFile)(process.execPath, [swc, 'apps/cli', 'libs', '--out-dir', join(folder, 'dist'), '--quiet'], { cwd: ROOT });
  await bundleCommandLine(join(folder, PROGRAM), join(folder, 'dist/apps'));
}

interface Result {
  code: number;
  out: string;
  err: string;
}

/** Runs `tollgate` as a process in `folder`, with only these variables. */
function tollgate(
  args: string[],
  variables: Record<string, string> = { NATS_URL: nats.url, NATS_CLI_PASSWORD: TEST_NATS_PASSWORD },
): Promise<Result> {
  return new Promise((resolve) => {
    execFile(process.execPath, [join(folder, PROGRAM), ...args], { cwd: folder, env: variables }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    );
  });
}

test('prints a table, and with --json the reply', async () => {
  expect(await tollgate(['account', 'list'])).toEqual({
    code: 0,
    out: 'ACCOUNT  ID        STATUS  BALANCE  AVAILABLE  PRICE PLAN  CREATED\nacme     0190a6f0  active  $2.50    $2.00      -           2026-11-21 00:00Z\n',
    err: '',
  });
  const { out } = await tollgate(['account', 'list', '--json']);
  expect(JSON.parse(out)).toEqual({ accounts: [ROW], nextCursor: null });
});

test('needs no variables in the folder of npm start', async () => {
  await mkdir(join(folder, '.local'));
  await writeFile(join(folder, '.local/demo.json'), JSON.stringify({ natsUrl: nats.url }));
  await writeFile(join(folder, '.local/secrets.json'), JSON.stringify({ natsPasswords: { cli: TEST_NATS_PASSWORD } }));
  await chmod(join(folder, '.local/secrets.json'), 0o600);
  const result = await tollgate(['account', 'list', '--json'], {});
  await rm(join(folder, '.local'), { recursive: true });
  expect(JSON.parse(result.out)).toEqual({ accounts: [ROW], nextCursor: null });
});

test('a refusal of a service is one line and exit code 1', async () => {
  expect(await tollgate(['account', 'create', '--name', 'acme'])).toEqual({ code: 1, out: '', err: 'error: There is such an account.\n' });
});

test('sends the user of the operating system as the actor', async () => {
  const { out } = await tollgate(['account', 'create', '--name', 'who am I', '--json']);
  const actor = `cli/${userInfo().username}@${hostname()}`;
  expect(JSON.parse(JSON.parse(out).name)).toEqual({ actor, actorName: null, via: 'cli', ip: null, requestId: null });
});

test('a missing service is one line and exit code 1', async () => {
  expect(await tollgate(['models', 'list'])).toEqual({ code: 1, out: '', err: 'error: No service listens on catalog.v1.model.list.\n' });
});

test('the command gives up on a service that does not answer', async () => {
  expect(await tollgate(['account', 'create', '--name', 'slow'])).toEqual({
    code: 1,
    out: '',
    err: 'error: No answer from billing.v1.account.create in time. The command may have been executed: check before you repeat it.\n',
  });
});

test('a wrong password is one line and exit code 1, at once', async () => {
  expect(await tollgate(['account', 'list'], { NATS_URL: nats.url, NATS_CLI_PASSWORD: 'wrong' })).toEqual({
    code: 1,
    out: '',
    err: `error: ${new URL(nats.url).host}: NATS authentication failed for user "cli": wrong user or password\n`,
  });
});

test('a missing server is one line and exit code 1, without the credentials of the URL', async () => {
  const host = `127.0.0.1:${await freePort()}`;
  expect(await tollgate(['account', 'list'], { NATS_URL: `nats://user:secret@${host}`, NATS_CLI_PASSWORD: 'x' })).toEqual({
    code: 1,
    out: '',
    err: `error: ${host}: connection to NATS refused: no server at this address\n`,
  });
});

test('missing settings give exit code 1, a wrong command line exit code 2', async () => {
  expect(await tollgate(['account', 'list'], {})).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringMatching(/^error: NATS_URL and NATS_CLI_SEED or NATS_CLI_PASSWORD not set.*\n$/),
  });
  const createKey = (networks: string) => tollgate(['key', 'create', '--project', ACCOUNT.accountId, '--networks', networks], {});
  expect(await createKey('here')).toMatchObject({ code: 2, err: expect.stringContaining('Must be IP addresses or networks') });
  expect(await createKey('10.0.0.0/8')).toMatchObject({ code: 1, err: expect.stringContaining('not set') });
  expect(await tollgate(['account', 'burn'], {})).toEqual({ code: 2, out: '', err: "error: unknown command 'burn'\n" });
});

test('ends without an error when the reader closes the pipe', async () => {
  const command = spawn(process.execPath, [join(folder, PROGRAM), '--help'], { cwd: folder, env: {} });
  command.stdout.destroy();
  let err = '';
  command.stderr.on('data', (text: Buffer) => {
    err += text.toString();
  });
  const [code] = await once(command, 'close');
  expect({ code, err }).toEqual({ code: 0, err: '' });
});

test('npx runs the command line of the build, and downloads nothing', async () => {
  const env = { PATH: process.env.PATH, HOME: folder, npm_config_offline: 'true', npm_config_update_notifier: 'false' };
  const { stdout, stderr } = await promisify(execFile)('npx', ['tollgate', '--version'], { cwd: join(ROOT, 'docs'), env });
  expect({ stdout, stderr }).toEqual({ stdout: expect.stringMatching(/^\d+\.\d+\.\d+ \(.*Node v24\.\S+\)\n$/), stderr: '' });
});
