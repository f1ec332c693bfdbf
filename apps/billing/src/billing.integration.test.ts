import { randomUUID } from 'node:crypto';
import { digestApiKey, isWellFormedApiKey } from '#contracts/api-key.js';
import { accountCreate, accountList, accountUpdate } from '#contracts/billing/accounts.js';
import { keyChanged } from '#contracts/billing/events.js';
import { holdList, holdRelease, holdReserve, holdSettle } from '#contracts/billing/holds.js';
import { keyCreate, keyList, keyResolve, keyRevoke } from '#contracts/billing/keys.js';
import { balanceGet, planGrant, topupCreate } from '#contracts/billing/money.js';
import { movementList } from '#contracts/billing/movements.js';
import { projectCreate, projectList, projectUpdate } from '#contracts/billing/projects.js';
import { requestShow } from '#contracts/billing/requests.js';
import { createPrismaClient, type PrismaClient } from '#database/prisma-client.js';
import { connectMessaging } from '#messaging/connect-messaging.js';
import type { Messaging } from '#messaging/messaging.js';
import { createLogger } from '#observability/logger.js';
import { startNatsServer, type TestNatsServer } from '#testing/nats-server.js';
import { createTestDatabase, type TestDatabase } from '#testing/test-database.js';
import { type Customer, makeReserve, makeUsage } from '../test/ledger-fixture.js';
import { BillingConfig } from './billing.config.js';
import { startBilling } from './start-billing.js';

/** The whole service on NATS and Postgres, used as other services use it. */
let database: TestDatabase;
let nats: TestNatsServer;
let prisma: PrismaClient;
let messaging: Messaging;
let stop: () => Promise<void>;

beforeAll(async () => {
  database = await createTestDatabase();
  nats = await startNatsServer();
  prisma = createPrismaClient({ url: database.url, applicationName: 'test' });
  const logger = createLogger('test', 'silent');
  const config = Object.assign(new BillingConfig(), {
    natsUrl: nats.url,
    natsUser: 'billing',
    natsPassword: 'any',
    databaseUrl: database.serviceUrls.billing,
    keyPepper: 'p'.repeat(32),
    opsPort: 0,
  });
  stop = await startBilling(config, logger);
  messaging = await connectMessaging({ url: nats.url, user: 'gateway', password: 'any', service: 'test', logger });
});

afterAll(async () => {
  await messaging.close();
  await stop();
  await nats.stop();
  await prisma.$disconnect();
  await database.drop();
});

async function customer(usd = '1.00'): Promise<Customer & { key: string }> {
  const { accountId } = await messaging.request(accountCreate, { name: 'Acme' });
  const { projectId } = await messaging.request(projectCreate, { accountId, name: 'main' });
  const { keyId, key } = await messaging.request(keyCreate, { projectId });
  await messaging.request(topupCreate, { accountId, usd, paymentId: randomUUID() });
  return { accountId, projectId, keyId, key };
}

test('an administrator opens an account, a project and a key, and the key resolves', async () => {
  const at = expect.stringMatching(/^\d{4}-.*Z$/);
  const accountId = randomUUID();
  const account = {
    accountId,
    name: 'Acme',
    status: 'active',
    statusReason: null,
    lowBalancePicoUsd: null,
    creditLinePicoUsd: null,
    pricePlan: null,
    nextPricePlan: null,
    ...{ requestsPerMinuteMax: null, concurrencyMax: null, tokensPerMinuteMax: null, projectsMax: 100, activeKeysMax: 1_000 },
    createdAt: at,
  };
  expect(await messaging.request(accountCreate, { accountId, name: 'Acme' })).toEqual(account);
  expect(await messaging.request(accountCreate, { accountId, name: 'Acme' })).toEqual(account);
  await expect(messaging.request(accountCreate, { accountId, name: 'Other' })).rejects.toMatchObject({ code: 'conflict' });
  expect(await messaging.request(accountList, { accountId })).toEqual({
    accounts: [{ ...account, balance: expect.objectContaining({ object: 'balance', balance_usd: '0.00' }) }],
    nextCursor: null,
  });

  const created = await messaging.request(projectCreate, { accountId, name: 'main' });
  const { projectId } = created;
  const limits = { requestsPerMinuteMax: 600, concurrencyMax: 100, tokensPerMinuteMax: null };
  const project = { projectId, accountId, name: 'main', enabled: true, ...limits, tags: [], createdAt: at };
  expect(created).toEqual(project);
  const updated = { ...project, name: 'prod', requestsPerMinuteMax: 7, tags: ['team'] };
  const changes = { name: 'prod', requestsPerMinuteMax: 7, tags: ['team'] };
  expect(await messaging.request(projectUpdate, { projectId, ...changes })).toEqual(updated);
  expect(await messaging.request(projectList, { accountId })).toEqual({ projects: [updated], nextCursor: null });

  const { key, ...apiKey } = await messaging.request(keyCreate, { projectId, name: 'ci' });
  expect(isWellFormedApiKey(key)).toBe(true);
  expect(apiKey).toEqual({
    ...{
      keyId: expect.any(String),
      rootKeyId: apiKey.keyId,
      projectId,
      name: 'ci',
      note: null,
      lastFour: key.slice(-4),
      createdAt: at,
      createdBy: expect.any(String),
    },
    ...{
      expiresAt: null,
      disabled: false,
      models: [],
      networks: [],
      requestsPerMinuteMax: null,
      concurrencyMax: null,
      tokensPerMinuteMax: null,
      replacedBy: null,
      revokedAt: null,
    },
  });
  const row = { ...apiKey, status: 'active', lastUsedAt: null };
  expect(await messaging.request(keyList, { projectId })).toEqual({ keys: [row], nextCursor: null });
  expect(await messaging.request(keyResolve, { keyDigest: digestApiKey(key) })).toEqual({
    ...{ keyId: apiKey.keyId, projectId, accountId },
    tags: ['team'],
  });
});

