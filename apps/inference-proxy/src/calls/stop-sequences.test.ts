import fc from 'fast-check';
import { LINEAR_GROWTH_MAX, measureGrowth } from '#testing/growth.js';
import { StopSequences } from './stop-sequences.js';

/** Returns the text that comes out of the pieces; `met`: a sequence was found. */
function run(sequences: string[], pieces: string[]): { text: string; met: boolean } {
  const stops = new StopSequences(sequences);
  let out = '';
  for (const piece of pieces) {
    const { text, met } = stops.push(piece);
    out += text;
    if (met) return { text: out, met };
  }
  return { text: out + stops.flush(), met: false };
}

test.each<[string[], string[], { text: string; met: boolean }]>([
  [['END'], ['one END two'], { text: 'one ', met: true }],
  [['END'], ['one E', 'N', 'D two'], { text: 'one ', met: true }],
  [['END'], ['one E', 'NE', 'ND'], { text: 'one EN', met: true }],
  [['aab'], ['a', 'a', 'a', 'b'], { text: 'a', met: true }],
  [['xyz', 'b'], ['abxyz'], { text: 'a', met: true }],
  [['bc', 'abcd'], ['abcd'], { text: 'a', met: true }],
  [['c', 'bc'], ['abc'], { text: 'a', met: true }],
  [['END'], ['one EN'], { text: 'one EN', met: false }],
  [['\n\n'], ['a\n', 'b\n', '\nc'], { text: 'a\nb', met: true }],
])('%j in %j', (sequences, pieces, expected) => {
  expect(run(sequences, pieces)).toEqual(expected);
});

test('finds the same as a search of the whole text, however it is cut [T-44]', () => {
  const letters = (maxLength: number) => fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength });
  fc.assert(
    fc.property(fc.array(letters(8), { minLength: 1, maxLength: 4 }), fc.array(letters(6), { maxLength: 12 }), (sequences, pieces) => {
      expect(run(sequences, pieces)).toEqual(search(sequences, pieces.join('')));
    }),
    { numRuns: 2_000 },
  );
});

test('holds back exactly the text that may become a sequence', () => {
  const stops = new StopSequences(['aab', 'xyz']);
  const pushed = ['ca', 'a', 'a', 'x', 'y', 'b'].map((piece) => stops.push(piece).text);
  expect([...pushed, stops.flush()]).toEqual(['c', '', 'a', 'aa', '', 'xyb', '']);
});

test('flushed text is not continued', () => {
  const stops = new StopSequences(['END']);
  expect([stops.push('E'), stops.flush(), stops.push('ND'), stops.flush()]).toEqual([
    { text: '', met: false },
    'E',
    { text: 'ND', met: false },
    '',
  ]);
});

test('a text that repeatedly almost matches costs no more than any other [fault-work]', async () => {
  const growth = await measureGrowth((length) => {
    const sequence = `${'='.repeat(length)}x`;
    const text = `${'='.repeat(length / 2)}b`;
    run([sequence], [...cut(text, 64), ...cut(text, 1), text]);
  }, 4_096);
  expect(growth).toBeLessThan(LINEAR_GROWTH_MAX);
});

/** Returns the text before the first complete sequence; of several that end together, the longest. */
function search(sequences: string[], whole: string): { text: string; met: boolean } {
  for (let end = 1; end <= whole.length; end++) {
    const met = sequences.filter((sequence) => whole.slice(0, end).endsWith(sequence)).map(({ length }) => length);
    if (met.length > 0) return { text: whole.slice(0, end - Math.max(...met)), met: true };
  }
  return { text: whole, met: false };
}

function cut(text: string, length: number): string[] {
  return Array.from({ length: Math.ceil(text.length / length) }, (_, at) => text.slice(at * length, (at + 1) * length));
}
