import { type ChildKeyResolveRequest, childKeyResolve } from '#contracts/billing/child-keys.js';
import { keyChanged } from '#contracts/billing/events.js';
import { type Delegation, keyResolve, type ResolvedKey } from '#contracts/billing/keys.js';
import { parseChildKey, proveSignature, type SentChildKey } from '#contracts/child-keys/child-key.js';
import { mintChild } from '#contracts/child-keys/narrow-child.js';
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

describe('child keys', () => {
  const parent = { keyId: TEST_CALLER.keyId, signingKey: Buffer.alloc(32, 7), levels: [], limit: 500n, endsAt: Number.POSITIVE_INFINITY };
  const delegation = { signingKey: parent.signingKey.toString('base64'), limitPicoUsd: '500' };

  function setUpChildren() {
    const all = setUp();
    const questions: ChildKeyResolveRequest[] = [];
    const answerParent = (how: () => ResolvedKey | Promise<ResolvedKey>): void =>
      all.messaging.answer(childKeyResolve, (question) => {
        questions.push(question);
        return how();
      });
    answerParent(() => ({ ...TEST_CALLER, models: ['sim-*'], delegation }));
    return { ...all, questions, answerParent };
  }

  test('one question about their key serves all of its child keys, without a signature in it', async () => {
    const { keys, questions } = setUpChildren();
    const first = mintChild(parent, { seconds: 60, models: ['*-fast'], tags: { team: 'a' }, limitPicoUsd: '9' });
    const second = mintChild({ ...parent, levels: first.levels }, { seconds: 30, limitPicoUsd: '5', networks: ['10.0.0.0/8'] });
    const [of1, of2] = [(await keys.resolve(first.key)) as Caller, (await keys.resolve(second.key)) as Caller];
    expect([of1.child, of2.child]).toEqual([
      { path: first.levels[0]?.path, limitsPicoUsd: ['9'], tags: new Map([['team', 'a']]) },
      { path: second.levels[1]?.path, limitsPicoUsd: ['9', '5'], tags: new Map([['team', 'a']]) },
    ]);
    const models = ['sim-fast', 'sim-large', 'gpt-fast'];
    expect(models.map((model) => of2.mayUse?.(model))).toEqual([true, false, false]);
    expect(['10.1.1.1', '11.1.1.1'].map((address) => [of1.mayCallFrom?.(address), of2.mayCallFrom?.(address)])).toEqual([
      [undefined, true],
      [undefined, false],
    ]);
    const sent = parseChildKey(first.key) as SentChildKey;
    expect(questions).toEqual([{ signed: sent.signed, proof: proveSignature(sent.signature) }]);
  });

  test('many at once are one question', async () => {
    const { keys, questions } = setUpChildren();
    await Promise.all(Array.from({ length: 20 }, async () => keys.resolve(mintChild(parent, { seconds: 60 }).key)));
    expect(questions).toHaveLength(1);
  });

  test('a forged one that is looked up first does not refuse those that are signed', async () => {
    const { keys, questions, answerParent, refuse } = setUpChildren();
    answerParent(() => (questions.length === 1 ? refuse() : { ...TEST_CALLER, delegation }));
    const forged = mintChild({ ...parent, signingKey: Buffer.alloc(32) }, { seconds: 60 });
    const signed = mintChild(parent, { seconds: 60 });
    expect(await Promise.all([resolved(keys, forged.key), resolved(keys, signed.key)])).toEqual([
      'invalid_api_key',
      expect.objectContaining({ keyId: TEST_CALLER.keyId }),
    ]);
    expect([await resolved(keys, forged.key), questions.length]).toEqual(['invalid_api_key', 2]);
  });

  test.each<[string, Partial<Delegation> | undefined]>([
    ['a revoked one', {}],
    ['one whose key may have no child keys any more', undefined],
    ['one of an earlier budget', { signingKey: Buffer.alloc(32, 8).toString('base64') }],
  ])('%s is refused from the announcement on', async (name, changed) => {
    const { keys, messaging, answerParent } = setUpChildren();
    const { key, levels } = mintChild(parent, { seconds: 60 });
    await keys.resolve(key);
    const revoked = name === 'a revoked one' ? { revoked: [levels[0]?.path ?? ''] } : {};
    answerParent(() => ({ ...TEST_CALLER, ...(changed && { delegation: { ...delegation, ...changed, ...revoked } }) }));
    messaging.publish(keyChanged, { keyId: TEST_CALLER.keyId, projectId: TEST_CALLER.projectId });
    expect(await resolved(keys, key)).toBe('invalid_api_key');
  });

  test('one that has ended is refused without a question', async () => {
    const { keys, questions } = setUpChildren();
    const { key } = mintChild(parent, { seconds: 1 }, Date.now() - 2_000);
    expect([await resolved(keys, key), questions.length]).toEqual(['invalid_api_key', 0]);
  });
});
