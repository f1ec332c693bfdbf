import { describeChild } from './child-words.js';

test.each([
  ['1798761600-9f86d081884c7d65', '9f86d081'],
  ['1798761600-9f86d081884c7d65.1798758000-2c26b46b68ffc68f', '9f86d081 › 2c26b46b'],
  ['other', 'other'],
])('%s is shown as %s', (path, words) => {
  expect(describeChild(path)).toBe(words);
});
