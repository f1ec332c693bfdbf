import { readOrder } from './sorting.js';

test.each([
  [undefined, '-time', {}],
  ['-time', '-time', {}],
  ['time', 'time', { sort: 'time', order: 'asc' }],
  ['-cost', '-cost', { sort: 'cost', order: 'desc' }],
  ['duration', 'duration', { sort: 'duration', order: 'asc' }],
  ['-requests', '-time', {}],
])('the order %j of an address', (sort, by, asked) => {
  expect(readOrder(sort)).toEqual({ by, asked });
});
