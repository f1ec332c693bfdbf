import fc from 'fast-check';
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
  [['END'], ['one EN'], { text: 'one EN', met: false }],
  [['\n\n'], ['a\n', 'b\n', '\nc'], { text: 'a\nb', met: true }],
])('%j in %j', (sequences, pieces, expected) => {
  expect(run(sequences, pieces)).toEqual(expected);
});

test('T-44: the same as a search of the whole text, however it is cut', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(fc.array(letters, { minLength: 1, maxLength: 3 }), fc.array(letters, { maxLength: 10 }), (sequences, pieces) => {
      const whole = pieces.join('');
      const found = sequences.map((sequence) => whole.indexOf(sequence)).filter((at) => at !== -1);
      const result = run(sequences, pieces);
      expect(result.met).toBe(found.length > 0);
      // Which of two overlapping sequences is met first depends on the pieces; never more than the text before it comes out.
      if (found.length === 0) expect(result.text).toBe(whole);
      else expect(sequences.some((sequence) => result.text.includes(sequence))).toBe(false);
    }),
    { numRuns: 500 },
  );
});
