import { PanelError } from '../errors/panel-error.js';
import type { Permission } from '../shapes/identity.js';
import { Access } from './permissions.js';

const scope = (accountId: string | null, ...permissions: Permission[]) => ({ accountId, permissions: new Set(permissions) });

function outcome(access: Access, permission: Permission, accountId: string | null): string {
  try {
    access.require(permission, accountId);
    return 'allowed';
  } catch (error) {
    return (error as PanelError).code;
  }
}

test('a permission of the platform holds in every account', () => {
  const access = new Access([scope(null, 'keys')]);
  expect([outcome(access, 'keys', null), outcome(access, 'keys', 'a')]).toEqual(['allowed', 'allowed']);
  expect(access.accountsWith('keys')).toBe('all');
});

test('a permission of an account holds there alone; another account does not exist for the caller', () => {
  const access = new Access([scope('a', 'keys')]);
  expect(outcome(access, 'keys', 'a')).toBe('allowed');
  expect(outcome(access, 'projects', 'a')).toBe('permission_denied');
  expect(outcome(access, 'keys', 'b')).toBe('not_found');
  expect(outcome(access, 'keys', null)).toBe('permission_denied');
});

test('a caller of the platform without the permission learns which one is missing', () => {
  const access = new Access([scope(null, 'usage.read')]);
  expect(() => access.require('money.write', 'a')).toThrow(new PanelError('permission_denied', 'This needs the permission money.write.'));
});

test('scopes add up, and lists name each account once', () => {
  const access = new Access([scope('a', 'keys'), scope('b', 'keys', 'money.read'), scope('b', 'keys')]);
  expect(access.accountsWith('keys')).toEqual(['a', 'b']);
  expect(access.accountsWith('money.read')).toEqual(['b']);
  expect(access.accountsWith('ledger')).toEqual([]);
});

test('nothing is allowed without a scope', () => {
  const access = new Access([]);
  expect(access.mayAnywhere('usage.read')).toBe(false);
  expect(() => access.requireAnywhere('usage.read')).toThrow('This needs the permission usage.read.');
});
