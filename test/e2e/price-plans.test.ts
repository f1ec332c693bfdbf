import { readFileSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { holdList, type PinnedPrice } from '#contracts/billing/holds.js';
import type { BilledRequest } from '#contracts/billing/requests.js';
import type { RequestEstimate } from '#contracts/gateway.js';
import type { PriceShowReply } from '#contracts/scheduled-prices.js';
import type { Messaging } from '#messaging/messaging.js';
import { computeCost } from '#money/price.js';
import { parsePrice } from '#money/price-plan.js';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator, createTenant, type Tenant, untilNoHolds } from '#testing/tenant.js';
import { runCli } from '../../apps/cli/src/run-cli.js';

/** Price plans by the command line: what is shown, estimated, held and billed is one price, which outlives every change and crash. */

const FILE = readFileSync('config/catalog.yaml', 'utf8');
const LIST: PinnedPrice = { version: 1, inputPicoUsd: '150000', cachedInputPicoUsd: '15000', outputPicoUsd: '600000' };
const GOLD: PinnedPrice = { version: 1, inputPicoUsd: '131250', cachedInputPicoUsd: '13125', outputPicoUsd: '525000', pricePlan: 'gold' };
const HALF: PinnedPrice = { version: 1, inputPicoUsd: '75000', cachedInputPicoUsd: '7500', outputPicoUsd: '300000', pricePlan: 'gold' };
/** A key's change is in force within a second. */
const IN_FORCE_MS = 1_000;

let stack: RunningStack;
let administrator: Messaging;
let tenant: Tenant;
let folder: string;

beforeAll(async () => {
  stack = await startPrivateStack({ layout: 'split' });
  administrator = await connectAdministrator(stack);
  tenant = await createTenant(administrator);
  folder = await mkdtemp(join(tmpdir(), 'price-plans-'));
});
afterAll(async () => {
  await administrator?.close();
  await stack?.stop();
});

async function tollgate(...args: string[]): Promise<string> {
  const written: string[] = [];
  const write = (text: string) => void written.push(text);
  const code = await runCli(args, { writeOut: write, writeErr: write }, () => connectAdministrator(stack));
  const out = written.join('');
  if (code !== 0) throw new Error(out);
  return out;
}

async function reply<Reply>(...args: string[]): Promise<Reply> {
  return JSON.parse(await tollgate(...args, '--json')) as Reply;
}

async function applyPlans(plans: string): Promise<string> {
  const file = join(folder, 'catalog.yaml');
  await writeFile(file, `${FILE}\npricePlans: ${plans}\n`);
  return tollgate('catalog', 'apply', file);
}

const body = (content: string) => ({ model: 'sim-fast', max_tokens: 400, messages: [{ role: 'user', content }] });

async function send(content: string): Promise<Response> {
  const response = await fetch(`${stack.gatewayUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...body(content), stream: true }),
  });
  expect(response.status).toBe(200);
  return response;
}

const readBill = (response: Response) => reply<BilledRequest>('request', 'show', response.headers.get('x-request-id') ?? '');

async function bill(content = 'Hello [[sim tokens=5]]'): Promise<BilledRequest> {
  const response = await send(content);
  await response.text();
  return readBill(response);
}

/** Resolves when requests are held at the price; throws when that takes longer than a second. */
async function untilBilledAt(price: PinnedPrice): Promise<void> {
  const deadline = Date.now() + IN_FORCE_MS;
  for (;;) {
    const startedAt = Date.now();
    const { price: paid } = await bill();
    if (JSON.stringify(paid) === JSON.stringify(price)) return;
    if (startedAt > deadline) throw new Error(`still billed at ${JSON.stringify(paid)}`);
  }
}

const showPrice = async (...args: string[]) => {
  const { prices, ...rest } = await reply<PriceShowReply>('price', 'show', '--account', tenant.accountId, ...args);
  return { ...rest, price: prices.find(({ model }) => model === 'sim-fast')?.price };
};
const prices = ({ version: _, pricePlan: __, ...price }: PinnedPrice) => price;

test('the price that is shown and estimated is the one that is held and billed', async () => {
  expect(await applyPlans('[{ id: gold, discountPercent: 12.5 }]')).toContain('added 1 price plan: gold');
  await tollgate('account', 'update', tenant.accountId, '--price-plan', 'gold');
  await untilBilledAt(GOLD);

  expect(await showPrice()).toEqual({ revision: 2, at: expect.any(String), pricePlan: 'gold', price: prices(GOLD) });
  const content = 'How much is this? [[sim tokens=20]]';
  const file = join(folder, 'body.json');
  await writeFile(file, JSON.stringify(body(content)));
  const estimate = await reply<RequestEstimate>('estimate', file, '--account', tenant.accountId);
  const billed = await bill(content);
  expect([estimate.price, billed.price, billed.heldPicoUsd]).toEqual([GOLD, GOLD, estimate.heldPicoUsd]);
  expect(billed.settlement?.costPicoUsd).toBe(billed.settlement && String(computeCost(billed.settlement.usage, parsePrice(GOLD))));
  expect(await tollgate('request', 'show', billed.requestId)).toContain('output (price plan gold, version 1)');
  expect((await reply<RequestEstimate>('estimate', file)).price).toEqual(LIST);
  expect(await tollgate('account', 'list')).toMatch(/gold/);
});

test('a request that began before the plan changed is billed at the old price, after all services that bill were killed [price-pinned]', async () => {
  const running = await send('Count [[sim tokens=60 rate=20]]');
  const before = new Date().toISOString();
  await applyPlans('[{ id: gold, discountPercent: 50 }]');
  await untilBilledAt(HALF);
  expect((await administrator.request(holdList, { accountId: tenant.accountId })).holds).toHaveLength(1);
  for (const service of ['billing', 'catalog'] as const) {
    await stack.kill(service);
    await stack.ready(service);
  }
  expect((await running.text()).endsWith('data: [DONE]\n\n')).toBe(true);
  await untilNoHolds(administrator, tenant.accountId);

  const { price, settlement } = await readBill(running);
  expect([price, settlement?.costPicoUsd]).toEqual([GOLD, settlement && String(computeCost(settlement.usage, parsePrice(GOLD)))]);
  expect([(await showPrice('--at', before)).price, (await showPrice()).price]).toEqual([prices(GOLD), prices(HALF)]);
});

test('a plan that the catalog does not have means list prices; the account leaves the plan with an empty name', async () => {
  await applyPlans('[]');
  await untilBilledAt(LIST);
  expect(await tollgate('price', 'show', '--account', tenant.accountId)).toMatch(
    /^list prices, because the catalog has no price plan gold,/,
  );
  const before = new Date().toISOString();
  await tollgate('account', 'update', tenant.accountId, '--price-plan', '');
  expect([await showPrice(), (await showPrice('--at', before)).pricePlan]).toEqual([
    { revision: 4, at: expect.any(String), pricePlan: null, price: prices(LIST) },
    'gold',
  ]);
});
