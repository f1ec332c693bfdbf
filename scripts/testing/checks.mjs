import { packageFile } from '../local/project.mjs';
import { seconds } from '../local/status.mjs';
import { runTool } from './run-tool.mjs';

/** Types and type-aware lint take most of the time, one processor each. */
const AT_ONCE = 2;
const CHECKS = {
  'format and lint (biome)': [packageFile('@biomejs/biome/bin/biome'), 'check', '--error-on-warnings'],
  // Scripts have no type check: this finds undefined names.
  'names in scripts (biome)': [
    packageFile('@biomejs/biome/bin/biome'),
    'lint',
    '--only=correctness/noUndeclaredVariables',
    'scripts',
    'bench',
  ],
  'types (tsc)': [packageFile('typescript/bin/tsc'), '--noEmit', '-p', '.'],
  'types in use (eslint)': [
    packageFile('eslint/bin/eslint.js'),
    '--max-warnings',
    '0',
    '--ignore-pattern',
    '**/generated/**',
    '--ignore-pattern',
    'apps/panel/ui/**',
    'apps',
    'libs',
    'test',
  ],
  'import graph (dependency-cruiser)': ['scripts/check-imports.mjs'],
  'HTTP API (redocly)': ['scripts/lint-openapi.mjs'],
};

export async function runChecks({ score }) {
  const queue = Object.entries(CHECKS).values();
  const work = async () => {
    for (const [name, args] of queue) {
      const started = performance.now();
      const ok = await runTool(args);
      score.add(name, { passed: ok ? 1 : 0, failed: ok ? 0 : 1 });
      console.log(`── ${name}: ${ok ? 'passed' : 'failed'} (${seconds(performance.now() - started)})\n`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}
