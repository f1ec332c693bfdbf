import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Controller, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type Account, type AccountListReply, accountCreate, accountList } from '#contracts/billing/accounts.js';
import { type BilledRequest, requestShow } from '#contracts/billing/requests.js';
import { ServiceError } from '#contracts/service-error.js';
import { connectMessaging } from '#messaging/connect-messaging.js';
import { NatsTransport } from '#messaging/nats-transport.js';
import { Serves } from '#messaging/serves.js';
import { createLogger } from '#observability/logger.js';
import { freePort, type TestNatsServer } from '#testing/nats-server.js';
import { startNatsWithUsers, TEST_NATS_PASSWORD } from '#testing/nats-with-users.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const ACCOUNT: Account = {
  accountId: '0190a6f0-7c1e-7000-8000-000000000001',
  name: 'acme',
  status: 'active',
  statusReason: null,
  lowBalancePicoUsd: null,
  createdAt: '2026-11-21T00:00:00.000Z',
};
const REQUEST: BilledRequest = {
  requestId: 'req_1',
  holdId: '0190a6f0-7c1e-7000-8000-000000000002',
  accountId: ACCOUNT.accountId,
  projectId: '0190a6f0-7c1e-7000-8000-000000000003',
  keyId: '0190a6f0-7c1e-7000-8000-000000000004',
  model: 'sim-fast',
  upstream: 'local',
  heldPicoUsd: '1000000000',
  price: { version: 1, inputPicoUsd: '150000', cachedInputPicoUsd: '15000', outputPicoUsd: '600000' },
  reservedAt: '2026-11-21T00:00:00.000Z',
  settlement: {
    reason: 'client-disconnected',
    settledBy: 'inference-proxy',
    usage: {
      promptTokens: 1_200,
      cachedTokens: 0,
      outputTokens: 300,
      reasoningTokens: 0,
      promptSource: 'estimated',
      outputSource: 'counted',
    },
    overPicoUsd: '0',
    settledAt: '2026-11-21T00:00:05.000Z',
    costPicoUsd: '360000000',
    writtenOffPicoUsd: '0',
    reaped: null,
  },
};
const logger = createLogger('test', 'silent');

@Controller()
class FakeBilling {
  @Serves(accountList) async list(): Promise<AccountListReply> {
    return { accounts: [ACCOUNT], nextCursor: null };
  }

  @Serves(accountCreate) async create({ name }: { name: string }): Promise<Account> {
    if (name === 'slow') return new Promise(() => undefined);
    throw new ServiceError('conflict', 'There is such an account.');
  }

