import { mergeRows } from './merge-rows.js';

test.each([
  ['nothing is loaded yet', undefined, ['a'], undefined],
  ['nothing is searched for', ['a'], undefined, ['a']],
  ['some are found', ['a', 'b'], ['b', 'c'], ['a', 'b', 'c']],
])('rows of a search: %s', (_, loaded, found, merged) => {
  expect(mergeRows(loaded, found, (id) => id)).toEqual(merged);
});
