import { readFileSync } from 'node:fs';
import { MUTATIONS } from './mutations.js';

test('the code of each mutation occurs once in its file', () => {
  const times = MUTATIONS.map(({ name, file, from }) => ({ name, times: readFileSync(file, 'utf8').split(from).length - 1 }));
  expect(times.filter((mutation) => mutation.times !== 1)).toEqual([]);
});
