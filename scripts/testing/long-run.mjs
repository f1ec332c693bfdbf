import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../local/project.mjs';
import { LONG_PROJECTS } from './jest.mjs';
import { relatedTests } from './related-tests.mjs';

/** Tests that import this module belong to the long run. */
const MODULE = 'libs/testing/src/long-run.ts';
const LONG_ONLY = /\.long\.test\.ts$/;

/** Test files of the long run that match one of `patterns`; all files without patterns. */
export async function longTests(patterns) {
  const seeds = [MODULE, ...['apps', 'libs', 'test'].flatMap(longOnly)];
  const files = await relatedTests(LONG_PROJECTS, seeds);
  return patterns.length === 0 ? files : files.filter((file) => patterns.some((pattern) => new RegExp(pattern).test(file)));
}

/** Without `glob`, because this script runs on the machine's own Node, which may be too old. */
function longOnly(folder) {
  const names = readdirSync(join(ROOT, folder), { recursive: true });
  return names.filter((name) => LONG_ONLY.test(name)).map((name) => join(folder, name));
}

/** Number of cases that the property tests of a run tried. */
export function countCases(tally) {
  if (!existsSync(tally)) return 0;
  const notes = readFileSync(tally, 'utf8').trim().split('\n');
  return notes.reduce((sum, note) => sum + JSON.parse(note).cases, 0);
}
