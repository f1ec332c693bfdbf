import { existsSync } from 'node:fs';
import jest from './jest.config.mjs';

const [unit] = jest.projects;
const src = 'apps/billing/src';
/** Modules without I/O and without a clock of their own, which unit tests check in whole. */
const mutate = [
  'libs/money/src/list-prices.ts',
  'libs/money/src/pico-usd.ts',
  'libs/money/src/price-plan.ts',
  'libs/money/src/price.ts',
  `${src}/balance/funds.ts`,
  `${src}/batch/batch-clock.ts`,
  `${src}/batch/count-budgets.ts`,
  `${src}/batch/decide-events.ts`,
  `${src}/batch/fold-batch.ts`,
  `${src}/batch/hold.ts`,
  `${src}/budgets/budget.ts`,
  `${src}/limits/minute-window.ts`,
  `${src}/limits/rate-limit.ts`,
  `${src}/paging/page-cursor.ts`,
];
const missing = mutate.filter((path) => !existsSync(path));
if (missing.length > 0) throw new Error(`stryker.config.mjs names modules that do not exist: ${missing.join(', ')}`);

/**
 * Stryker changes pure code of money, one condition, operator or number at a time, and runs the unit tests that reach it. `npm run test:mutation`
 * runs it (apps/billing/test/pure-mutations.long.test.ts), and `npx stryker run --mutate <file>` runs it for one file.
 * @type {import('@stryker-mutator/api/core').PartialStrykerOptions}
 */
export default {
  mutate,
  // The sandbox: what the tests of these modules need.
  ignorePatterns: ['**', '!{apps/billing,libs}/**/*.ts', '!scripts/testing/resolver.cjs', '!package.json', '!.swcrc'],
  testRunner: 'jest',
  testRunnerNodeArgs: ['--experimental-vm-modules', '--no-warnings'],
  plugins: ['@stryker-mutator/jest-runner'],
  jest: { config: { ...unit, runner: 'jest-runner', roots: ['<rootDir>/apps/billing', '<rootDir>/libs/money'] } },
  coverageAnalysis: 'perTest',
  mutator: { excludedMutations: ['StringLiteral'] }, // texts of errors
  thresholds: { high: 90, low: 80, break: 70 },
  reporters: ['clear-text', 'json'],
  jsonReporter: { fileName: '.local/stryker/report.json' },
  tempDirName: '.local/stryker',
};
