import { packageFile } from '../local/project.mjs';
import { seconds } from '../local/status.mjs';
import { runTool } from './run-tool.mjs';

/** Each counts as one, passed or failed. */
const CHECKS = {
  'format and lint (biome)': [packageFile('@biomejs/biome/bin/biome'), 'check', '--error-on-warnings'],
  // Nothing checks the types of scripts; a name that does not exist would only show when it is reached.
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
    'apps',
    'libs',
    'test',
  ],
  'import graph (dependency-cruiser)': ['scripts/check-imports.mjs'],
  'HTTP API (redocly)': ['scripts/lint-openapi.mjs'],
};

export async function runChecks({ score }) {
  for (const [name, args] of Object.entries(CHECKS)) {
    const started = performance.now();
    const ok = await runTool(args);
    score.add(name, { passed: ok ? 1 : 0, failed: ok ? 0 : 1 });
    console.log(`── ${name}: ${ok ? 'passed' : 'failed'} (${seconds(performance.now() - started)})\n`);
  }
}
