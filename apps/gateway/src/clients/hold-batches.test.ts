import { jest } from '@jest/globals';
import { replicaReady } from '#contracts/billing/events.js';
import { type HoldApplyReply, type HoldApplyRequest, holdApply, type SettleRequest } from '#contracts/billing/holds.js';
import { ServiceError } from '#contracts/service-error.js';
import { MessagingError } from '#messaging/messaging.js';
import { FakeMessaging } from '#testing/fake-messaging.js';
import { FakeServices, TEST_CALLER } from '#testing/fake-services.js';
import { BillingReplicas } from './billing-replicas.js';
import { HoldBatches } from './hold-batches.js';

function settleRequest(number: number): SettleRequest {
  return { holdId: `hold-${number}`, accountId: TEST_CALLER.accountId, reason: 'completed' };
}

function batches(beforeApply: FakeServices['beforeApply'] = () => undefined) {
  const fakes = new FakeServices();
  const sizes: [settles: number, reserves: number][] = [];
  fakes.beforeApply = (request: HoldApplyRequest) => {
    sizes.push([request.settles.length, request.reserves.length]);
    return beforeApply(request);
  };
  return { sizes, fakes, subject: new HoldBatches(fakes.messaging, new BillingReplicas(fakes.messaging), 1_000) };
}

const numbers = (count: number): number[] => [...Array(count).keys()];

test('requests of one event loop turn share one message, and each gets its own answer', async () => {
  const { sizes, subject } = batches();
  const outcomes = await Promise.all(numbers(40).map((number) => subject.settle(settleRequest(number))));
  expect(outcomes).toEqual(numbers(40).map((number) => ({ status: 'settled', holdId: `hold-${number}`, costPicoUsd: '0' })));
  expect(sizes).toEqual([[40, 0]]);
});

test('requests that arrive while a message is in flight share the next one', async () => {
  const answerFirst = Promise.withResolvers<undefined>();
  const firstSent = Promise.withResolvers<undefined>();
  const { sizes, subject } = batches(() => {
    firstSent.resolve(undefined);
    return answerFirst.promise;
  });
  const first = subject.settle(settleRequest(0));
  await firstSent.promise;
  const others: Promise<unknown>[] = [];
  for (const number of [1, 2, 3]) {
    others.push(subject.settle(settleRequest(number)));
    await new Promise((resolve) => setImmediate(resolve));
  }
  answerFirst.resolve(undefined);
  await Promise.all([first, ...others]);
  expect(sizes).toEqual([
    [1, 0],
    [3, 0],
  ]);
});

test('another account does not wait for a message in flight', async () => {
  const { sizes, subject } = batches(({ settles }) => (settles[0]?.holdId === 'hold-0' ? new Promise(() => undefined) : undefined));
  void subject.settle(settleRequest(0));
  await subject.settle({ ...settleRequest(1), accountId: TEST_CALLER.accountId.replace(/.$/, (last) => (last === '1' ? '2' : '1')) });
  expect(sizes).toEqual([
    [1, 0],
    [1, 0],
  ]);
});

test('a message without an answer delays the next one by 100 ms at most', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate'] });
  const firstSent = Promise.withResolvers<undefined>();
  const { subject } = batches(({ settles }) => {
    firstSent.resolve(undefined);
    return settles[0]?.holdId === 'hold-0' ? new Promise(() => undefined) : undefined;
  });
  void subject.settle(settleRequest(0));
  await firstSent.promise;
  const second = subject.settle(settleRequest(1));
  jest.advanceTimersByTime(100);
  expect(await second).toEqual({ status: 'settled', holdId: 'hold-1', costPicoUsd: '0' });
  jest.useRealTimers();
});

test('a message has at most 256 items', async () => {
  const { sizes, subject } = batches();
  await Promise.all(numbers(600).map((number) => subject.settle(settleRequest(number))));
  expect(sizes).toEqual([
    [256, 0],
    [256, 0],
    [88, 0],
  ]);
});

test('an invalid item is refused alone', async () => {
  const { subject } = batches(({ settles }) => {
    if (settles.some(({ holdId }) => holdId === 'hold-1')) throw new ServiceError('invalid_request', 'hold-1 is faulty', 'settles[1]');
  });
  const outcomes = await Promise.allSettled(numbers(3).map((number) => subject.settle(settleRequest(number))));
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});