test('pages of lists do not overlap; a project or key with the same id is made once', async () => {
  const { accountId } = await messaging.request(accountCreate, { name: 'Acme' });
  const ids = Array.from({ length: 5 }, () => randomUUID());
  for (const projectId of ids) await messaging.request(projectCreate, { accountId, projectId, name: projectId });
  const pages: string[][] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await messaging.request(projectList, { accountId, limit: 2, ...(cursor && { cursor }) });
    pages.push(page.projects.map(({ projectId }) => projectId));
    cursor = page.nextCursor;
  }
  expect(pages).toEqual([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)]);
  const { nextCursor } = await messaging.request(projectList, { accountId, limit: 2 });
  const elsewhere = messaging.request(projectList, { limit: 2, cursor: nextCursor as string });
  await expect(elsewhere).rejects.toMatchObject({ code: 'invalid_request', param: 'cursor' });

  const [projectId = ''] = ids;
  const same = { accountId: accountId.toUpperCase(), projectId: projectId.toUpperCase(), name: projectId };
  expect(await messaging.request(projectCreate, same)).toMatchObject({ projectId, accountId });
  for (const changed of [{ name: 'other' }, { accountId: (await customer()).accountId }]) {
    const other = messaging.request(projectCreate, { ...same, ...changed });
    await expect(other).rejects.toMatchObject({ code: 'conflict', param: 'projectId' });
  }
  const keyId = randomUUID();
  await messaging.request(keyCreate, { projectId, keyId });
  await expect(messaging.request(keyCreate, { projectId, keyId })).rejects.toMatchObject({ code: 'conflict', param: 'keyId' });
  await messaging.request(keyCreate, { projectId });
  for (const question of [{ accountId, limit: 1 }, { keyId }]) {
    expect((await messaging.request(keyList, question)).keys.map((key) => key.keyId)).toEqual([keyId]);
  }
});

test('pages of open holds stay complete when a hold ends between two of them', async () => {
  const acme = await customer();
  const { accountId } = acme;
  const holdIds: string[] = [];
  for (let count = 0; count < 5; count++) {
    const reserve = makeReserve(acme, 1n);
    await messaging.request(holdReserve, reserve);
    holdIds.push(reserve.holdId);
  }
  const pages: string[][] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await messaging.request(holdList, { accountId, limit: 2, ...(cursor && { cursor }) });
    pages.push(page.holds.map(({ holdId }) => holdId));
    cursor = page.nextCursor;
    const last = pages.at(-1)?.at(-1) ?? '';
    await messaging.request(holdRelease, { holdId: last, accountId });
  }
  expect(pages).toEqual([holdIds.slice(0, 2), holdIds.slice(2, 4), holdIds.slice(4)]);
  const { nextCursor } = await messaging.request(holdList, { accountId, limit: 1 });
  const elsewhere = messaging.request(holdList, { limit: 1, cursor: nextCursor as string });
  await expect(elsewhere).rejects.toMatchObject({ code: 'invalid_request', param: 'cursor' });
});

test('the database does not contain the key', async () => {
  const { key } = await customer();
  const rows = await prisma.$queryRaw`SELECT k::text FROM billing.api_key k`;
  const text = JSON.stringify(rows);
  expect(text).not.toContain(key.slice(0, -4));
  expect(text).not.toContain(digestApiKey(key));
});

test('a revoked key and a disabled project stop resolving, and an event is published', async () => {
  const { keyId, projectId, key } = await customer();
  const changes: unknown[] = [];
  const unsubscribe = messaging.subscribe(keyChanged, (event) => changes.push(event));
  const keyDigest = digestApiKey(key);
  await messaging.request(projectUpdate, { projectId, enabled: false });
  await expect(messaging.request(keyResolve, { keyDigest })).rejects.toMatchObject({ code: 'invalid_api_key' });
  await messaging.request(projectUpdate, { projectId, enabled: true });
  expect(await messaging.request(keyResolve, { keyDigest })).toMatchObject({ keyId });
  const revoked = await messaging.request(keyRevoke, { keyId });
  expect(await messaging.request(keyRevoke, { keyId })).toEqual(revoked);
  expect(revoked.revokedAt).toMatch(/Z$/);
  await expect(messaging.request(keyResolve, { keyDigest })).rejects.toMatchObject({ code: 'invalid_api_key' });
  while (changes.length < 4) await new Promise((resolve) => setImmediate(resolve));
  expect(changes).toEqual([{ projectId }, { projectId }, { keyId, projectId }, { keyId, projectId }]);
  unsubscribe();
});

