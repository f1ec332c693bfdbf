import { attributeItem } from './attribute-item.js';

const PATH = '1798761600-9f86d081884c7d65';
const child = { path: PATH, limitsPicoUsd: ['1'], tags: new Map([['team', 'search']]) };
const tagsNamed = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`tag:t${index}`, 'a']));

test('what a service names is kept, and a child key adds itself and its tags', () => {
  expect(attributeItem({ session: 'a' }, {})).toEqual({ session: 'a' });
  expect(attributeItem(undefined, {})).toBeUndefined();
  const named = { session: 'a', 'tag:team': 'other' };
  expect(attributeItem(named, { child })).toEqual({ session: 'a', 'tag:team': 'search', child: PATH });
  expect(named).toEqual({ session: 'a', 'tag:team': 'other' });
});

test.each([
  ['child', { child: PATH }],
  ['policy', { policy: 'secrets' }],
  ['policy-verdict', { 'policy-verdict': 'allowed' }],
])('a service that names %s is refused', (dimension, named) => {
  expect(() => attributeItem(named, { child })).toThrow(`attribution must not have ${dimension}: a child key pays by its apiKey.`);
});

test('a service may name as many tags as the child key leaves', () => {
  expect(Object.keys(attributeItem(tagsNamed(15), { child }) ?? {})).toHaveLength(17);
  expect(() => attributeItem(tagsNamed(16), { child })).toThrow('attribution must have at most 16 tags, with those of the child key.');
});
