import { TEST_CALLER } from '#testing/fake-services.js';
import { HttpExchange } from '../http-exchange.js';
import { RequestRates } from './request-rates.js';

function setUp(connectionsMax = 100) {
  const clock = { now: 0 };
  const rates = new RequestRates({ freeRequestsPerSecond: 2, unkeyedRequestsPerSecond: 1, connectionsMax }, () => clock.now);
  return { clock, rates };
}

/** Returns a request with a key. Its client has disconnected, so that refusals are not delayed. */
function keyed(keyId: string): HttpExchange {
  const exchange = new HttpExchange();
  exchange.caller = { ...TEST_CALLER, keyId };
  exchange.stop();
  return exchange;
}

function unkeyed(address: string): HttpExchange {
  const exchange = new HttpExchange();
  exchange.address = address;
  return exchange;
}

async function refused(count: Promise<void>): Promise<{ code: string; retryAfterSeconds: number } | undefined> {
  return count.then(
    () => undefined,
    ({ code, retryAfterSeconds }) => ({ code, retryAfterSeconds }),
  );
}

test('many keys do not multiply the rate of their account [limit-free-rate]', async () => {
  const { rates } = setUp();
  const outcomes = await Promise.all(Array.from({ length: 100 }, (_, number) => refused(rates.countFree(keyed(`key ${number}`)))));
  expect(outcomes.filter((outcome) => outcome === undefined)).toHaveLength(2 * 4 * 5);
});

test('only a share of the connections is delayed at once', async () => {
  const { rates } = setUp(8);
  for (let number = 0; number < 5; number++) void rates.countUnkeyed(unkeyed('::1'));
  const slow = [unkeyed('::1'), unkeyed('::1'), unkeyed('::1')];
  const order: number[] = [];
  const held = slow.map(async (exchange, number) => {
    await rates.countUnkeyed(exchange);
    order.push(number);
  });
  await held[2];
  expect(order).toEqual([2]);
  for (const exchange of slow) exchange.stop();
  await Promise.all(held);
});
