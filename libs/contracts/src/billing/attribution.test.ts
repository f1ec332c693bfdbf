import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { validatePayload } from '#validation/validate-payload.js';
import { AttributionOf, normalizeValue } from './attribution.js';
import { BudgetSetRequest } from './budgets.js';

class Named {
  @AttributionOf() attribution!: Record<string, string>;
}

const namedBy = (attribution: unknown) => validatePayload(Named, { attribution }).attribution;

test.each([
  ['spaces around it', '  alice\u00a0\u3000'],
  ['an invisible character', 'al\u200bi\u00adce\ufeff'],
  ['full-width letters', 'ａｌｉｃｅ'],
])('a user with %s is the same user, of a request and of a budget', (_name, user) => {
  const budget = { accountId: randomUUID(), dimension: 'user', value: user, period: 'day', limitPicoUsd: '1' };
  expect([namedBy({ user }), validatePayload(BudgetSetRequest, budget).value]).toEqual([{ user: 'alice' }, 'alice']);
});

test.each([
  ['upper case', 'Alice', 'Alice'],
  ['letters of their own', 'jürgen 日本', 'jürgen 日本'],
  ['combining characters, which become one', 'ju\u0308rgen', 'jürgen'],
])('a value keeps %s', (_name, text, expected) => {
  expect(normalizeValue(text)).toBe(expected);
});

test('a value of which nothing is left is absent from a request, and refused as that of a budget', () => {
  const budget = { accountId: randomUUID(), dimension: 'user', value: ' \u200b ', period: 'day', limitPicoUsd: '1' };
  expect(namedBy({ user: ' \u200b ', client: 'curl' })).toEqual({ client: 'curl' });
  expect(() => validatePayload(BudgetSetRequest, budget)).toThrow(expect.objectContaining({ code: 'invalid_request', param: 'value' }));
});

test('an agent with the agent that started it is an attribution, and no budget is of the latter', () => {
  const attribution = { agent: 'a', 'parent-agent': ' p' };
  const budget = (dimension: string) => ({ accountId: randomUUID(), dimension, period: 'day', limitPicoUsd: '1' });
  expect([namedBy(attribution), validatePayload(BudgetSetRequest, budget('agent')).dimension]).toEqual([
    { agent: 'a', 'parent-agent': 'p' },
    'agent',
  ]);
  expect(() => validatePayload(BudgetSetRequest, budget('parent-agent'))).toThrow(
    expect.objectContaining({ code: 'invalid_request', param: 'dimension' }),
  );
});

test.each([[['alice']], ['alice'], [{ user: 7 }], [{ user: 'a\u0000b' }], [{ user: 'u'.repeat(257) }], [{ who: 'alice' }]])(
  'an attribution of %j is refused',
  (attribution) => {
    expect(() => namedBy(attribution)).toThrow(expect.objectContaining({ code: 'invalid_request', param: 'attribution' }));
  },
);

test('the form of a form is the form itself, so that the gateway and billing agree', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: 'grapheme' }),
    fc.string({ unit: fc.constantFrom('e', '\u0301', ' ', '\u200d', 'ﷺ', 'ﾠ') }),
  );
  fc.assert(
    fc.property(text, (value) => {
      const once = normalizeValue(value);
      expect([normalizeValue(once), normalizeValue(` ${value}\u200b `)]).toEqual([once, once]);
    }),
  );
});
