import { TEST_CALLER } from '#testing/fake-services.js';
import { toCaller } from './caller.js';

test('a key without lists has no checks', () => {
  expect(toCaller(TEST_CALLER)).toEqual(TEST_CALLER);
});

test.each([
  ['gpt-*', ['gpt-', 'gpt-4o', 'gpt-4o/mini'], ['GPT-4o', 'my-gpt-4o', 'gpt']],
  ['*-mini', ['o3-mini', '-mini'], ['o3-mini-2', 'mini']],
  ['a*b*c', ['abc', 'a-b-c', 'abcbc'], ['acb', 'ab', 'xabc', 'abcx']],
  ['ab*ba', ['abba', 'ab-ba'], ['aba']],
  ['*', ['a', ''], []],
  ['o3', ['o3'], ['o3-mini', 'O3']],
  ['o.', ['o.'], ['o3']],
])('the pattern %s of models', (pattern, allowed, refused) => {
  const { mayUse } = toCaller({ ...TEST_CALLER, models: [pattern] });
  expect([...allowed, ...refused].filter((id) => mayUse?.(id))).toEqual(allowed);
});

test('several patterns allow what one of them allows', () => {
  const { mayUse } = toCaller({ ...TEST_CALLER, models: ['o3', 'gpt-*'] });
  expect(['o3', 'gpt-4o', 'o1'].map((id) => mayUse?.(id))).toEqual([true, true, false]);
});

test('many stars take no more than a moment', () => {
  const { mayUse } = toCaller({ ...TEST_CALLER, models: [`${'*a'.repeat(100)}b`] });
  expect(mayUse?.('a'.repeat(256))).toBe(false);
});

test.each([
  ['10.0.0.0/8', ['10.0.0.0', '10.255.255.255', '::ffff:10.1.2.3'], ['11.0.0.0', '9.255.255.255', '::1']],
  ['10.1.2.3', ['10.1.2.3', '::ffff:10.1.2.3'], ['10.1.2.4']],
  ['10.1.2.3/8', ['10.9.9.9'], ['11.1.2.3']],
  ['0.0.0.0/0', ['1.2.3.4'], ['2001:db8::1']],
  ['2001:db8::/32', ['2001:db8::1', '2001:db8:ffff::'], ['2001:db9::1', '10.0.0.1']],
  ['2001:db8::1', ['2001:db8:0::1'], ['2001:db8::2']],
  ['::/0', ['::1'], ['', 'localhost']],
])('the network %s of clients', (network, allowed, refused) => {
  const { mayCallFrom } = toCaller({ ...TEST_CALLER, networks: [network] });
  expect([...allowed, ...refused].filter((address) => mayCallFrom?.(address))).toEqual(allowed);
});
