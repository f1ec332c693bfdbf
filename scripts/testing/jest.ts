import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { LOCAL, packageFile, ROOT } from '../local/project.mjs';
import { runTool } from './run-tool.ts';
import type { Failure, Result } from './score.ts';

export const JEST = ['--no-warnings', packageFile('jest/bin/jest.js')];
/** Timeout of a run. The longest suite takes six minutes on two free processors, and several times as long on a busy machine. */
const HUNG_MS = 3_600_000;
const LONG_HUNG_MS = 8 * HUNG_MS;
export const LONG_PROJECTS = ['unit', 'integration', 'e2e', 'long'];
/** Test files at a time: one more than processors, because some wait. */
const WORKERS = Math.min(availableParallelism() + 1, 4);
/** End-to-end tests wait more than they compute: for leases, restarts, and programs that start. */
const WORKERS_OF: Record<string, number> = { unit: WORKERS, integration: WORKERS, e2e: Math.min(availableParallelism() + 2, 6), long: 1 };

/**
 * Runs one project of jest.config.mjs, or only `files`. Returns `{ passed, failed, failures }`: numbers of cases, and `{ file, title, error }`
 * of each failed case. Files that cannot run, crashed runs, timeouts and runs without tests are failures too.
 */
export async function runJest({
  name,
  patterns = [],
  files = [],
  shard,
  environment,
}: {
  name: string;
  patterns?: string[] | undefined;
  files?: string[] | undefined;
  shard?: string | undefined;
  environment: Record<string, string>;
}): Promise<Result> {
  const folder = mkdtempSync(join(LOCAL, 'jest-'));
  const results = join(folder, 'results.jsonl');
  const args = [
    ...JEST,
    ...['--selectProjects', ...(name === 'long' ? LONG_PROJECTS : [name])],
    ...['--reporters', 'default', '--reporters', join(ROOT, 'scripts/testing/results-reporter.ts')],
    ...(WORKERS_OF[name] ? ['--maxWorkers', String(WORKERS_OF[name])] : []),
    ...(patterns.length > 0 ? ['--passWithNoTests'] : []),
    ...(shard ? ['--shard', shard] : []),
    ...patterns,
    ...(files.length > 0 ? ['--runTestsByPath', ...files] : []),
  ];
  try {
    const variables = { ...environment, NODE_ENV: 'test', TEST_RESULTS: results };
    return summarizeResult(results, await runTool(args, { environment: variables, timeoutMs: name === 'long' ? LONG_HUNG_MS : HUNG_MS }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A line of results-reporter.ts: a file has begun, or ended. */
type Note = { begun: string; ended?: undefined } | { begun?: undefined; ended: string; passed: number; failures: Omit<Failure, 'file'>[] };

function summarizeResult(results: string, ok: boolean): Result {
  const lines = existsSync(results) ? readFileSync(results, 'utf8').trim().split('\n').filter(Boolean) : [];
  const notes = lines.map((line) => JSON.parse(line) as Note);
  const ended = notes.filter((note) => note.ended !== undefined);
  const passed = ended.reduce((sum, note) => sum + note.passed, 0);
  const failures = ended.flatMap((note) => note.failures.map((failure) => ({ file: note.ended, ...failure })));
  const unfinished = notes.flatMap(({ begun }) => (begun && !ended.some((note) => note.ended === begun) ? [begun] : []));
  for (const begun of unfinished) failures.push({ file: begun, title: '(the file)', error: 'did not finish' });
  if (failures.length === 0 && !ok) failures.push({ file: 'jest', title: '(the run)', error: 'failed; see its output above' });
  return { passed, failed: failures.length, failures };
}
