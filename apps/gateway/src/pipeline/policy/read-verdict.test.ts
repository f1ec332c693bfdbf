import fc from 'fast-check';
import { testCases } from '#testing/long-run.js';
import { readVerdict } from './read-verdict.js';

const SPAN = { text: 0, start: 0, end: 1 };

test.each([
  ['allow', { verdict: 'allow' }],
  ['allow with nothing to redact', { verdict: 'allow', redact: [] }],
  ['allow with changes', { verdict: 'allow', redact: [SPAN], outputTokensMax: 1, tags: { 'data.class': 'secret ünits' } }],
  ['deny', { verdict: 'deny', message: 'No contracts in this project.' }],
])('%s is a verdict', (_name, reply) => {
  expect(readVerdict(reply)).toEqual(reply);
});

test('tags have the form in which budgets compare them', () => {
  expect(readVerdict({ verdict: 'allow', tags: { class: ' ｓecret ' } })).toEqual({ verdict: 'allow', tags: { class: 'secret' } });
});

test.each<[string, unknown]>([
  ['nothing', undefined],
  ['null', null],
  ['a text', 'allow'],
  ['a list', ['allow']],
  ['an empty object', {}],
  ['another verdict', { verdict: 'ALLOW' }],
  ['an unknown field', { verdict: 'allow', redactions: [SPAN] }],
  ['a field of another verdict', { verdict: 'deny', message: 'No.', redact: [SPAN] }],
  ['allow with a sentence', { verdict: 'allow', message: 'Fine.' }],
  ['deny without a sentence', { verdict: 'deny' }],
  ['deny with white space', { verdict: 'deny', message: ' ' }],
  ['a sentence of two lines', { verdict: 'deny', message: 'No.\nNever.' }],
  ['a sentence with an escape of terminals', { verdict: 'deny', message: '\u001b[2J' }],
  ['a sentence with half of a pair', { verdict: 'deny', message: 'No \ud800.' }],
  ['a long sentence', { verdict: 'deny', message: 'x'.repeat(301) }],
  ['spans that are no list', { verdict: 'allow', redact: SPAN }],
  ['too many spans', { verdict: 'allow', redact: Array.from({ length: 1_001 }, () => SPAN) }],
  ['an empty span', { verdict: 'allow', redact: [{ ...SPAN, end: 0 }] }],
  ['a span that ends before it starts', { verdict: 'allow', redact: [{ text: 0, start: 2, end: 1 }] }],
  ['a negative start', { verdict: 'allow', redact: [{ ...SPAN, start: -1 }] }],
  ['a fraction', { verdict: 'allow', redact: [{ ...SPAN, end: 1.5 }] }],
  ['a position as text', { verdict: 'allow', redact: [{ ...SPAN, end: '1' }] }],
  ['a span without its text', { verdict: 'allow', redact: [{ start: 0, end: 1 }] }],
  ['a span with another field', { verdict: 'allow', redact: [{ ...SPAN, replacement: 'x' }] }],
  ['a cap of nothing', { verdict: 'allow', outputTokensMax: 0 }],
  ['a cap beyond all tokens', { verdict: 'allow', outputTokensMax: 2 ** 31 }],
  ['tags as a list', { verdict: 'allow', tags: ['team'] }],
  ['a tag without a value', { verdict: 'allow', tags: { team: '' } }],
  ['a tag that is invisible', { verdict: 'allow', tags: { team: '\u200b' } }],
  ['a tag that is no text', { verdict: 'allow', tags: { team: 1 } }],
  ['a long tag', { verdict: 'allow', tags: { team: 'x'.repeat(129) } }],
  ['a tag with a wrong name', { verdict: 'allow', tags: { '-team': 'x' } }],
  ['a tag of a prototype', JSON.parse('{"verdict":"allow","tags":{"__proto__":"x"}}')],
  ['too many tags', { verdict: 'allow', tags: Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`t${at}`, 'x'])) }],
])('%s is no verdict', (_name, reply) => {
  expect(readVerdict(reply)).toBeUndefined();
});

testCases('no reply makes it throw', { usual: 500, long: 1_000_000 }, fc.jsonValue({ maxDepth: 4 }), (reply) => {
  readVerdict(reply);
  readVerdict({ verdict: 'allow', redact: reply });
  readVerdict({ verdict: 'allow', tags: reply });
  readVerdict({ verdict: 'deny', message: reply });
});
