import { relative } from 'node:path';
import { expect, test } from '@jest/globals';
import { longTests } from './long-run.ts';

test('a test that imports the counts of the long run belongs to it, and so does a slow suite', async () => {
  const files = await longTests(['libs/(validation|database)/']);
  expect(files.map((file) => relative(process.cwd(), file))).toEqual([
    'libs/database/src/interrupted-migrations.long.test.ts',
    'libs/validation/src/validate-payload.test.ts',
  ]);
});
