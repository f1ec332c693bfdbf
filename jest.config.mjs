/** Milliseconds after which a test counts as hung. No passing test comes near it, also on a busy machine. */
const HUNG_MS = process.env.TEST_LONG ? 3_600_000 : 300_000;

/** @type {import('jest').Config} */
const shared = {
  runner: '<rootDir>/scripts/testing/native-runner.ts',
  // For `--findRelatedTests` and Stryker, which runs Jest's own runner.
  resolver: '<rootDir>/scripts/testing/resolver.cjs',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': ['@swc/jest'] }, // options come from .swcrc
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
};
const besideTheCode = ['<rootDir>/apps', '<rootDir>/libs', '<rootDir>/scripts'];

/**
 * `unit` and `architecture` need only the code. `integration` needs a Postgres server and a nats-server binary, `e2e` a running stack:
 * scripts/test.ts provides them, and tests get them through libs/testing. `long` has tests that are too slow for `npm test`;
 * `npm run test:long` also runs the property tests of the others with more cases (libs/testing/src/long-run.ts).
 */
export default {
  coverageProvider: 'v8',
  testTimeout: HUNG_MS,
  // With this limit a process runs one file, so that connections, timers and loads of a failed end-to-end test end with its process, and
  // an unhandled rejection fails its own file instead of the whole run.
  ...(process.env.TEST_STACK && { workerIdleMemoryLimit: 0, testSequencer: '<rootDir>/scripts/testing/longest-first.ts' }),
  // Folders with copies of the project from local runs.
  modulePathIgnorePatterns: ['<rootDir>/.local/', '<rootDir>/dist/', '<rootDir>/bench/[^/]+/node_modules/'],
  projects: [
    {
      ...shared,
      displayName: 'unit',
      roots: [...besideTheCode, '<rootDir>/bench', '<rootDir>/test/simulation'],
      testRegex: '(?<!\\.integration|\\.long)\\.test\\.m?[jt]s$',
    },
    { ...shared, displayName: 'integration', roots: besideTheCode, testRegex: '\\.integration\\.test\\.ts$' },
    { ...shared, displayName: 'architecture', roots: ['<rootDir>/test/architecture'], testRegex: '\\.test\\.ts$' },
    {
      ...shared,
      displayName: 'e2e',
      roots: [...besideTheCode, '<rootDir>/test'],
      testRegex: '/test/(abuse|browser|chaos|e2e|sdk)/.*(?<!\\.long)\\.test\\.ts$',
      slowTestThreshold: 30,
    },
    {
      ...shared,
      displayName: 'long',
      roots: [...besideTheCode, '<rootDir>/test'],
      testRegex: '\\.long\\.test\\.ts$',
      slowTestThreshold: 600,
    },
  ],
};
