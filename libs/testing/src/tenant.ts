import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { accountCreate, accountUpdate } from '#contracts/billing/accounts.js';
import { holdList } from '#contracts/billing/holds.js';
import { keyCreate } from '#contracts/billing/keys.js';
import { type Balance, topupCreate } from '#contracts/billing/money.js';
import { projectCreate } from '#contracts/billing/projects.js';
import { connectMessaging } from '#messaging/connect-messaging.js';
import type { Messaging } from '#messaging/messaging.js';
import type { StackInfo } from './stack.js';

/** Longer than between services, so that the setup of a test does not fail on a slow machine. */
const REQUEST_TIMEOUT_MS = 30_000;

/** Connects with the rights of the CLI. Close the connection when done. */
export function connectAdministrator(stack: StackInfo): Promise<Messaging> {
  const connection = { url: stack.natsUrl, user: 'cli', password: stack.natsPasswords.cli, service: 'cli' };
  return connectMessaging({ ...connection, requestTimeoutMs: REQUEST_TIMEOUT_MS, logger: pino({ level: 'silent' }) });
}

/** An account with money, a project with limits and a key. */
export interface Tenant {
  accountId: string;
  projectId: string;
  keyId: string;
  apiKey: string;
}

export async function createTenant(
  administrator: Messaging,
  options: {
    usd?: string;
    requestsPerMinuteMax?: number;
    concurrencyMax?: number;
    tokensPerMinuteMax?: number;
    activeKeysMax?: number;
  } = {},
): Promise<Tenant> {
  const { usd = '10.00', requestsPerMinuteMax = 100_000, concurrencyMax = 10_000, tokensPerMinuteMax, activeKeysMax } = options;
  const { accountId } = await administrator.request(accountCreate, { name: `test ${randomUUID()}` });
  if (activeKeysMax !== undefined) await administrator.request(accountUpdate, { accountId, activeKeysMax });
  const { projectId } = await administrator.request(projectCreate, {
    ...{ accountId, name: 'test', requestsPerMinuteMax, concurrencyMax, tokensPerMinuteMax },
  });
  const { keyId, key } = await administrator.request(keyCreate, { projectId });
  if (usd !== '0') await administrator.request(topupCreate, { accountId, usd, paymentId: randomUUID() });
  return { accountId, projectId, keyId, apiKey: key };
}

/** Reads the balance over HTTP with the key of the client. */
export async function readBalance(gatewayUrl: string, apiKey: string): Promise<Balance> {
  const response = await fetch(`${gatewayUrl}/v1/balance`, { headers: { authorization: `Bearer ${apiKey}` } });
  if (response.status !== 200) throw new Error(`balance answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as Balance;
}

const POLL_MS = 20;

/** Resolves when the gateway lists these models. It learns of a catalog change a moment after the change. */
export async function untilOffered(gatewayUrl: string, apiKey: string, models: readonly string[], deadlineMs = 30_000): Promise<void> {
  for (const deadline = Date.now() + deadlineMs; Date.now() < deadline; await delay(POLL_MS)) {
    const response = await fetch(`${gatewayUrl}/v1/models`, { headers: { authorization: `Bearer ${apiKey}` } });
    const { data } = (await response.json()) as { data: { id: string }[] };
    const offered = new Set(data.map(({ id }) => id));
    if (models.every((model) => offered.has(model))) return;
  }
  throw new Error(`not offered after ${deadlineMs} ms: ${models.join(', ')}`);
}

/** Resolves when the account has no open holds. After a client disconnects, its hold is settled later. */
export async function untilNoHolds(administrator: Messaging, accountId: string, deadlineMs = 30_000): Promise<void> {
  const deadline = Date.now() + deadlineMs;
  for (;;) {
    const { holds } = await administrator.request(holdList, { accountId });
    if (holds.length === 0) return;
    if (Date.now() > deadline) throw new Error(`still held after ${deadlineMs} ms: ${JSON.stringify(holds)}`);
    await delay(POLL_MS);
  }
}
