import { PanelError } from '../errors/panel-error.js';
import type { Permission } from '../shapes/identity.js';
import { Access } from './permissions.js';

const scope = (accountId: string | null, ...permissions: Permission[]) => ({
  ...{ accountId, projectId: null },
  permissions: new Set(permissions),
});
const projectScope = (projectId: string, ...permissions: Permission[]) => ({ ...scope('a', ...permissions), projectId });

function outcome(access: Access, permission: Permission, accountId: string | null, projectId: string | null = null): string {
  try {
    access.require(permission, accountId, projectId);
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

test('a permission of a project holds there alone; another project does not exist, and the account is refused', () => {
  const access = new Access([projectScope('p', 'keys')]);
  expect({
    own: outcome(access, 'keys', 'a', 'p'),
    missing: outcome(access, 'budgets', 'a', 'p'),
    otherProject: outcome(access, 'keys', 'a', 'q'),
    otherAccount: outcome(access, 'keys', 'b', 'p'),
    wholeAccount: outcome(access, 'keys', 'a'),
    platform: outcome(access, 'keys', null),
    platformWithProject: outcome(access, 'keys', null, 'p'),
  }).toEqual({
    own: 'allowed',
    missing: 'permission_denied',
    otherProject: 'not_found',
    otherAccount: 'not_found',
    wholeAccount: 'permission_denied',
    platform: 'permission_denied',
    platformWithProject: 'permission_denied',
  });
  expect([access.accountsWith('keys'), access.projectsWith('keys'), access.projectsWith('budgets')]).toEqual([
    [],
    [{ accountId: 'a', projectId: 'p' }],
    [],
  ]);
});

test('permissions of an account and the platform hold in their projects', () => {
  const access = new Access([scope('a', 'keys'), scope(null, 'ledger')]);
  expect([outcome(access, 'keys', 'a', 'p'), outcome(access, 'ledger', 'b', 'q')]).toEqual(['allowed', 'allowed']);
});

test('roles of a project beside one of the account add up', () => {
  const access = new Access([scope('a', 'usage.read'), projectScope('p', 'keys')]);
  expect([outcome(access, 'keys', 'a', 'p'), outcome(access, 'usage.read', 'a', 'q'), outcome(access, 'keys', 'a', 'q')]).toEqual([
    'allowed',
    'allowed',
    'permission_denied',
  ]);
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
