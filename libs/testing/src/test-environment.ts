/**
 * Reads a variable that `npm test` sets: `TEST_POSTGRES_URL` (a server for test databases) and `TEST_NATS_SERVER` (a binary) for
 * integration tests, `TEST_STACK` and `TEST_CATALOG_STACK` (running systems as JSON) for end-to-end tests.
 */
export function requiredVariable(name: 'TEST_POSTGRES_URL' | 'TEST_NATS_SERVER' | 'TEST_STACK' | 'TEST_CATALOG_STACK'): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set; run the tests through npm test`);
  return value;
}
