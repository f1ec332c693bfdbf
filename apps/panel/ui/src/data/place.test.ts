import type { ProjectPlace } from '../../../src/shapes/billing.js';
import type { Grant } from '../../../src/shapes/identity.js';
import { findPlace, mayIn, narrow } from './place.js';

const WEB: ProjectPlace = { projectId: 'p', name: 'web', accountId: 'a', accountName: 'Acme' };

test('an address has the id of an account, a project, or all', () => {
  expect(['p', 'a', 'all'].map((id) => findPlace(id, [WEB]))).toEqual([
    { account: 'a', project: 'p' },
    { account: 'a' },
    { account: 'all' },
  ]);
});

test.each([
  ['a role of the project in it', 'a', 'p', true],
  ['a role of the project in another', 'a', 'q', false],
  ['a role of the project in the whole account', 'a', undefined, false],
  ['a role of the project on the platform', null, undefined, false],
])('%s', (_, account, project, expected) => {
  const grants: Grant[] = [{ accountId: 'a', projectId: 'p', role: 'project-developer', permissions: ['keys'] }];
  expect(mayIn(grants, 'keys', account, project)).toBe(expected);
});

test('roles of the account and the platform hold in its projects', () => {
  const grant = (accountId: string | null): Grant => ({ accountId, projectId: null, role: 'owner', permissions: ['keys'] });
  expect([grant('a'), grant(null), grant('b')].map((one) => mayIn([one], 'keys', 'a', 'p'))).toEqual([true, true, false]);
});

test.each([
  ['/accounts/a/keys', '/accounts/a/keys?projectId=p'],
  ['/accounts/a/keys?limit=1', '/accounts/a/keys?limit=1&projectId=p'],
  ['/panel/v1/accounts/a/usage.csv', '/panel/v1/accounts/a/usage.csv?projectId=p'],
  ['/accounts/a/usage?projectId=q', '/accounts/a/usage?projectId=q'],
  ['/accounts/b/keys', '/accounts/b/keys'],
  ['/accounts?limit=1', '/accounts?limit=1'],
  ['/models', '/models'],
])('in a project %s is asked as %s', (path, narrowed) => {
  expect([narrow(path, { account: 'a', project: 'p' }), narrow(path, { account: 'a' })]).toEqual([narrowed, path]);
});
