import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { NODE, ROOT } from '../local/project.mjs';
import { runCommand } from '../local/run-command.mjs';
import { JEST, LONG_PROJECTS } from './jest.mjs';

/** Who uses it has more cases to try than `npm test` has time for. */
const MODULE = 'libs/testing/src/long-run.ts';
const LONG_ONLY = /\.long\.test\.ts$/;

/** The test files of the long run whose path matches one of `patterns`; all of them without any. */
export async function longTests(patterns) {
  const seeds = [MODULE, ...['apps', 'libs', 'test'].flatMap(longOnly)];
  const listed = await runCommand(
    NODE,
    [...JEST, '--selectProjects', ...LONG_PROJECTS, '--listTests', '--json', '--findRelatedTests', ...seeds],
    {
      cwd: ROOT,
      failure: 'the list of tests',
      env: { ...process.env, NODE_OPTIONS: '' },
    },
  );
  const files = JSON.parse(listed).sort();
  return patterns.length === 0 ? files : files.filter((file) => patterns.some((pattern) => new RegExp(pattern).test(file)));
}

/** (The machine's own Node reads this file, and may be too old to glob.) */
function longOnly(folder) {
  const names = readdirSync(join(ROOT, folder), { recursive: true });
  return names.filter((name) => LONG_ONLY.test(name)).map((name) => join(folder, name));
}

/** How many cases the properties of a run have tried, by the notes in `tally`. */
export function countCases(tally) {
  if (!existsSync(tally)) return 0;
  const notes = readFileSync(tally, 'utf8').trim().split('\n');
  return notes.reduce((sum, note) => sum + JSON.parse(note).cases, 0);
}