test('an item that billing could not decide fails alone, with its error', async () => {
  const { fakes, subject } = batches();
  const settled = fakes.settleOutcome;
  fakes.settleOutcome = (settle) =>
    settle.holdId === 'hold-1'
      ? { status: 'failed', holdId: 'hold-1', code: 'unavailable', message: 'The queue is full.' }
      : settled(settle);
  const outcomes = await Promise.allSettled(numbers(3).map((number) => subject.settle(settleRequest(number))));
  const done = (number: number) => ({ status: 'fulfilled', value: { status: 'settled', holdId: `hold-${number}`, costPicoUsd: '0' } });
  expect(outcomes).toEqual([done(0), { status: 'rejected', reason: new ServiceError('unavailable', 'The queue is full.') }, done(2)]);
});

test('a failed message fails all its items', async () => {
  const { subject } = batches(() => {
    throw new MessagingError('timeout', 'no answer');
  });
  const outcomes = await Promise.allSettled(numbers(3).map((number) => subject.settle(settleRequest(number))));
  expect(outcomes).toEqual(numbers(3).map(() => ({ status: 'rejected', reason: expect.any(MessagingError) })));
});

describe('with two replicas', () => {
  const [FIRST, SECOND] = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002'] as const;
  /** The account of `settleRequest` belongs to the second replica. */
  const OWN = holdApply.at(SECOND);

  /** `ownReplica` answers at the account's replica; the other replica, or any, answers all others. */
  function twoReplicas(ownReplica: (request: HoldApplyRequest) => Promise<HoldApplyReply>) {
    const messaging = new FakeMessaging();
    const sent: string[] = [];
    const settled = (replica: string, { settles }: HoldApplyRequest): HoldApplyReply => {
      sent.push(replica);
      return { settles: settles.map(({ holdId }) => ({ status: 'settled', holdId, costPicoUsd: '0' })), reserves: [] };
    };
    messaging.answer(holdApply, (request) => settled('any', request));
    messaging.answer(holdApply.at(FIRST), (request) => settled('other', request));
    messaging.answer(OWN, async (request) => {
      sent.push('own');
      return await ownReplica(request);
    });
    const replicas = new BillingReplicas(messaging);
    replicas.onModuleInit();
    const announce = (): void => {
      for (const replicaId of [FIRST, SECOND]) messaging.publish(replicaReady, { replicaId });
    };
    announce();
    return { announce, sent, subject: new HoldBatches(messaging, replicas, 1_000) };
  }

  const settledBy = (holdId: string) => ({ status: 'settled' as const, holdId, costPicoUsd: '0' });
  const succeeds = async ({ settles }: HoldApplyRequest) => ({ settles: settles.map(({ holdId }) => settledBy(holdId)), reserves: [] });

  test("an account's messages go to its replica", async () => {
    const { sent, subject } = twoReplicas(succeeds);
    await subject.settle(settleRequest(1));
    await subject.settle(settleRequest(2));
    expect(sent).toEqual(['own', 'own']);
  });

  test('a message to a replica that is gone goes to any replica, and the next ones to the other until it announces itself', async () => {
    const { announce, sent, subject } = twoReplicas(() => Promise.reject(new MessagingError('unavailable', 'No service listens.')));
    expect(await subject.settle(settleRequest(1))).toEqual(settledBy('hold-1'));
    await subject.settle(settleRequest(2));
    announce();
    await subject.settle(settleRequest(3));
    expect(sent).toEqual(['own', 'any', 'other', 'own', 'any']);
  });

  test('after a message without an answer the next one goes to the other replica', async () => {
    const { sent, subject } = twoReplicas(() => Promise.reject(new MessagingError('timeout', 'No answer.')));
    await expect(subject.settle(settleRequest(1))).rejects.toEqual(new MessagingError('timeout', 'No answer.'));
    await subject.settle(settleRequest(2));
    expect(sent).toEqual(['own', 'other']);
  });

  test('after an item that the replica could not decide the next message goes to the other replica', async () => {
    const undecided = { status: 'failed', holdId: 'hold-1', code: 'unavailable', message: 'The database is away.' } as const;
    const { sent, subject } = twoReplicas(async () => ({ settles: [undecided], reserves: [] }));
    await expect(subject.settle(settleRequest(1))).rejects.toEqual(new ServiceError('unavailable', 'The database is away.'));
    await subject.settle(settleRequest(2));
    expect(sent).toEqual(['own', 'other']);
  });

  test('while the replica is slow the next message goes to any replica', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    const firstSent = Promise.withResolvers<void>();
    const { sent, subject } = twoReplicas(() => {
      firstSent.resolve();
      return new Promise(() => undefined);
    });
    void subject.settle(settleRequest(1));
    await firstSent.promise;
    const second = subject.settle(settleRequest(2));
    jest.advanceTimersByTime(100);
    expect(await second).toEqual(settledBy('hold-2'));
    expect(sent).toEqual(['own', 'any']);
    jest.useRealTimers();
  });
});
