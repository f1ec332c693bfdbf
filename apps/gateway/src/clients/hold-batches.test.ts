import type { HoldApplyRequest, SettleRequest } from '#contracts/billing/holds.js';
import { ServiceError } from '#contracts/service-error.js';
import { MessagingError } from '#messaging/messaging.js';
import { FakeServices, TEST_CALLER } from '#testing/fake-services.js';
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
  return { sizes, fakes, subject: new HoldBatches(fakes.messaging, 1_000) };
}

const numbers = (count: number): number[] => [...Array(count).keys()];

test('what one turn brings together goes as one message, and each gets its own answer', async () => {
  const { sizes, subject } = batches();
  const outcomes = await Promise.all(numbers(40).map((number) => subject.settle(settleRequest(number))));
  expect(outcomes).toEqual(numbers(40).map((number) => ({ status: 'settled', holdId: `hold-${number}`, costPicoUsd: '0' })));
  expect(sizes).toEqual([[40, 0]]);
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

test('a faulty item is refused alone', async () => {
  const { subject } = batches(({ settles }) => {
    if (settles.some(({ holdId }) => holdId === 'hold-1')) throw new ServiceError('invalid_request', 'hold-1 is faulty', 'settles[1]');
  });
  const outcomes = await Promise.allSettled(numbers(3).map((number) => subject.settle(settleRequest(number))));
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});

test('a message that fails fails for all of its items', async () => {
  const { subject } = batches(() => {
    throw new MessagingError('timeout', 'no answer');
  });
  const outcomes = await Promise.allSettled(numbers(3).map((number) => subject.settle(settleRequest(number))));
  expect(outcomes).toEqual(numbers(3).map(() => ({ status: 'rejected', reason: expect.any(MessagingError) })));
});
