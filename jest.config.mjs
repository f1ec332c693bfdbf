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

/**
 * `unit` needs nothing but the code. `integration` gets a Postgres server and a nats-server binary, `e2e` a running stack,
 * from their global set-ups; a test asks for what it needs through libs/testing.
 */
export default {
  coverageProvider: 'v8',
  projects: [
    { ...shared, displayName: 'unit', roots: ['<rootDir>/apps', '<rootDir>/libs'], testRegex: '(?<!\\.integration)\\.test\\.ts$' },
    { ...shared, displayName: 'integration', roots: ['<rootDir>/apps', '<rootDir>/libs'], testRegex: '\\.integration\\.test\\.ts$' },
    { ...shared, displayName: 'e2e', roots: ['<rootDir>/test'], testRegex: '\\.test\\.ts$' },
  ],
};
