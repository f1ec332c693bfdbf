import { type HoldRenewRequest, holdRenew } from '#contracts/billing/holds.js';
import type { Ticket } from '#contracts/inference.js';
import type { Usage } from '#inference/usage.js';
import { createLogger } from '#observability/logger.js';
import { FakeMessaging } from '#testing/fake-messaging.js';
import { LeaseKeeper } from './lease-keeper.js';

const LEASE_MS = 60_000;
const READING: Usage = { promptTokens: 5, cachedTokens: 0, outputTokens: 7, reasoningTokens: 0, source: 'estimated' };

function ticket(holdId: string): Ticket {
  return { holdId, accountId: 'a', requestId: `req_${holdId}`, outputTokensMax: 1, promptTokensEstimate: 1, leaseMs: LEASE_MS };
}

/** A keeper on a clock of the test's own: `at` moves it and lets the answers arrive. */
function setUp(renew: (request: HoldRenewRequest) => string[]) {
  const messaging = new FakeMessaging();
  const sent: { at: number; ids: string[]; sequences: number[] }[] = [];
  let now = 0;
  messaging.answer(holdRenew, (request) => {
    sent.push({ at: now, ids: request.renewals.map(({ holdId }) => holdId), sequences: request.renewals.map(({ sequence }) => sequence) });
    return { renewed: renew(request), leaseMs: LEASE_MS };
  });
  const keeper = new LeaseKeeper(messaging, createLogger('test', 'silent'), () => now);
  const at = async (ms: number) => {
    now = ms;
    keeper.tick();
    await new Promise(setImmediate);
  };
  return { keeper, sent, at };
}

const all = ({ renewals }: HoldRenewRequest) => renewals.map(({ holdId }) => holdId);

test('renews first after a twelfth, then every sixth of the lease, all that are due in one message, with a reading each', async () => {
  const readings: unknown[] = [];
  const { keeper, sent, at } = setUp((request) => {
    readings.push(...request.renewals.map(({ usage }) => usage));
    return all(request);
  });
  const endA = keeper.keep(ticket('a'), () => READING, fail);
  keeper.keep(ticket('b'), () => READING, fail);
  for (let ms = 2_500; ms <= 27_500; ms += 2_500) {
    await at(ms);
    if (ms === 20_000) endA();
  }
  keeper.close();
  expect(sent).toEqual([
    { at: 5_000, ids: ['a', 'b'], sequences: [1, 1] },
    { at: 15_000, ids: ['a', 'b'], sequences: [2, 2] },
    { at: 25_000, ids: ['b'], sequences: [3] },
  ]);
  expect(readings).toEqual([READING, READING, READING, READING, READING]);
});

test('a hold that is no longer open is lost, once, and the others go on', async () => {
  const { keeper, sent, at } = setUp((request) => all(request).filter((id) => id !== 'a'));
  const lost: string[] = [];
  keeper.keep(
    ticket('a'),
    () => READING,
    () => lost.push('a'),
  );
  keeper.keep(
    ticket('b'),
    () => READING,
    () => lost.push('b'),
  );
  await at(5_000);
  await at(15_000);
  keeper.close();
  expect(lost).toEqual(['a']);
  expect(sent.map(({ ids }) => ids)).toEqual([['a', 'b'], ['b']]);
});

test('without acknowledgement it asks again at every tick, and gives up after three quarters of the lease', async () => {
  const { keeper, sent, at } = setUp(() => {
    throw new Error('billing is away');
  });
  const lost: number[] = [];
  keeper.keep(
    ticket('a'),
    () => READING,
    () => lost.push(1),
  );
  for (let ms = 2_500; ms <= 42_500; ms += 2_500) await at(ms);
  expect(lost).toEqual([]);
  expect(sent.at(-1)).toEqual({ at: 42_500, ids: ['a'], sequences: [16] });
  await at(45_000);
  await at(47_500);
  keeper.close();
  expect([lost, sent.length]).toEqual([[1], 16]);
});

test('a lease counts from when its renewal was sent, not from when the answer came', async () => {
  let answering = true;
  const { keeper, at } = setUp((request) => {
    if (!answering) throw new Error('billing is away');
    return all(request);
  });
  const lost: number[] = [];
  keeper.keep(
    ticket('a'),
    () => READING,
    () => lost.push(1),
  );
  await at(5_000);
  answering = false;
  await at(49_999);
  expect(lost).toEqual([]);
  await at(50_000);
  keeper.close();
  expect(lost).toEqual([1]);
});

test('a request that has ended is not told of a loss', async () => {
  const { keeper, at } = setUp(() => []);
  const end = keeper.keep(ticket('a'), () => READING, fail);
  const ticking = at(5_000);
  end();
  await ticking;
  keeper.close();
});

function fail(): never {
  throw new Error('lost');
}
