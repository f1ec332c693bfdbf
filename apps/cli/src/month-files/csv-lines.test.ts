import { parseLines } from './csv-lines.js';

test('lines parse to their fields: nothing is null, and quotes keep commas, quotes and line ends', () => {
  expect(parseLines('a,,1\n"x, ""y""\nz","",\n')).toEqual([
    ['a', null, '1'],
    ['x, "y"\nz', '', null],
  ]);
  expect(parseLines('')).toEqual([]);
});
