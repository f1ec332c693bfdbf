import { seededText, seededUnicode } from './seeded-text.js';
import { SCENES, THOUGHTS, type Vocabulary } from './vocabulary.js';

const SENTENCE_BYTES = 64;

test.each<[name: string, vocabulary: Vocabulary]>([
  ['scenes', SCENES],
  ['thoughts', THOUGHTS],
])('%s: a text is sentences of sixteen tokens', (_, vocabulary) => {
  for (let seed = 0; seed < 2_000; seed++) {
    const text = seededText(seed, 48, vocabulary);
    const sentences = text.match(/[A-Z][A-Za-z ,]*\.(?= |$)/g) ?? [];
    expect({ seed, whole: sentences.join(' '), sizes: sentences.map(({ length }) => length) }).toEqual({
      seed,
      whole: text,
      sizes: [SENTENCE_BYTES, SENTENCE_BYTES - 1, SENTENCE_BYTES - 1],
    });
  }
});

test.each<[name: string, vocabulary: Vocabulary]>([
  ['scenes', SCENES],
  ['thoughts', THOUGHTS],
])('%s: every start of a sentence can be completed', (_, { subjects, actions, settings }) => {
  const without = subjects.flatMap((subject) =>
    actions.flatMap((first) => {
      const starts = [`${subject} ${first} and  .`, `, ${subject} ${first} and .`];
      const rests = actions
        .filter((second) => second !== first)
        .flatMap((second) => settings.map((setting) => second.length + setting.length));
      return starts.filter((start) => [SENTENCE_BYTES, SENTENCE_BYTES - 1].some((length) => !rests.includes(length - start.length)));
    }),
  );
  expect(without).toEqual([]);
});

test('a text is cut at its count, and a longer one starts with it', () => {
  const long = seededText(7, 100, SCENES);
  expect([0, 1, 7, 16, 33].map((count) => seededText(7, count, SCENES))).toEqual([0, 4, 28, 64, 132].map((bytes) => long.slice(0, bytes)));
});

test('unicode words have four bytes', () => {
  expect(Buffer.byteLength(seededUnicode(7, 50))).toBe(200);
});
