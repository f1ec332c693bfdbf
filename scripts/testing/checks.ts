import { packageFile } from '../local/project.mjs';
import { seconds } from '../local/status.mjs';
import { runTool } from './run-tool.ts';
import type { Score } from './score.ts';

/** Most take one processor. */
const AT_ONCE = 2;
/** Several times as fast as TypeScript 6, which the generators of documents use: 7 has no API for programs. */
const TSC = packageFile('typescript-7/bin/tsc');
const CHECKS = {
  'types (tsc)': [TSC, '--noEmit', '-p', '.'],
  'types in production (tsc)': [TSC, '--noEmit', '-p', 'tsconfig.production.json'],
  'types in scripts (tsc)': [TSC, '-p', 'scripts'],
  'types in the conformance kit (tsc)': [TSC, '-p', 'conformance'],
  'types of the panel pages (tsc)': [TSC, '-p', 'apps/panel/ui'],
  'types in use (oxlint)': [packageFile('oxlint/bin/oxlint'), '--deny-warnings', 'apps', 'libs', 'test', 'scripts', 'conformance'],
  'format and lint (biome)': [packageFile('@biomejs/biome/bin/biome'), 'check', '--error-on-warnings'],
  // The benchmarks have no type check: this finds undefined names.
  'names in benchmarks (biome)': [packageFile('@biomejs/biome/bin/biome'), 'lint', '--only=correctness/noUndeclaredVariables', 'bench'],
  // Settings that no longer apply fail too.
  'unused files, exports and packages (knip)': [
    packageFile('knip/bin/knip.js'),
    '--include=files,exports,types,duplicates,dependencies',
    '--treat-config-hints-as-errors',
    '--no-progress',
  ],
  'conformance kit (node --test)': ['--test', '--test-reporter=dot', 'conformance/**/*.test.ts'],
  'HTTP API (redocly)': ['scripts/lint-openapi.ts'],
  'alert rules (promtool)': ['scripts/lint-rules.ts'],
};

/** The checks of `npm test -- changed`: those that take seconds. */
export const QUICK_CHECKS = ['types (tsc)', 'types of the panel pages (tsc)', 'format and lint (biome)'];

export async function runChecks({ score }: { score: Score }, names = Object.keys(CHECKS)): Promise<void> {
  const queue = Object.entries(CHECKS)
    .filter(([name]) => names.includes(name))
    .values();
  const work = async (): Promise<void> => {
    for (const [name, args] of queue) {
      const started = performance.now();
      const ok = await runTool(args);
      score.add(name, { passed: ok ? 1 : 0, failed: ok ? 0 : 1 });
      console.log(`── ${name}: ${ok ? 'passed' : 'failed'} (${seconds(performance.now() - started)})\n`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}
