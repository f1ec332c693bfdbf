import { readFileSync } from 'node:fs';
import { MUTATIONS } from './mutations.js';

test('what each mutation takes away stands once in its file: the list follows the sources', () => {
  const times = MUTATIONS.map(({ name, file, from }) => ({ name, times: readFileSync(file, 'utf8').split(from).length - 1 }));
  expect(times.filter((mutation) => mutation.times !== 1)).toEqual([]);
});
