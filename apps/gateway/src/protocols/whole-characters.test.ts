import fc from 'fast-check';
import { WholeCharacters } from './whole-characters.js';

test('T-45: a character cut in two is sent whole', () => {
  const characters = new WholeCharacters();
  expect(['a\ud83d', '\ude42b', 'c'].map((piece) => characters.push(piece))).toEqual(['a', '🙂b', 'c']);
  expect(characters.end()).toBe('');
});

test('a half that stays alone is sent at the end, or before what is not its other half', () => {
  const characters = new WholeCharacters();
  expect(['\ud83d', '\ud83d', 'x', '\ude42', '\ud83d'].map((piece) => characters.push(piece))).toEqual([
    '',
    '\ud83d',
    '\ud83dx',
    '\ude42',
    '',
  ]);
  expect(characters.end()).toBe('\ud83d');
  expect(characters.end()).toBe('');
});

test('nothing is lost, and no piece of a well-formed text is ill-formed, however it is cut', () => {
  const text = fc.string({ unit: 'grapheme' });
  fc.assert(
    fc.property(text, fc.array(fc.integer({ min: 1, max: 3 })), (text, lengths) => {
      const characters = new WholeCharacters();
      const sent: string[] = [];
      let from = 0;
      for (const length of [...lengths, text.length]) {
        sent.push(characters.push(text.slice(from, from + length)));
        from += length;
      }
      sent.push(characters.end());
      expect(sent.join('')).toBe(text);
      for (const piece of sent) expect(piece.isWellFormed()).toBe(true);
    }),
  );
});
