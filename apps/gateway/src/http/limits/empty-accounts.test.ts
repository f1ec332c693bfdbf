import { balanceGet } from '#contracts/billing/money.js';
import { TEST_KEY, TEST_MODEL } from '#testing/fake-services.js';
import { CHAT, KEY, readText, startTestGateway, type TestGateway, until } from '../../../test/test-gateway.js';

let gateway: TestGateway;
let available: string;
let balancesRead: number;

/** A refused reserve marks the account as empty. */
beforeEach(async () => {
  gateway = await startTestGateway();
  available = '0';
  balancesRead = 0;
  const balance = { object: 'balance', currency: 'USD', balance_pico_usd: '7', balance_usd: '0.000000000007' } as const;
  gateway.fakes.messaging.answer(balanceGet, () => {
    balancesRead++;
    const rest = { topup_balance_pico_usd: '7', plan_balance_pico_usd: '0', plan_expires_at: null, expiredHeld: '0' };
    return { ...balance, ...rest, reserved_pico_usd: '7', available_pico_usd: available };
  });
  gateway.fakes.reserveOutcome = ({ holdId, amountPicoUsd }) =>
    BigInt(available) >= BigInt(amountPicoUsd)
      ? { status: 'held', holdId, leaseMs: 60_000 }
      : { status: 'refused', holdId, code: 'insufficient_balance', requiredPicoUsd: amountPicoUsd, availablePicoUsd: available };
  expect((await gateway.chat()).status).toBe(402);
  expect(gateway.fakes.reserves.length).toBe(1);
});

afterEach(() => gateway.close());

test.each([
  [CHAT, { type: 'insufficient_balance_error', code: 'insufficient_balance' }],
  ['/v1/responses', { type: 'insufficient_balance_error', code: 'insufficient_balance' }],
  ['/v1/messages', { type: 'billing_error' }],
])('a request to %s is refused before its body is read [limit-empty-account]', async (path, error) => {
  const socket = await gateway.connect();
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TEST_KEY}\r\nexpect: 100-continue\r\ncontent-length: 1000\r\n\r\n`,
  );
  const [head = '', body = ''] = (await readText(socket)).split('\r\n\r\n');
  expect([head.split('\r\n')[0], JSON.parse(body)]).toMatchObject(['HTTP/1.1 402 Payment Required', { error }]);
  expect([gateway.fakes.reserves.length, balancesRead]).toEqual([1, 1]);
});

test('the first request after a top-up is served [limit-empty-account]', async () => {
  available = '1000000000000';
  expect((await gateway.chat()).status).toBe(200);
  expect((await gateway.chat()).status).toBe(200);
  expect(balancesRead).toBe(1);
});

test('a free model stays available [limit-empty-account]', async () => {
  const free = { ...TEST_MODEL.price, inputPicoUsd: '0', cachedInputPicoUsd: '0', outputPicoUsd: '0' };
  gateway.fakes.models.push({ ...TEST_MODEL, id: 'free', price: free });
  gateway.fakes.messaging.reconnect();
  await until(() => gateway.fakes.messaging.connected);
  expect((await gateway.ask('/v1/models/free', { headers: KEY })).status).toBe(200);
  expect((await gateway.chat({ model: 'free' })).status).toBe(200);
  expect((await gateway.chat()).status).toBe(402);
  expect(balancesRead).toBe(0);
});
