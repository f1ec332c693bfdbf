import fc from 'fast-check';
import { growthOf, LINEAR_GROWTH_MAX } from '#testing/growth.js';
import { StopSequences } from './stop-sequences.js';

/** What comes out of the pieces, and whether a sequence was met. */
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

test('the same as a search of the whole text, however it is cut [T-44]', () => {
  const letters = (maxLength: number) => fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength });
  fc.assert(
    fc.property(fc.array(letters(8), { minLength: 1, maxLength: 4 }), fc.array(letters(6), { maxLength: 12 }), (sequences, pieces) => {
      expect(run(sequences, pieces)).toEqual(search(sequences, pieces.join('')));
    }),
    { numRuns: 2_000 },
  );
});

test('nothing is held back that cannot become a sequence, and all that can', () => {
  const stops = new StopSequences(['aab', 'xyz']);
  const pushed = ['ca', 'a', 'a', 'x', 'y', 'b'].map((piece) => stops.push(piece).text);
  expect([...pushed, stops.flush()]).toEqual(['c', '', 'a', 'aa', '', 'xyb', '']);
});

test('what was given up is not gone on from', () => {
  const stops = new StopSequences(['END']);
  expect([stops.push('E'), stops.flush(), stops.push('ND'), stops.flush()]).toEqual([
    { text: '', met: false },
    'E',
    { text: 'ND', met: false },
    '',
  ]);
});

test('a text that nearly is a long sequence, again and again, costs no more than any other [fault-work]', async () => {
  const growth = await growthOf((length) => {
    const sequence = `${'='.repeat(length)}x`;
    const text = `${'='.repeat(length / 2)}b`;
    run([sequence], [...cut(text, 64), ...cut(text, 1), text]);
  }, 4_096);
  expect(growth).toBeLessThan(LINEAR_GROWTH_MAX);
});

/** The text up to where the first sequence to be complete begins, of those complete at once the longest. */
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
