import { noCredential } from './credential.js';
import { TokenKeeper } from './token-keeper.js';

/** Answers of the endpoint, in turn: a lifetime in seconds, or a failure. */
let answers: (number | 'fails')[];
let asked: number;
let reports: (string | undefined)[];
let keeper: TokenKeeper<string>;

beforeEach(() => {
  jest.useFakeTimers();
  [answers, asked, reports] = [[3_600], 0, []];
  keeper = new TokenKeeper(
    async () => {
      const answer = answers[asked++] ?? 3_600;
      if (answer === 'fails') throw noCredential(`failure ${asked}`);
      return { token: `token-${asked}`, lifetimeMs: answer * 1_000 };
    },
    (failure) => reports.push(failure?.detail),
  );
});
afterEach(() => {
  keeper.close();
  jest.useRealTimers();
});

const SECOND = 1_000;

test('asks at the first use, once for all callers, and then gives the token without a promise', async () => {
  expect(await Promise.all([keeper.get(), keeper.get(), keeper.get()])).toEqual(['token-1', 'token-1', 'token-1']);
  expect([keeper.get(), asked, reports]).toEqual(['token-1', 1, []]);
});

test.each([
  ['five minutes before the end of an hour', 3_600, 3_300],
  ['after four fifths of ten minutes', 600, 480],
])('renews %s, while the old token is used', async (_title, lifetime, at) => {
  answers = [lifetime];
  await keeper.get();
  await jest.advanceTimersByTimeAsync((at - 1) * SECOND);
  expect([keeper.get(), asked]).toEqual(['token-1', 1]);
  await jest.advanceTimersByTimeAsync(SECOND);
  expect([keeper.get(), asked]).toEqual(['token-2', 2]);
});

test('a renewal that fails leaves the token in use to its end, is tried again, and is reported once', async () => {
  answers = [600, 'fails', 'fails', 600];
  await keeper.get();
  await jest.advanceTimersByTimeAsync(480 * SECOND);
  expect([keeper.get(), keeper.isUsable, reports]).toEqual(['token-1', true, ['failure 2']]);
  await jest.advanceTimersByTimeAsync(3 * SECOND);
  expect([keeper.get(), reports]).toEqual(['token-4', ['failure 2', 'failure 3', undefined]]);
});

test('without a token calls fail at once with the last failure, until one of the tries in the background succeeds', async () => {
  answers = ['fails', 'fails', 3_600];
  await expect(async () => keeper.get()).rejects.toThrow();
  expect(() => keeper.get()).toThrow(expect.objectContaining({ detail: 'failure 1' }));
  expect([keeper.isUsable, asked]).toEqual([false, 1]);
  await jest.advanceTimersByTimeAsync(3 * SECOND);
  expect([keeper.get(), keeper.isUsable, asked]).toEqual(['token-3', true, 3]);
});

test('tries again ever more seldom, at least once a minute', async () => {
  answers = new Array(1_000).fill('fails');
  await keeper.refresh().catch(() => {});
  await jest.advanceTimersByTimeAsync(3_600 * SECOND);
  expect(asked).toBeGreaterThanOrEqual(60);
  expect(asked).toBeLessThanOrEqual(130);
});

test('a token is used no more shortly before its end', async () => {
  answers = [600, ...new Array(1_000).fill('fails')];
  await keeper.get();
  await jest.advanceTimersByTimeAsync(569 * SECOND);
  expect(keeper.get()).toBe('token-1');
  await jest.advanceTimersByTimeAsync(SECOND);
  expect(() => keeper.get()).toThrow();
});

describe('a rejected token', () => {
  test('is replaced, by one request for all callers', async () => {
    await keeper.get();
    expect(await Promise.all([keeper.renew('token-1'), keeper.renew('token-1')])).toEqual([true, true]);
    expect([keeper.get(), await keeper.renew('token-1'), asked]).toEqual(['token-2', true, 2]);
  });

  test('is replaced once a minute', async () => {
    await keeper.get();
    await keeper.renew('token-1');
    expect([await keeper.renew('token-2'), asked]).toEqual([false, 2]);
    await jest.advanceTimersByTimeAsync(60 * SECOND);
    expect([await keeper.renew('token-2'), asked]).toEqual([true, 3]);
  });

  test('is not used again when there is no other', async () => {
    answers = [3_600, 'fails'];
    await keeper.get();
    await expect(keeper.renew('token-1')).rejects.toThrow();
    expect(() => keeper.get()).toThrow(expect.objectContaining({ detail: 'failure 2' }));
  });
});

test('asks no more once it is closed', async () => {
  await keeper.get();
  keeper.close();
  await jest.advanceTimersByTimeAsync(7_200 * SECOND);
  expect(asked).toBe(1);
});
