import { findStatus } from './key-status.js';

const NOW = Date.parse('2027-01-31T12:00:00.000Z');
const KEY = { revokedAt: null, disabled: false, expiresAt: null };

test.each([
  ['active', {}],
  ['active', { expiresAt: '2027-01-31T12:00:00.001Z' }],
  ['expired', { expiresAt: '2027-01-31T12:00:00.000Z' }],
  ['disabled', { disabled: true }],
  ['expired', { disabled: true, expiresAt: '2027-01-31T11:59:59.999Z' }],
  ['revoked', { revokedAt: '2027-01-01T00:00:00.000Z', disabled: true, expiresAt: '2027-01-01T00:00:00.000Z' }],
] as const)('%s: %j', (status, fields) => {
  expect(findStatus({ ...KEY, ...fields }, NOW)).toBe(status);
});
