import fc from 'fast-check';
import { TextChunkTemplate } from './text-chunk-template.js';

const chunk = (text: string, extra: object = {}): string =>
  JSON.stringify({ id: 'c', model: 'word', choices: [{ index: 0, delta: { content: text }, finish_reason: null }], ...extra });

function learnt(text = 'word'): TextChunkTemplate {
  const template = new TextChunkTemplate();
  template.learn(chunk(text), text);
  return template;
}

test('nothing matches before a chunk was learnt', () => {
  expect(new TextChunkTemplate().match(chunk('word'))).toBeUndefined();
});

test.each([' next', 'line\nbreak', 'a "quoted" word', 'back\\slash', '\u{1f600}', 'C:\\new', '{}', '"', '\\'])(
  '%j is read as it is',
  (text) => {
    expect(learnt('first').match(chunk(text))).toBe(text);
  },
);

test('the text is found where it is the content, though the same words stand before it', () => {
  expect(learnt('word').match(chunk('next'))).toBeUndefined(); // the model is called so: not learnt
  expect(learnt('first').match(chunk('next'))).toBe('next');
});

test.each(['choices', 'delta', 'content', 'c', 'index', 'null', 'probe'])('a first text that is also a word of the chunk: %s', (text) => {
  expect([undefined, 'next']).toContain(learnt(text).match(chunk('next')));
});

test.each([
  ['an empty text', chunk('')],
  ['more fields', chunk('next', { usage: { prompt_tokens: 1 } })],
  ['another finish', chunk('next').replace('null', '"stop"')],
  ['another id', chunk('next').replace('"c"', '"d"')],
  ['a text that ends early and more of JSON', chunk('next').replace('next', 'next","role":"x')],
  ['a bare line break', chunk('next').replace('next', 'ne\nxt')],
  ['a wrong escape', chunk('next').replace('next', 'ne\\xt')],
  ['half a chunk', chunk('next').slice(0, -3)],
])('%s has to be parsed', (_what, payload) => {
  expect(learnt('first').match(payload)).toBeUndefined();
});

test('what matches is what parsing would say', () => {
  const template = learnt('first');
  const before = chunk('').slice(0, chunk('').indexOf('"content":"') + '"content":"'.length);
  const after = chunk('').slice(before.length);
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^[a-z"\\nu0-9{}:, ]*$/)), (middle) => {
      const text = template.match(before + middle + after);
      if (text === undefined) return;
      const parsed = JSON.parse(before + middle + after);
      expect(parsed).toEqual(JSON.parse(chunk(text)));
    }),
    { numRuns: 2_000 },
  );
});

test('a payload of more than a chunk is no pattern', () => {
  const template = new TextChunkTemplate();
  template.learn(`${chunk('first')}\n[]`, 'first');
  expect(template.match(`${chunk('next')}\n[]`)).toBeUndefined();
});

test('a stream whose chunks always differ is given up on', () => {
  const template = new TextChunkTemplate();
  for (let number = 0; number < 5; number++) template.learn(chunk('first', { padding: 'x'.repeat(number) }), 'first');
  expect(template.match(chunk('next', { padding: 'xxxx' }))).toBeUndefined();
  expect(template.match(chunk('next', { padding: 'xxx' }))).toBe('next');
});
