import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { TEST_MODEL } from '#testing/fake-services.js';
import { testCases } from '#testing/long-run.js';
import { openQuote, parseQuote, type QuoteTerms, signQuote } from './signed-quote.js';

const KEY = randomBytes(32);
const TERMS: QuoteTerms = {
  ...{ accountId: 'a', format: 'chat', model: 'ünïcode/model', bodyDigest: 'd', price: TEST_MODEL.price, amountPicoUsd: '13800000' },
  ...{ outputTokensMax: 20, expiresAt: 1_796_000_000_000 },
};
const QUOTE = signQuote(TERMS, 498_888, KEY);

function open(text: string, key = KEY): QuoteTerms | undefined {
  const sent = parseQuote(text);
  return sent && openQuote(sent, key);
}

test('a quote fits a header, names its key, and has the terms that were signed', () => {
  expect(QUOTE).toMatch(/^[\w.-]{1,600}$/);
  expect([parseQuote(QUOTE)?.keyNumber, open(QUOTE)]).toEqual([498_888, TERMS]);
});

test('another key has not signed it', () => {
  expect(open(QUOTE, randomBytes(32))).toBeUndefined();
});

test.each([
  '',
  'q1',
  'q1.1.a.b',
  `${QUOTE}.`,
  `${QUOTE}a`,
  ` ${QUOTE}`,
  QUOTE.replace('q1', 'q2'),
  QUOTE.slice(0, -1),
  `${QUOTE}, ${QUOTE}`,
])('any other text is no quote: %#', (text) => {
  expect(open(text)).toBeUndefined();
});

testCases(
  'a quote with one changed character is refused',
  { usual: 2_000, long: 50_000 },
  fc.tuple(fc.nat(QUOTE.length - 1), fc.string({ minLength: 1, maxLength: 1 })),
  ([at, character]) => {
    fc.pre(character !== QUOTE[at]);
    expect(open(QUOTE.slice(0, at) + character + QUOTE.slice(at + 1))).toBeUndefined();
  },
);

test('every neighbour in base64 of every character is refused: no two texts are one quote', () => {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  for (let at = QUOTE.lastIndexOf('.') + 1; at < QUOTE.length; at++) {
    for (const letter of letters) {
      if (letter !== QUOTE[at]) expect(open(QUOTE.slice(0, at) + letter + QUOTE.slice(at + 1))).toBeUndefined();
    }
  }
});
