import { keyChanged } from '#contracts/billing/events.js';
import { keyResolve, type ResolvedKey } from '#contracts/billing/keys.js';
import { ServiceError } from '#contracts/service-error.js';
import { MessagingError } from '#messaging/messaging.js';
import { FakeMessaging } from '#testing/fake-messaging.js';
import { TEST_CALLER, testKey } from '#testing/fake-services.js';
import { ApiKeys } from './api-keys.js';
import type { Caller } from './caller.js';

const GOOD = testKey(1);
const BAD = testKey(2);

function setUp(entriesMax = 100) {
  const messaging = new FakeMessaging();
  const clock = { now: 0 };
  const keys = new ApiKeys(messaging, 5_000, entriesMax, () => clock.now);
  keys.onModuleInit();
  let asked = 0;
  const answer = (how: () => ResolvedKey | Promise<ResolvedKey>): void =>
    messaging.answer(keyResolve, () => {
      asked++;
      return how();
    });
  const refuse = (): never => {
    throw new ServiceError('invalid_api_key', 'no such key');
  };
  answer(() => TEST_CALLER);
  return { messaging, clock, keys, answer, refuse, asked: () => asked };
}

const resolved = async (keys: ApiKeys, key: string): Promise<unknown> => {
  try {
    return await keys.resolve(key);
  } catch (error) {
    return (error as { code: string }).code;
  }
};

test('an answer and a refusal are cached for `cacheMs`', async () => {
  const { keys, clock, answer, refuse, asked } = setUp();
  expect(await resolved(keys, GOOD)).toEqual(TEST_CALLER);
  answer(refuse);
  expect(await resolved(keys, BAD)).toBe('invalid_api_key');
  clock.now = 4_999;
  expect([await resolved(keys, GOOD), await resolved(keys, BAD), asked()]).toEqual([TEST_CALLER, 'invalid_api_key', 2]);
  clock.now = 5_000;
  expect([await resolved(keys, GOOD), await resolved(keys, BAD), asked()]).toEqual(['invalid_api_key', 'invalid_api_key', 4]);
});

test('a change whose announcement is lost is in force `cacheMs` after it, however long the answer before took', async () => {
  const { keys, clock, answer } = setUp();
  let models = ['sim-*'];
  answer(() => {
    const read = { ...TEST_CALLER, models };
    models = ['gpt-*'];
    clock.now += 3_000;
    return read;
  });
  const mayUse = async () => ((await keys.resolve(GOOD)) as Caller).mayUse?.('sim-fast');
  expect(await mayUse()).toBe(true);
  clock.now = 4_999;
  expect(await mayUse()).toBe(true);
  clock.now = 5_000;
  expect(await mayUse()).toBe(false);
});

test('an answer is cached no longer than its key is valid, counted from the question', async () => {
  const { keys, clock, answer, refuse, asked } = setUp();
  answer(() => {
    clock.now += 100;
    return { ...TEST_CALLER, validForMs: 2_000 };
  });
  expect(await resolved(keys, GOOD)).toEqual(TEST_CALLER);
  answer(refuse);
  clock.now = 1_999;
  expect([await resolved(keys, GOOD), asked()]).toEqual([TEST_CALLER, 1]);
  clock.now = 2_000;
  expect([await resolved(keys, GOOD), asked()]).toEqual(['invalid_api_key', 2]);
});

test('a key that outlives the cache is cached for `cacheMs`', async () => {
  const { keys, clock, answer, asked } = setUp();
  answer(() => ({ ...TEST_CALLER, validForMs: 60_000 }));
  await keys.resolve(GOOD);
  clock.now = 4_999;
  await keys.resolve(GOOD);
  expect(asked()).toBe(1);
  clock.now = 5_000;
  await keys.resolve(GOOD);
  expect(asked()).toBe(2);
});

test.each(['', 'a b', 'ümlaut', 'x'.repeat(257), `${GOOD}0`, GOOD.replace('1', '3')])('%j is refused without a look-up', async (key) => {
  const { keys, asked } = setUp();
  expect([await resolved(keys, key), asked()]).toEqual(['invalid_api_key', 0]);
});

test.each([
  ['its key', { projectId: TEST_CALLER.projectId, keyId: TEST_CALLER.keyId }, 'invalid_api_key'],
  ['its project', { projectId: TEST_CALLER.projectId }, 'invalid_api_key'],
  ['another key', { projectId: TEST_CALLER.projectId, keyId: TEST_CALLER.accountId }, TEST_CALLER],
] as const)('a revocation of %s', async (_name, event, expected) => {
  const { messaging, keys, answer, refuse } = setUp();
  await keys.resolve(GOOD);
  answer(refuse);
  messaging.publish(keyChanged, event);
  expect(await resolved(keys, GOOD)).toEqual(expected);
});

test('a reconnect clears the cache, because a revocation may have been missed', async () => {
  const { messaging, keys, answer, refuse } = setUp();
  await keys.resolve(GOOD);
  answer(refuse);
  messaging.reconnect();
  expect(await resolved(keys, GOOD)).toBe('invalid_api_key');
});

test('an answer that a revocation overtakes is not cached', async () => {
  const { messaging, keys, answer, refuse } = setUp();
  let reply: (caller: typeof TEST_CALLER) => void = () => undefined;
  answer(
    () =>
      new Promise((resolve) => {
        reply = resolve;
      }),
  );
  const first = keys.resolve(GOOD);
  messaging.publish(keyChanged, { projectId: TEST_CALLER.projectId });
  answer(refuse);
  expect(await resolved(keys, GOOD)).toBe('invalid_api_key');
  reply(TEST_CALLER);
  await first;
  expect(await resolved(keys, GOOD)).toBe('invalid_api_key');
});

test('wrong keys do not evict valid ones [limit-key-lookups]', async () => {
  const { keys, answer, refuse, asked } = setUp(10);
  await keys.resolve(GOOD);
  answer(refuse);
  for (let number = 0; number < 50; number++) await resolved(keys, testKey(100 + number));
  expect([await resolved(keys, GOOD), asked()]).toEqual([TEST_CALLER, 51]);
});

test('an unavailable billing service is not a wrong key', async () => {
  const { keys, answer } = setUp();
  answer(() => {
    throw new MessagingError('unavailable', 'no responders');
  });
  expect(await resolved(keys, GOOD)).toBe('model_unavailable');
  answer(() => TEST_CALLER);
  expect(await resolved(keys, GOOD)).toEqual(TEST_CALLER);
});

test('a key whose cached answer has expired is looked up at once, however many wrong keys are being looked up', async () => {
  const { keys, clock, answer, asked } = setUp(1_000);
  await keys.resolve(GOOD);
  answer(() => new Promise(() => undefined));
  for (let number = 0; number < 100; number++) void keys.resolve(testKey(100 + number));
  const lookups = asked();
  clock.now = 5_000;
  answer(() => TEST_CALLER);
  expect([lookups, await resolved(keys, GOOD)]).toEqual([1 + 64, TEST_CALLER]);
});
