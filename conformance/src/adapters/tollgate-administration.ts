import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { NatsConnection } from 'nats';
import type { Product, Wallet } from './adapter.ts';

/** Addresses and secrets of a running Tollgate. The user `gateway` is needed only to repeat settlements. */
interface Access {
  gatewayUrl: string;
  natsUrl: string;
  natsPasswords: Record<string, string>;
}

type Reply = Record<string, unknown>;

export interface Administration {
  product: Pick<Product, 'baseUrl' | 'address' | 'openWallet' | 'setBudget' | 'repeatSettlement'>;
  applyCatalog(yaml: string): Promise<void>;
  listModels(): Promise<string[]>;
  untilOffered(models: readonly string[]): Promise<void>;
  untilEstimateChanges(model: string, change: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

interface TollgateWallet extends Wallet {
  accountId: string;
  projectId: string;
}

const REQUEST_MS = 10_000;
const OFFERED_MS = 60_000;
const POLL_MS = 50;

/** Tollgate's public interfaces: NATS for operators (docs/nats-api.md), HTTP for clients. */
export async function connectAdministration({ gatewayUrl, natsUrl, natsPasswords }: Access): Promise<Administration> {
  const { connect } = await import('nats');
  const open = (user: string): Promise<NatsConnection> =>
    connect({
      servers: natsUrl,
      user,
      pass: natsPasswords[user],
      inboxPrefix: `_INBOX.${user}`,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 100,
    });
  const cli = await open('cli');
  const gateway = natsPasswords.gateway === undefined ? undefined : await open('gateway');
  const asCli = (subject: string, body: object): Promise<Reply> => request(cli, subject, body);
  const openWallet = (picoUsd: bigint): Promise<TollgateWallet> => createWallet(asCli, gatewayUrl, picoUsd);
  let spare: Promise<TollgateWallet> | undefined;
  const probe = (): Promise<TollgateWallet> => (spare ??= openWallet(1_000_000_000_000n));
  const listModels = async (): Promise<string[]> => {
    const reply = await read(`${gatewayUrl}/v1/models`, (await probe()).key);
    return (reply.data as { id: string }[] | undefined)?.map(({ id }) => id) ?? [];
  };
  return {
    product: {
      baseUrl: gatewayUrl,
      address: (_client, model) => ({ model: model.id }),
      openWallet,
      setBudget: async (wallet, picoUsd) => {
        const { accountId, projectId } = wallet as TollgateWallet;
        await asCli('billing.v1.budget.set', { accountId, projectId, period: 'month', limitPicoUsd: String(picoUsd) });
      },
      ...(gateway && { repeatSettlement: (_wallet, requestId) => repeatSettlement(asCli, gateway, requestId) }),
    },
    applyCatalog: async (yaml) => void (await asCli('catalog.v1.catalog.apply', { fileName: 'kit.yaml', yaml })),
    listModels,
    untilOffered: (models) =>
      until(`${models.join(', ')} to be offered`, async () => {
        const offered = await listModels();
        return models.every((model) => offered.includes(model));
      }),
    untilEstimateChanges: async (model, change) => {
      const { key } = await probe();
      const estimate = (): Promise<string> => readEstimate(gatewayUrl, key, model);
      const before = await estimate();
      await change();
      await until(`the price of ${model} to change`, async () => (await estimate()) !== before);
    },
    close: async () => {
      await cli.close();
      await gateway?.close();
    },
  };
}

async function createWallet(
  asCli: (subject: string, body: object) => Promise<Reply>,
  gatewayUrl: string,
  picoUsd: bigint,
): Promise<TollgateWallet> {
  const { accountId } = (await asCli('billing.v1.account.create', { name: `kit ${randomUUID()}` })) as { accountId: string };
  const limits = { requestsPerMinuteMax: 100_000, concurrencyMax: 10_000 };
  const { projectId } = (await asCli('billing.v1.project.create', { accountId, name: 'kit', ...limits })) as { projectId: string };
  const { key } = (await asCli('billing.v1.key.create', { projectId })) as { key: string };
  const usd = `${picoUsd / 1_000_000_000_000n}.${String(picoUsd % 1_000_000_000_000n).padStart(12, '0')}`;
  if (picoUsd > 0n) await asCli('billing.v1.topup.create', { accountId, usd, paymentId: randomUUID() });
  return {
    ...{ accountId, projectId, key },
    read: async () => {
      let balance = await read(`${gatewayUrl}/v1/balance`, key);
      // The gateway, or billing behind it, is starting again.
      for (let tries = 0; balance.balance_pico_usd === undefined && tries < 200; tries++) {
        await delay(100);
        balance = await read(`${gatewayUrl}/v1/balance`, key);
      }
      if (typeof balance.balance_pico_usd !== 'string') throw new Error(`no balance: ${JSON.stringify(balance)}`);
      return { spentPicoUsd: picoUsd - BigInt(balance.balance_pico_usd), heldPicoUsd: BigInt(String(balance.reserved_pico_usd)) };
    },
  };
}

/** Sends the settlement of a settled request again, as the gateway does when the answer was lost, and one with other figures. */
async function repeatSettlement(
  asCli: (subject: string, body: object) => Promise<Reply>,
  gateway: NatsConnection,
  requestId: string,
): Promise<void> {
  const shown = (await asCli('billing.v1.request.show', { requestId })) as {
    holdId: string;
    accountId: string;
    settlement: { usage: { outputTokens: number } };
  };
  const { holdId, accountId, settlement } = shown;
  const settle = { holdId, accountId, reason: 'completed', upstream: 'kit', usage: settlement.usage, settledBy: 'gateway' };
  const dearer = { ...settle, usage: { ...settlement.usage, outputTokens: settlement.usage.outputTokens + 1 } };
  for (const message of [settle, settle, dearer]) await request(gateway, 'billing.v1.hold.settle', message);
  await request(gateway, 'billing.v1.hold.release', { holdId, accountId });
}

async function request(connection: NatsConnection, subject: string, body: object): Promise<Reply> {
  const reply = await connection.request(subject, JSON.stringify(body), { timeout: REQUEST_MS });
  const parsed = JSON.parse(reply.string()) as Reply;
  if (reply.headers?.get('Tollgate-Error-Code')) throw new Error(`${subject}: ${parsed.code}: ${parsed.message}`);
  return parsed;
}

async function read(url: string, key: string): Promise<Reply> {
  try {
    const reply = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
    return (await reply.json()) as Reply;
  } catch {
    return {};
  }
}

async function readEstimate(gatewayUrl: string, key: string, model: string): Promise<string> {
  const reply = await fetch(`${gatewayUrl}/v1/chat/completions/estimate`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'How much?' }], max_tokens: 100 }),
  });
  return reply.text();
}

async function until(wish: string, isTrue: () => Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + OFFERED_MS; performance.now() < deadline; await delay(POLL_MS)) if (await isTrue()) return;
  throw new Error(`waited ${OFFERED_MS} ms for ${wish}`);
}
