/**
 * What `npm test` provides to tests: `TEST_POSTGRES_URL` (a server where databases may be made) and `TEST_NATS_SERVER` (a binary)
 * to integration tests, `TEST_STACK` (a running system, as JSON) to end-to-end tests.
 */
export function requiredVariable(name: 'TEST_POSTGRES_URL' | 'TEST_NATS_SERVER' | 'TEST_STACK'): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set; run the tests through npm test`);
  return value;
}
