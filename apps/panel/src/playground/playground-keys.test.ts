import { setImmediate } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { pino } from 'pino';
import type { PanelRequest } from '../requests/panel-request.js';
import { KEYS_MAX, PERSON_KEYS_MAX, type PlaygroundKey, PlaygroundKeys, RUN_MS_MAX } from './playground-keys.js';

const HOUR_MS = 3_600_000;

let alive: Set<string>;
let calls: string[];
let failure: Error | undefined;
let keys: PlaygroundKeys;

beforeEach(() => {
  jest.useFakeTimers({ now: 0, doNotFake: ['setImmediate', 'nextTick'] });
  alive = new Set(['one', 'two']);
  calls = [];
  failure = undefined;
  const answer = async (call: string) => {
    calls.push(call);
    if (failure) throw failure;
    return {} as never;
  };
  const services = {
    change: (_request: unknown, { subject }: { subject: string }) => answer(subject),
    changeAs: ({ actor }: { actor: string }, { subject }: { subject: string }, { keyId }: { keyId?: string }) =>
      answer(`${subject} ${keyId} by ${actor}`),
  };
  keys = new PlaygroundKeys(
    services as never,
    {
      alive: async () => {
        await setImmediate();
        await setImmediate();
        return alive;
      },
    },
    pino({ level: 'silent' }),
  );
});
afterEach(() => jest.useRealTimers());

const request = (session: string | undefined, userId = 'ada'): PanelRequest =>
  ({ caller: { actor: 'token/x', actorName: 'ada@example.com', userId, session: session && { id: session } } }) as never;

/** Sends a request that has ended. */
function used(session: string | undefined, projectId: string, userId?: string): PlaygroundKey {
  const key = keys.take(request(session, userId), projectId);
  keys.giveBack(key);
  return key;
}

const revocation = (keyId: string): string => `billing.v1.key.revoke ${keyId} by service/panel`;

test('a key that would end during a request is left to its end, and another is made', () => {
  const first = keys.take(request('one'), 'web');
  jest.setSystemTime(HOUR_MS - RUN_MS_MAX - 1);
  expect(keys.take(request('one'), 'web')).toBe(first);
  jest.setSystemTime(HOUR_MS - RUN_MS_MAX);
  expect(keys.take(request('one'), 'web')).not.toBe(first);
});

test('a key that could not be made is made anew', async () => {
  failure = new Error('no answer');
  const failed = keys.take(request('one'), 'web');
  await expect(failed.created).rejects.toBe(failure);
  expect(keys.take(request('one'), 'web')).not.toBe(failed);
});

test('keys of sessions that are over are revoked, also those about to end; a failed revocation is repeated', async () => {
  const [old, other] = [keys.take(request('one'), 'web'), keys.take(request('two'), 'web')];
  jest.setSystemTime(HOUR_MS - 1);
  const fresh = keys.take(request('one'), 'web');
  calls = [];
  alive.delete('one');
  failure = new Error('no answer');
  await keys.sweep();
  failure = undefined;
  await keys.sweep();
  await keys.sweep();
  const both = [revocation(old.keyId), revocation(fresh.keyId)];
  expect(calls).toEqual([...both, ...both]);
  expect([old, fresh, other].map(({ over }) => over.signal.aborted)).toEqual([true, true, false]);
});

test('a key that is made while sessions are looked up is kept', async () => {
  used('two', 'web');
  const sweeping = keys.sweep();
  await setImmediate();
  const fresh = used('three', 'web');
  await sweeping;
  expect(fresh.over.signal.aborted).toBe(false);
});

test('keys of tokens live until their end', async () => {
  const key = keys.take(request(undefined), 'web');
  alive.clear();
  await keys.sweep();
  expect(keys.take(request(undefined), 'web')).toBe(key);
});

test('requests that the gateway refuses all use one key: each would be a row for ever [sec-panel-shares]', () => {
  const refused = Array.from({ length: 60 }, () => used('one', 'web'));
  expect(new Set(refused).size).toBe(1);
  expect(calls).toEqual(['billing.v1.key.create']);
});

test('beyond the share of a person their longest unused key is replaced, and keys of others stay [sec-panel-shares]', () => {
  used('two', 'web', 'bob');
  const own = Array.from({ length: PERSON_KEYS_MAX }, (_, at) => used('one', `${at}`));
  expect(used('one', '0')).toBe(own[0]);
  calls = [];
  used('one', 'next');
  expect(calls).toEqual([revocation(own[1]?.keyId ?? ''), 'billing.v1.key.create']);
});

test('a person all of whose keys are in use gets no other', () => {
  for (let at = 0; at < PERSON_KEYS_MAX; at++) keys.take(request('one'), `${at}`);
  expect(() => keys.take(request('one'), 'next')).toThrow(expect.objectContaining({ code: 'rate_limit_exceeded' }));
  keys.take(request('two', 'bob'), 'web');
});

test('when all places are taken, the longest unused key of all is replaced [sec-panel-shares]', () => {
  const [oldest] = Array.from({ length: KEYS_MAX }, (_, at) => used(`${at}`, 'web', `${at}`));
  calls = [];
  used('next', 'web', 'next');
  expect(calls).toEqual([revocation(oldest?.keyId ?? ''), 'billing.v1.key.create']);
});

test('a panel that stops revokes every key', async () => {
  const held = [keys.take(request('one'), 'web'), keys.take(request(undefined), 'web')];
  calls = [];
  await keys.onApplicationShutdown();
  expect(calls).toEqual(held.map(({ keyId }) => revocation(keyId)));
});
