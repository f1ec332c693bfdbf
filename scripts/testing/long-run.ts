import { existsSync, globSync, readFileSync } from 'node:fs';

import { ROOT } from '../local/project.mjs';
import { LONG_PROJECTS } from './jest.ts';
import { relatedTests } from './related-tests.ts';

/** Tests that import this module belong to the long run. */
const MODULE = 'libs/testing/src/long-run.ts';
const LONG_ONLY = '{apps,libs,test}/**/*.long.test.ts';

/** Test files of the long run that match one of `patterns`; all files without patterns. */
export async function longTests(patterns: string[]): Promise<string[]> {
  const seeds = [MODULE, ...globSync(LONG_ONLY, { cwd: ROOT })];
  const files = await relatedTests(LONG_PROJECTS, seeds);
  return patterns.length === 0 ? files : files.filter((file) => patterns.some((pattern) => new RegExp(pattern).test(file)));
}

/** Number of cases that the property tests of a run tried. */
export function countCases(tally: string): number {
  if (!existsSync(tally)) return 0;
  const notes = readFileSync(tally, 'utf8').trim().split('\n');
  return notes.reduce((sum, note) => sum + JSON.parse(note).cases, 0);
}
