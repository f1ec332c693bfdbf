import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { LOCAL, packageFile } from '../local/project.mjs';
import { runTool } from './run-tool.mjs';

export const JEST = ['--experimental-vm-modules', '--no-warnings', packageFile('jest/bin/jest.js')];
const TIMEOUT_MS = { unit: 300_000, integration: 300_000, architecture: 120_000, e2e: 600_000, long: 8 * 3_600_000 };
/** The long run takes its tests from several projects. */
const PROJECTS = { long: ['unit', 'integration', 'long'] };
/** Files at a time. End-to-end tests share one system and two cores: one after another, so that a failure has one cause. */
const WORKERS = { e2e: '1' };
const CASE_TIMEOUT_MS = { integration: '30000', e2e: '60000', architecture: '30000', long: '3600000' };

/**
 * Runs one project of jest.config.mjs, or the given `files` only. Returns how many cases `{ passed, failed }`; a file that could not
 * run, a run that ended without a report, and a run that found no tests count as failed.
 */
export async function runJest({ name, patterns = [], files = [], environment }) {
  const folder = mkdtempSync(join(LOCAL, 'jest-'));
  const report = join(folder, 'report.json');
  const args = [
    ...JEST,
    ...['--selectProjects', ...(PROJECTS[name] ?? [name]), '--json', '--outputFile', report],
    ...(WORKERS[name] ? ['--maxWorkers', WORKERS[name]] : []),
    ...(CASE_TIMEOUT_MS[name] ? ['--testTimeout', CASE_TIMEOUT_MS[name]] : []),
    ...(patterns.length > 0 ? ['--passWithNoTests'] : []),
    ...patterns,
    ...(files.length > 0 ? ['--runTestsByPath', ...files] : []),
  ];
  try {
    const ok = await runTool(args, { environment: { ...environment, NODE_ENV: 'test' }, timeoutMs: TIMEOUT_MS[name] });
    return countOf(report, ok);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function countOf(report, ok) {
  let result;
  try {
    result = JSON.parse(readFileSync(report, 'utf8'));
  } catch {
    return { passed: 0, failed: 1 };
  }
  const failed = result.numFailedTests + result.numRuntimeErrorTestSuites;
  return { passed: result.numPassedTests, failed: failed === 0 && !ok ? 1 : failed };
}