test('a frozen account gets no holds until it is active; it can be read, and its money can change', async () => {
  const { key, ...acme } = await customer('1.00');
  const { accountId } = acme;
  const frozen = await messaging.request(accountUpdate, { accountId, status: 'frozen', statusReason: 'disputed' });
  expect(frozen).toMatchObject({ accountId, status: 'frozen', statusReason: 'disputed' });
  const refused = { status: 'refused', holdId: expect.any(String), code: 'account_frozen' };
  expect(await messaging.request(holdReserve, makeReserve(acme, 1n))).toEqual(refused);
  expect(await messaging.request(keyResolve, { keyDigest: digestApiKey(key) })).toEqual(acme);
  expect(await messaging.request(balanceGet, { accountId })).toMatchObject({ balance_usd: '1.00' });
  expect(await messaging.request(topupCreate, { accountId, usd: '1', paymentId: randomUUID() })).toMatchObject({ credited: true });
  const active = await messaging.request(accountUpdate, { accountId, status: 'active' });
  expect(active).toMatchObject({ status: 'active', statusReason: null });
  expect(await messaging.request(holdReserve, makeReserve(acme, 1n))).toMatchObject({ status: 'held' });
  const reason = messaging.request(accountUpdate, { accountId, status: 'active', statusReason: 'x' });
  await expect(reason).rejects.toMatchObject({ code: 'invalid_request', param: 'statusReason' });
  const unknown = messaging.request(accountUpdate, { accountId: randomUUID(), name: 'x' });
  await expect(unknown).rejects.toMatchObject({ code: 'not_found', param: 'accountId' });
});

test('a plan is granted, shown with its end, and spent before the top-up [balance-plan]', async () => {
  const acme = await customer('1');
  const { accountId } = acme;
  const expiresAt = '2099-01-01T00:00:00.000Z';
  await messaging.request(planGrant, { accountId, usd: '2', expiresAt });
  const reserve = makeReserve(acme, 1_000n);
  await messaging.request(holdReserve, reserve);
  await messaging.request(holdSettle, { holdId: reserve.holdId, accountId, reason: 'completed', usage: makeUsage(1_000) });
  expect(await messaging.request(balanceGet, { accountId })).toEqual({
    object: 'balance',
    currency: 'USD',
    balance_pico_usd: '2999999999000',
    balance_usd: '2.999999999',
    reserved_pico_usd: '0',
    available_pico_usd: '2999999999000',
    topup_balance_pico_usd: '1000000000000',
    plan_balance_pico_usd: '1999999999000',
    plan_expires_at: expiresAt,
    expiredHeld: '0',
  });
});

test('unknown ids are not found; ids in capitals are the same ids', async () => {
  await expect(messaging.request(balanceGet, { accountId: randomUUID() })).rejects.toMatchObject({ code: 'not_found' });
  await expect(messaging.request(keyRevoke, { keyId: randomUUID() })).rejects.toMatchObject({ code: 'not_found' });
  await expect(messaging.request(projectCreate, { accountId: randomUUID(), name: 'x' })).rejects.toMatchObject({ code: 'not_found' });
  await expect(messaging.request(requestShow, { requestId: 'none' })).rejects.toMatchObject({ code: 'not_found' });
  const acme = await customer();
  const reserve = makeReserve(acme, 1n);
  await messaging.request(holdReserve, { ...reserve, holdId: reserve.holdId.toUpperCase(), keyId: acme.keyId.toUpperCase() });
  const release = { holdId: reserve.holdId, accountId: acme.accountId.toUpperCase() };
  expect(await messaging.request(holdRelease, release)).toEqual({ status: 'settled', holdId: reserve.holdId, costPicoUsd: '0' });

  const { accountId } = acme;
  const capitals = accountId.toUpperCase();
  const grant = { accountId, usd: '2', expiresAt: '2099-01-01', grantKey: 'january' };
  expect(await messaging.request(planGrant, grant)).toMatchObject({ granted: true });
  expect(await messaging.request(planGrant, { ...grant, accountId: capitals })).toMatchObject({ accountId, granted: false });
  const { nextCursor } = await messaging.request(movementList, { accountId, limit: 1 });
  const rest = await messaging.request(movementList, { accountId: capitals, cursor: nextCursor ?? '' });
  expect(rest).toMatchObject({ movements: [{ kind: 'topup' }], nextCursor: null });
});

test('the service survives sessions that the database ends', async () => {
  const acme = await customer();
  await prisma.$queryRaw`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE 'tollgate-billing%'`;
  const reserve = makeReserve(acme, 1n);
  const outcome = await messaging.request(holdReserve, reserve).catch(() => messaging.request(holdReserve, reserve));
  expect(outcome).toMatchObject({ status: 'held' });
});
