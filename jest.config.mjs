/** Milliseconds after which a test counts as hung. No test ends by it, on a busy machine either: none judges by how fast it is. */
const HUNG_MS = process.env.TEST_LONG ? 3_600_000 : 300_000;

/** @type {import('jest').Config} */
const shared = {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': ['@swc/jest'] }, // options come from .swcrc
  moduleNameMapper: {
    '^#([a-z]+)/(.*)\\.js$': '<rootDir>/libs/$1/src/$2.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
};
const besideTheCode = ['<rootDir>/apps', '<rootDir>/libs', '<rootDir>/scripts'];

/**
 * `unit` and `architecture` need nothing but the code. `integration` gets a Postgres server and a nats-server binary, `e2e` a
 * running stack: scripts/test.mjs provides both, and a test asks for them through libs/testing. `long` is what takes too long for
 * `npm test`; `npm run test:long` adds to it the properties of the others, with more cases (libs/testing/src/long-run.ts).
 */
export default {
  coverageProvider: 'v8',
  testTimeout: HUNG_MS,
  // With this limit a process runs one file. End-to-end tests have connections, timers and loads that may go on when one fails: they
  // end with its process, and a rejection that nobody handles fails that file instead of the whole run.
  ...(process.env.TEST_STACK && { workerIdleMemoryLimit: 0 }),
  // Copies of the project that local runs may leave: nothing in there is a module of ours.
  modulePathIgnorePatterns: ['<rootDir>/.local/', '<rootDir>/dist/', '<rootDir>/bench/'],
  projects: [
    {
      ...shared,
      displayName: 'unit',
      roots: [...besideTheCode, '<rootDir>/test/simulation'],
      testRegex: '(?<!\\.integration|\\.long)\\.test\\.m?[jt]s$',
    },
    { ...shared, displayName: 'integration', roots: besideTheCode, testRegex: '\\.integration\\.test\\.ts$' },
    { ...shared, displayName: 'architecture', roots: ['<rootDir>/test/architecture'], testRegex: '\\.test\\.ts$' },
    {
      ...shared,
      displayName: 'e2e',
      roots: [...besideTheCode, '<rootDir>/test'],
      testRegex: '/test/(abuse|chaos|e2e|sdk)/.*(?<!\\.long)\\.test\\.ts$',
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
