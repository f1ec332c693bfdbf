import { projectCreate } from '#contracts/billing/projects.js';
import type { Messaging } from '#messaging/messaging.js';
import { ACCOUNT_ROLES, Access, PLATFORM_ROLES } from '../permissions/permissions.js';
import type { PanelRequest } from '../requests/panel-request.js';
import { Services } from './services.js';

/** Returns the actor that a service is sent for a caller with these permissions. */
async function readActor(accountId: string | null, permissions: readonly (typeof PLATFORM_ROLES.admin)[number][]) {
  const sent: unknown[] = [];
  const messaging = {
    request: async (_endpoint: unknown, _payload: unknown, options: { actor?: unknown }) => sent.push(options.actor),
  } as unknown as Messaging;
  const access = new Access([{ accountId, projectId: null, permissions: new Set(permissions) }]);
  const caller = { actor: 'user/1', actorName: 'ann@example.com', access };
  const request = { caller, address: '192.0.2.1', requestId: 'req_1' } as unknown as PanelRequest;
  await new Services(messaging).change(request, projectCreate, { accountId: 'a', name: 'web' });
  return sent[0];
}

const ANN = { actor: 'user/1', actorName: 'ann@example.com', ip: '192.0.2.1', requestId: 'req_1' };

test('a change of an account role, and of a token without accounts, is that of a customer [sec-operator-limits]', async () => {
  const customer = { ...ANN, level: 'customer' };
  expect([await readActor('a', ACCOUNT_ROLES.owner), await readActor('a', ACCOUNT_ROLES.developer)]).toEqual([customer, customer]);
  expect(await readActor(null, ['projects', 'keys', 'budgets'])).toEqual(customer);
});

test("a change of a caller with accounts is the operator's", async () => {
  expect([await readActor(null, PLATFORM_ROLES.admin), await readActor('a', ['accounts', 'projects'])]).toEqual([ANN, ANN]);
});
