import { jest } from '@jest/globals';
import { Endpoint, Topic } from '#contracts/endpoint.js';
import { RevisionChanged, type Revisioned, RevisionRequest } from '#contracts/revisions.js';
import { createLogger } from '#observability/logger.js';
import { FakeMessaging } from '#testing/fake-messaging.js';
import { MessagingError } from './messaging.js';
import { RevisionFollower } from './revision-follower.js';

const endpoint = new Endpoint<RevisionRequest, Revisioned>('test.v1.thing.list', RevisionRequest, { about: 'The thing' });
const changed = new Topic('test.v1.event.changed', RevisionChanged, 'The thing has changed');
const UNAVAILABLE = new MessagingError('unavailable', 'No service listens on it.');

type Answer = Revisioned | Error | Promise<Revisioned>;

/**
 * A follower whose requests get `answers` in order, the last one repeatedly. `applied` has the applied revisions, `asked` the known
 * revision and time of each request.
 */
function follow(answers: Answer[], refreshMs = 30_000) {
  const messaging = new FakeMessaging();
  const asked: { known: number | undefined; at: number }[] = [];
  const applied: number[] = [];
  messaging.answer(endpoint, ({ known }) => {
    asked.push({ known, at: Date.now() });
    const answer = answers[Math.min(asked.length, answers.length) - 1];
    if (answer === undefined || answer instanceof Error) throw answer ?? UNAVAILABLE;
    return answer;
  });
  const apply = ({ revision }: Revisioned): unknown => applied.push(revision);
  const followed = { endpoint, changed, refreshMs, apply };
  const follower = new RevisionFollower(messaging, followed, createLogger('test', 'silent'));
  const stop = follower.start();
  const announce = (revision: number): void => messaging.publish(changed, { revision });
  return { messaging, announce, asked, applied, stop, known: () => asked.map(({ known }) => known) };
}

beforeEach(() => jest.useFakeTimers({ now: 0 }));
afterEach(() => jest.useRealTimers());

const passed = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

test('requests at start, on an announcement, after a reconnect and at its interval', async () => {
  const { messaging, announce, known, applied, stop } = follow([{ revision: 1 }, { revision: 2 }, { revision: 3 }, { revision: 3 }]);
  await passed(0);
  announce(2);
  await passed(0);
  messaging.reconnect();
  await passed(30_000);
  expect([known(), applied]).toEqual([
    [0, 2, 2, 3],
    [1, 2, 3, 3],
  ]);
  stop();
  announce(4);
  messaging.reconnect();
  await passed(60_000);
  expect(known()).toEqual([0, 2, 2, 3]);
});

test('retries while the answer is older than the announced revision', async () => {
  const { announce, asked, applied } = follow([{ revision: 7 }, { revision: 7 }, { revision: 7 }, { revision: 8 }]);
  await passed(10);
  announce(8);
  await passed(1_000);
  expect(asked).toEqual([
    { known: 0, at: 0 },
    { known: 8, at: 10 },
    { known: 8, at: 30 },
    { known: 8, at: 70 },
  ]);
  expect(applied).toEqual([7, 8]);
});

test('does not apply an older answer', async () => {
  const { applied } = follow([{ revision: 8 }, { revision: 7 }, { revision: 8 }], 1_000);
  await passed(1_100);
  expect(applied).toEqual([8, 8]);
});

test('follows an owner that went back', async () => {
  const { announce, applied, known } = follow([{ revision: 8 }, { revision: 5, wentBack: true }, { revision: 6 }]);
  await passed(0);
  announce(5);
  await passed(29_999);
  expect(known()).toEqual([0, 8]);
  await passed(1);
  expect([known(), applied]).toEqual([
    [0, 8, 5],
    [8, 5, 6],
  ]);
});

test('an announced revision that does not exist is requested once, and lets no older revision in', async () => {
  const { announce, applied, known } = follow([
    { revision: 8 },
    { revision: 7, wentBack: true },
    { revision: 8 },
    { revision: 8, wentBack: true },
    { revision: 7 },
    { revision: 9 },
  ]);
  await passed(0);
  announce(1_000_000);
  await passed(100);
  expect([known(), applied]).toEqual([
    [0, 1_000_000, 8],
    [8, 8],
  ]);
  announce(1_000_000);
  await passed(0);
  announce(9);
  await passed(100);
  expect([known(), applied]).toEqual([
    [0, 1_000_000, 8, 1_000_000, 9, 9],
    [8, 8, 8, 9],
  ]);
});

test('after an owner went back below an announced revision, asks for its own revision first', async () => {
  const { announce, applied, known } = follow([{ revision: 8 }, { revision: 5, wentBack: true }]);
  await passed(0);
  announce(9);
  await passed(100);
  expect([known(), applied]).toEqual([
    [0, 9, 8],
    [8, 5],
  ]);
});

test('an announcement during a request leads to another request', async () => {
  const first = Promise.withResolvers<Revisioned>();
  const { announce, known, applied } = follow([first.promise, { revision: 2 }]);
  announce(2);
  await passed(0);
  expect(known()).toEqual([0]);
  first.resolve({ revision: 1 });
  await passed(0);
  expect([known(), applied]).toEqual([
    [0, 2],
    [1, 2],
  ]);
});

test('backs off without answers, up to a second or its interval', async () => {
  const waits = (asked: { at: number }[]): number[] => asked.slice(1).map(({ at }, index) => at - (asked[index]?.at ?? 0));
  const slow = follow([UNAVAILABLE]);
  const fast = follow([UNAVAILABLE], 100);
  await passed(4_300);
  expect(waits(slow.asked)).toEqual([20, 40, 80, 160, 320, 640, 1_000, 1_000, 1_000]);
  expect(waits(fast.asked).slice(0, 4)).toEqual([20, 40, 80, 100]);
});