  @Serves(requestShow) async show(): Promise<BilledRequest> {
    return REQUEST;
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

/** The command line as it is shipped, compiled into a folder of the test's own: never an older build. */
async function build(): Promise<void> {
  await cp(join(ROOT, 'package.json'), join(folder, 'package.json'));
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const swc = join(ROOT, 'node_modules/@swc/cli/bin/swc.js');
  await promisify(execFile)(process.execPath, [swc, 'apps/cli', 'libs', '--out-dir', join(folder, 'dist'), '--quiet'], { cwd: ROOT });
}

interface Result {
  code: number;
  out: string;
  err: string;
}

/** Runs `tollgate` as a process, in `folder`, with these variables only. */
function tollgate(
  args: string[],
  variables: Record<string, string> = { NATS_URL: nats.url, NATS_CLI_PASSWORD: TEST_NATS_PASSWORD },
): Promise<Result> {
  return new Promise((resolve) => {
    execFile(process.execPath, [join(folder, 'dist/apps/cli/src/main.js'), ...args], { cwd: folder, env: variables }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    );
  });
}

test('a table for people, and the reply itself for scripts', async () => {
  expect(await tollgate(['account', 'list'])).toEqual({
    code: 0,
    out: `ACCOUNT                               NAME  STATUS  CREATED\n${ACCOUNT.accountId}  acme  active  ${ACCOUNT.createdAt}\n`,
    err: '',
  });
  const { out } = await tollgate(['account', 'list', '--json']);
  expect(JSON.parse(out)).toEqual({ accounts: [ACCOUNT], nextCursor: null });
});

test('request show explains the bill of a client that disconnected', async () => {
  const { holdId, accountId, projectId, keyId, reservedAt, settlement } = REQUEST;
  expect(await tollgate(['request', 'show', 'req_1'])).toEqual({
    code: 0,
    out: `request            req_1
hold               ${holdId}
account            ${accountId}
project            ${projectId}
key                ${keyId}
model              sim-fast
upstream           local
reserved           ${reservedAt}
held               $0.001 (1000000000 pico), the most it can cost
price per million  $0.15 prompt, $0.015 cached prompt, $0.60 output (version 1)
prompt             1200 tokens, of which 0 cached: estimated from the size of the prompt
output             300 tokens, of which 0 reasoning: counted from the text that was received, 4 bytes a token
cost               1200 × $0.15 + 300 × $0.60 per million tokens = $0.00036 (360000000 pico)
ended              the client disconnected before the reply was complete
settled            ${settlement?.settledAt} by the inference-proxy, because the client or the gateway was gone
`,
    err: '',
  });
});

test('in the folder of npm start it needs no variables', async () => {
  await mkdir(join(folder, '.local'));
  await writeFile(join(folder, '.local/demo.json'), JSON.stringify({ natsUrl: nats.url }));
  await writeFile(join(folder, '.local/secrets.json'), JSON.stringify({ natsPasswords: { cli: TEST_NATS_PASSWORD } }));
  await chmod(join(folder, '.local/secrets.json'), 0o600);
  const result = await tollgate(['account', 'list', '--json'], {});
  await rm(join(folder, '.local'), { recursive: true });
  expect(JSON.parse(result.out)).toEqual({ accounts: [ACCOUNT], nextCursor: null });
});

test('what a service refuses is one line and code 1', async () => {
  expect(await tollgate(['account', 'create', '--name', 'acme'])).toEqual({ code: 1, out: '', err: 'error: There is such an account.\n' });
});

test('a service that is not there is one line and code 1', async () => {
  expect(await tollgate(['models', 'list'])).toEqual({ code: 1, out: '', err: 'error: No service listens on catalog.v1.model.list.\n' });
});

test('the command gives up on a service that does not answer', async () => {
  expect(await tollgate(['account', 'create', '--name', 'slow'])).toEqual({
    code: 1,
    out: '',
    err: 'error: No answer from billing.v1.account.create in time. It may have been done all the same: look before you repeat it.\n',
  });
});

test('a wrong password is one line and code 1, at once', async () => {
  expect(await tollgate(['account', 'list'], { NATS_URL: nats.url, NATS_CLI_PASSWORD: 'wrong' })).toEqual({
    code: 1,
    out: '',
    err: `error: ${new URL(nats.url).host}: NATS authentication failed for user "cli": wrong user or password\n`,
  });
});

test('no server is one line and code 1, and never shows what the URL carries', async () => {
  const host = `127.0.0.1:${await freePort()}`;
  expect(await tollgate(['account', 'list'], { NATS_URL: `nats://user:secret@${host}`, NATS_CLI_PASSWORD: 'x' })).toEqual({
    code: 1,
    out: '',
    err: `error: ${host}: connection to NATS refused: no server at this address\n`,
  });
});

test('no settings are one line and code 1; a wrong command line is one line and code 2', async () => {
  expect(await tollgate(['account', 'list'], {})).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringMatching(/^error: NATS_URL and NATS_CLI_PASSWORD not set.*\n$/),
  });
  expect(await tollgate(['account', 'burn'], {})).toEqual({ code: 2, out: '', err: "error: unknown command 'burn'\n" });
});

test('a reader that goes away, as head does, is the end of it without a word', async () => {
  const command = spawn(process.execPath, [join(folder, 'dist/apps/cli/src/main.js'), '--help'], { cwd: folder, env: {} });
  command.stdout.destroy();
  let err = '';
  command.stderr.on('data', (text: Buffer) => {
    err += text.toString();
  });
  const [code] = await once(command, 'close');
  expect({ code, err }).toEqual({ code: 0, err: '' });
});
