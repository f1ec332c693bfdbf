import type { SystemTurn, Turn, UserTurn } from '#inference/turn.js';
import { affinity, hashText, prefixKey } from './prompt-prefix.js';

const system = (text: string): SystemTurn => ({ role: 'system', parts: [{ type: 'text', text }] });
const user = (text: string): UserTurn => ({ role: 'user', parts: [{ type: 'text', text }] });
const assistant = (text: string): Turn => ({ role: 'assistant', parts: [{ type: 'text', text }] });
const computeKey = (...turns: Turn[]): number => prefixKey({ model: 'm', turns });

test('every request of a conversation has the same key', () => {
  const opening = [system('Be brief.'), user('Hello')];
  expect(computeKey(...opening, assistant('Hi'), user('More'))).toBe(computeKey(...opening));
});

test.each<[string, number]>([
  ['another model', prefixKey({ model: 'n', turns: [system('Be brief.'), user('Hello')] })],
  ['another system prompt', computeKey(system('Be long.'), user('Hello'))],
  ['another first word', computeKey(system('Be brief.'), user('Goodbye'))],
  ['a text cut elsewhere', computeKey(system('Be brief.H'), user('ello'))],
  ['another role', computeKey(user('Be brief.'), user('Hello'))],
])('%s has another', (_, key) => {
  expect(key).not.toBe(computeKey(system('Be brief.'), user('Hello')));
});

test('what is looked at is bounded, and a long system prompt does not hide the conversation', () => {
  const long = 'x'.repeat(1_024);
  expect(computeKey(system(`${long}a`), user('Hello'))).toBe(computeKey(system(`${long}b`), user('Hello')));
  expect(computeKey(system(`${long}a`), user('Hello'))).not.toBe(computeKey(system(`${long}a`), user('Goodbye')));
});

/** Returns the route that each of 10,000 conversations prefers. */
function preferences(routes: Record<string, number>): string[] {
  return Array.from({ length: 10_000 }, (_, index) => {
    const key = computeKey(user(`Question ${index}`));
    const liking = Object.entries(routes).map(([name, weight]) => ({ name, liking: affinity(key, hashText(name), weight) }));
    return liking.reduce((best, other) => (other.liking > best.liking ? other : best)).name;
  });
}

test('conversations spread by weight', () => {
  const share = Object.groupBy(preferences({ a: 1, b: 1, c: 2 }), (name) => name);
  const percent = Object.fromEntries(Object.entries(share).map(([name, list]) => [name, Math.round((list?.length ?? 0) / 100)]));
  expect(percent).toEqual({ a: expect.closeTo(25, -0.5), b: expect.closeTo(25, -0.5), c: expect.closeTo(50, -0.5) });
});

test('when a route goes, only its own conversations move', () => {
  const before = preferences({ a: 1, b: 1, c: 1 });
  const after = preferences({ a: 1, b: 1 });
  const moved = before.filter((name, index) => name !== after[index]);
  expect(new Set(moved)).toEqual(new Set(['c']));
});
