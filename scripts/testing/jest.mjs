import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { LOCAL, packageFile, ROOT } from '../local/project.mjs';
import { runTool } from './run-tool.mjs';

export const JEST = ['--experimental-vm-modules', '--no-warnings', packageFile('jest/bin/jest.js')];
/** Ends a run that hangs. On two free processors the longest takes six minutes; on a busy machine it may take several times as long. */
const HUNG_MS = 3_600_000;
const LONG_HUNG_MS = 8 * HUNG_MS;
/** The long run takes its tests from several projects. */
export const LONG_PROJECTS = ['unit', 'integration', 'e2e', 'long'];
/** Files at a time: Jest would leave one processor of two to itself. End-to-end tests bring processes of their own, and mostly wait. */
const WORKERS = Math.min(Math.max(availableParallelism(), 2), 4);
const WORKERS_OF = { unit: WORKERS, integration: WORKERS, e2e: 2, long: 1 };

/**
 * Runs one project of jest.config.mjs, or the given `files` only. Returns `{ passed, failed, failures }`: how many cases, and of each
 * that failed its `{ file, title, error }`. A file that could not run, a run that breaks down or takes too long, and a run that found
 * no tests are failures too; what had ended before is counted all the same.
 */
export async function runJest({ name, patterns = [], files = [], environment }) {
  const folder = mkdtempSync(join(LOCAL, 'jest-'));
  const results = join(folder, 'results.jsonl');
  const args = [
    ...JEST,
    ...['--selectProjects', ...(name === 'long' ? LONG_PROJECTS : [name])],
    ...['--reporters', 'default', '--reporters', join(ROOT, 'scripts/testing/results-reporter.mjs')],
    ...(WORKERS_OF[name] ? ['--maxWorkers', String(WORKERS_OF[name])] : []),
    ...(patterns.length > 0 ? ['--passWithNoTests'] : []),
    ...patterns,
    ...(files.length > 0 ? ['--runTestsByPath', ...files] : []),
  ];
  try {
    const variables = { ...environment, NODE_ENV: 'test', TEST_RESULTS: results };
    return resultOf(results, await runTool(args, { environment: variables, timeoutMs: name === 'long' ? LONG_HUNG_MS : HUNG_MS }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function resultOf(results, ok) {
  const lines = existsSync(results) ? readFileSync(results, 'utf8').trim().split('\n').filter(Boolean) : [];
  const notes = lines.map((line) => JSON.parse(line));
  const ended = notes.filter((note) => note.ended);
  const passed = ended.reduce((sum, note) => sum + note.passed, 0);
  const failures = ended.flatMap((note) => note.failures.map((failure) => ({ file: note.ended, ...failure })));
  const unfinished = notes.filter(({ begun }) => begun && !ended.some((note) => note.ended === begun));
  for (const { begun } of unfinished) failures.push({ file: begun, title: '(the file itself)', error: 'did not end' });
  if (failures.length === 0 && !ok) failures.push({ file: 'jest', title: '(the run itself)', error: 'it failed; its words are above' });
  return { passed, failed: failures.length, failures };
}
