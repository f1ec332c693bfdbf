import { readFileSync } from 'node:fs';
import { type BilledRequest, requestShow } from '#contracts/billing/requests.js';
import { catalogApply } from '#contracts/catalog.js';
import type { Messaging } from '#messaging/messaging.js';
import { computeCost } from '#money/price.js';
import { parsePrice } from '#money/price-plan.js';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator, createTenant, type Tenant, untilNoHolds } from '#testing/tenant.js';

/** A request with a quote has its price and never costs more: across a price change, and whatever service dies meanwhile. */

const FILE = readFileSync('config/catalog.yaml', 'utf8');
const OLD = { version: 1, inputPicoUsd: '150000', cachedInputPicoUsd: '15000', outputPicoUsd: '600000' };
const DEARER = FILE.replaceAll('inputUsdPerMTok: "0.15"', 'inputUsdPerMTok: "9.15"').replaceAll(
  'outputUsdPerMTok: "0.60"',
  'outputUsdPerMTok: "9.60"',
);

interface Signed {
  quote: string;
  max_cost_pico_usd: string;
}

let stack: RunningStack;
let administrator: Messaging;
let tenant: Tenant;
let quotes: Map<string, Signed>;

const CONTENT = 'Count [[sim tokens=60 rate=20]]';
const TURNS = [{ role: 'user', content: CONTENT }];
const BODIES: Record<string, string> = {
  '/v1/chat/completions': JSON.stringify({ model: 'sim-fast', max_tokens: 400, stream: true, messages: TURNS }),
  '/v1/responses': JSON.stringify({ model: 'sim-fast', max_output_tokens: 400, stream: true, input: CONTENT }),
  '/v1/messages': JSON.stringify({ model: 'sim-fast', max_tokens: 400, stream: true, messages: TURNS }),
};
const PATHS = Object.keys(BODIES);

beforeAll(async () => {
  stack = await startPrivateStack({ layout: 'split' });
  administrator = await connectAdministrator(stack);
  tenant = await createTenant(administrator);
  quotes = new Map(
    await Promise.all(
      PATHS.map(async (path) => [path, (await (await send(`${path}/estimate?quote=true`, BODIES[path])).json()) as Signed] as const),
    ),
  );
  await administrator.request(catalogApply, { yaml: DEARER });
  while ((await bill(await send('/v1/chat/completions', BODIES['/v1/chat/completions']))).price.version === OLD.version);
}, 60_000);
afterAll(async () => {
  await administrator?.close();
  await stack?.stop();
});

async function send(path: string, body: string | undefined, headers: Record<string, string> = {}): Promise<Response> {
  const response = await fetch(`${stack.gatewayUrl}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/json', ...headers },
    body: body ?? '',
  });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return response;
}

const sendQuoted = (path: string): Promise<Response> => send(path, BODIES[path], { 'x-tollgate-quote': quotes.get(path)?.quote ?? '' });

async function bill(response: Response): Promise<BilledRequest> {
  await response.text().catch(() => undefined); // a killed gateway breaks the stream
  await untilNoHolds(administrator, tenant.accountId);
  return administrator.request(requestShow, { requestId: response.headers.get('x-request-id') ?? '' });
}

function expectQuoted(path: string, { price, heldPicoUsd, settlement }: BilledRequest): void {
  expect({ price, heldPicoUsd, overPicoUsd: settlement?.overPicoUsd }).toEqual({
    ...{ price: OLD, heldPicoUsd: quotes.get(path)?.max_cost_pico_usd, overPicoUsd: '0' },
  });
  const cost = BigInt(settlement?.costPicoUsd ?? -1);
  expect(cost).toBe(settlement && computeCost(settlement.usage, parsePrice(OLD)));
  expect(cost > 0n && cost <= BigInt(heldPicoUsd)).toBe(true);
}

test.each(PATHS)('%s: after a price change, a request with a quote has the price of then', async (path) => {
  expectQuoted(path, await bill(await sendQuoted(path)));
});

test('billing dies in mid-stream: the settlement is repeated at the quoted price', async () => {
  const path = '/v1/messages';
  const running = await sendQuoted(path);
  await stack.kill('billing');
  await stack.ready('billing');
  expectQuoted(path, await bill(running));
});

test('the gateway dies in mid-stream: what came is billed at the quoted price, and its successor takes the quote', async () => {
  const path = '/v1/chat/completions';
  const running = await sendQuoted(path);
  await stack.kill('gateway');
  await stack.ready('gateway');
  expectQuoted(path, await bill(running));
  expectQuoted(path, await bill(await sendQuoted(path)));
});

test('a changed character of the quote is refused', async () => {
  const path = '/v1/responses';
  const { quote = '' } = quotes.get(path) ?? {};
  const changed = quote.slice(0, 20) + (quote[20] === 'A' ? 'B' : 'A') + quote.slice(21);
  await expect(send(path, BODIES[path], { 'x-tollgate-quote': changed })).rejects.toThrow(/^400 .*x-tollgate-quote/);
});
