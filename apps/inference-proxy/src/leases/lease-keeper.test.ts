import { type HoldRenewReply, type HoldRenewRequest, holdRenew } from '#contracts/billing/holds.js';
import type { Ticket } from '#contracts/inference.js';
import type { Usage } from '#inference/usage.js';
import { createLogger } from '#observability/logger.js';
import { FakeMessaging } from '#testing/fake-messaging.js';
import { estimatedUsage } from '#testing/token-usage.js';
import { LeaseKeeper } from './lease-keeper.js';

const LEASE_MS = 60_000;
const READING: Usage = estimatedUsage(5, 7);

function ticket(holdId: string): Ticket {
  return { holdId, accountId: 'a', requestId: `req_${holdId}`, outputTokensMax: 1, promptTokensEstimate: 1, leaseMs: LEASE_MS };
}

/** Returns a keeper with a fake clock: `at` moves it and lets the replies arrive. */
function setUp(renew: (request: HoldRenewRequest) => string[], verdicts: Pick<HoldRenewReply, 'stop' | 'unsettled'> = {}) {
  const messaging = new FakeMessaging();
  const sent: { at: number; ids: string[]; sequences: number[]; ended?: string[] }[] = [];
  let now = 0;
  messaging.answer(holdRenew, (request) => {
    const ids = request.renewals.map(({ holdId }) => holdId);
    const sequences = request.renewals.map(({ sequence }) => sequence);
    sent.push({ at: now, ids, sequences, ...(request.ended && { ended: request.ended }) });
    const unsettled = request.ended?.filter((id) => verdicts.unsettled?.includes(id));
    return { renewed: renew(request), leaseMs: LEASE_MS, stop: verdicts.stop?.filter((id) => ids.includes(id)), unsettled };
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

test('renews after a twelfth of the lease, then every sixth; all that are due in one message, each with its usage', async () => {
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

test('a hold that is no longer open is lost once, and the others continue', async () => {
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

test('without acknowledgement it retries at every tick, and gives up after three quarters of the lease', async () => {
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

test('a lease counts from the sending of its renewal, not from the reply', async () => {
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

test('a request whose key was revoked stops at its next renewal', async () => {
  const { keeper, sent, at } = setUp((request) => all(request), { stop: ['a'] });
  const losses: string[] = [];
  for (const id of ['a', 'b']) {
    keeper.keep(
      ticket(id),
      () => READING,
      (loss) => losses.push(`${id} ${loss}`),
    );
  }
  await at(5_000);
  await at(15_000);
  keeper.close();
  expect(losses).toEqual(['a revoked']);
  expect(sent.map(({ ids }) => ids)).toEqual([['a', 'b'], ['b']]);
});

test('asks once after a delay whether an ended request was settled, and reports an unsettled one', async () => {
  const { keeper, sent, at } = setUp(all, { unsettled: ['a'] });
  const unsettled: string[] = [];
  const ends = ['a', 'b'].map((id) => ({ id, end: keeper.keep(ticket(id), () => READING, fail) }));
  await at(1_000);
  for (const { id, end } of ends) end(() => unsettled.push(id));
  await at(2_500);
  await at(5_000);
  await at(7_500);
  keeper.close();
  expect(sent).toEqual([{ at: 5_000, ids: [], sequences: [], ended: ['a', 'b'] }]);
  expect(unsettled).toEqual(['a']);
});

test('asks again about ended requests until billing answers; a shutdown asks at once', async () => {
  let away = true;
  const { keeper, sent, at } = setUp(
    (request) => {
      if (away) throw new Error('billing is away');
      return all(request);
    },
    { unsettled: ['a', 'b'] },
  );
  const unsettled: string[] = [];
  const end = keeper.keep(ticket('a'), () => READING, fail);
  end(() => unsettled.push('a'));
  await at(5_000);
  await at(7_500);
  away = false;
  await at(10_000);
  keeper.keep(ticket('b'), () => READING, fail)(() => unsettled.push('b'));
  await keeper.flush();
  keeper.close();
  expect(sent.map(({ at: when, ended }) => [when, ended])).toEqual([
    [5_000, ['a']],
    [7_500, ['a']],
    [10_000, ['a']],
    [10_000, ['b']],
  ]);
  expect(unsettled).toEqual(['a', 'b']);
});

test('an ended request does not lose its lease', async () => {
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
