import type { EndedRequest } from '#contracts/gateway.js';
import { Access, listPermissions } from '../permissions/permissions.js';
import type { Role } from '../shapes/identity.js';
import { visibleActivity } from './visible-activity.js';

const failed: EndedRequest = {
  ...{ requestId: 'req_1', receivedAt: '2027-01-01T00:00:00.000Z', accountId: 'acme', protocol: 'chat', stream: false, endedMs: 9 },
  ...{ status: 502, code: 'upstream_error', outcome: 'failed' },
  attempts: [{ upstream: 'local', startMs: 1, endMs: 2, failure: 'refused', status: 500, reason: 'overloaded 500' }],
};
const access = (role: Role, accountId: string | null, projectId: string | null = null) =>
  new Access([{ accountId, projectId, permissions: new Set(listPermissions(role)) }]);

test.each<[Role, string | null, string | undefined]>([
  ['admin', null, 'overloaded 500'],
  ['auditor', null, 'overloaded 500'],
  ['owner', 'acme', undefined],
  ['viewer', 'acme', undefined],
])('the reason of a failed call, as %s of %s sees it: %s', (role, scope, reason) => {
  const { attempts, ...rest } = visibleActivity(access(role, scope), failed);
  const [attempt] = failed.attempts ?? [];
  expect([{ ...rest, attempts: failed.attempts }, attempts?.[0]]).toEqual([failed, { ...attempt, reason }]);
});

test('the sentence of a refusal by a budget, which may be that of the account, is hidden from roles of a project', () => {
  const message = 'The monthly budget of the account is $4.99 of $5.';
  const { attempts: _, ...refused } = { ...failed, message, refusal: { by: 'budget' as const, budgetId: 'b' } };
  expect([
    visibleActivity(access('viewer', 'acme'), refused),
    visibleActivity(access('project-developer', 'acme', 'web'), refused),
  ]).toEqual([refused, { ...refused, message: 'A budget has too little left for the request. Lower the output limit.' }]);
});
