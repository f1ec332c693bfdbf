import { randomUUID, randomUUIDv7 } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { accountCreate, accountList } from '#contracts/billing/accounts.js';
import { budgetList, budgetValues } from '#contracts/billing/budgets.js';
import { childKeyList, childKeyMint, childKeyRevoke } from '#contracts/billing/child-keys.js';
import { keyCreate, keyList, keyRevoke, keyRotate, keyUpdate } from '#contracts/billing/keys.js';
import { ledgerCheckList } from '#contracts/billing/ledger.js';
import { balanceGet } from '#contracts/billing/money.js';
import { projectCreate, projectList, projectUpdate } from '#contracts/billing/projects.js';
import { requestList, requestShow } from '#contracts/billing/requests.js';
import { usageQuery } from '#contracts/billing/usage.js';
import { modelList } from '#contracts/catalog.js';
import { type EndedRequest, requestsEnded } from '#contracts/gateway.js';
import { routeStatus } from '#contracts/route-status.js';
import { PanelFixture, type SignedIn } from '../../test/panel-fixture.js';
import { ROUTE_CALLERS } from '../../test/route-callers.js';
import { close, listen } from '../../test/test-provider.js';
import { ActivityRecorder } from '../activity/activity-recorder.js';
import { findRoute, ROUTES, type RouteName } from '../http/routes.js';
import { isPlatformRole, isProjectRole, listPermissions } from '../permissions/permissions.js';
import { ROLES, type Role } from '../shapes/identity.js';

/** Every route that a role without `money.read` may use, on services whose replies have the money of the account everywhere. */

const [ACME, PROJECT, KEY, BUDGET] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
const CHILD = '1798761600-0000000000000001';
/** Digits of each amount, and the name of the price plan. */
const SECRETS = ['777000777', 'plan-of-acme'];
const [AMOUNT, PLAN] = SECRETS as [string, string];
const AT = '2027-01-01T00:00:00.000Z';

const BLIND = ROLES.filter((role) => !listPermissions(role).includes('money.read'));
const NAMES = (Object.keys(ROUTES) as RouteName[]).filter((name) => BLIND.some((role) => (ROUTE_CALLERS[name] as string[]).includes(role)));

const money = {
  balance_pico_usd: AMOUNT,
  balance_usd: AMOUNT,
  reserved_pico_usd: '0',
  available_pico_usd: AMOUNT,
  topup_balance_pico_usd: AMOUNT,
  plan_balance_pico_usd: AMOUNT,
  plan_expires_at: new Date(Date.now() + 86_400_000).toISOString(),
  credit_line_pico_usd: AMOUNT,
};
const account = {
  ...{ accountId: ACME, name: 'Acme', status: 'active', statusReason: null, createdAt: AT },
  ...{ lowBalancePicoUsd: `${AMOUNT}0`, creditLinePicoUsd: AMOUNT, pricePlan: PLAN, nextPricePlan: { pricePlan: PLAN, from: AT } },
};
const project = { projectId: PROJECT, accountId: ACME, name: 'web', enabled: true, tags: [], createdAt: AT };
const key = { keyId: KEY, projectId: PROJECT, name: 'ci', createdAt: AT, expiresAt: null, replacedBy: null };
const usage = { ...{ requests: 1, promptTokens: 1, cachedTokens: 0, outputTokens: 1 }, costPicoUsd: '1', forfeitedPicoUsd: '0' };
const billed = {
  ...{ requestId: 'req_1', accountId: ACME, projectId: PROJECT, keyId: KEY, model: 'sim-fast', upstream: null, reservedAt: AT },
  ...{ heldPicoUsd: '1', costPicoUsd: '1', settledAt: AT, ending: 'completed', usage: null },
};

const refused: EndedRequest = {
  ...{ requestId: `req_${randomUUIDv7().replaceAll('-', '')}`, receivedAt: '', accountId: ACME, projectId: PROJECT, keyId: KEY },
  ...{ protocol: 'chat', stream: false, status: 402, code: 'insufficient_balance', endedMs: 1 },
  ...{ message: `The request may cost up to $1, but only $${AMOUNT} of the balance is available.`, refusal: { by: 'balance' } },
};
refused.receivedAt = new Date(Number.parseInt(refused.requestId.slice(4, 16), 16)).toISOString();

/** Bodies of the routes that change something. */
const BODIES: Partial<Record<RouteName, object>> = {
  createProject: { name: 'next' },
  updateProject: { name: 'next' },
  createKey: { name: 'next' },
  updateKey: { name: 'next' },
  rotateKey: { graceSeconds: 0 },
  createChildKey: { seconds: 60 },
  runPlayground: { projectId: PROJECT, request: { model: 'sim-fast', messages: [{ role: 'user', content: 'Hello' }] } },
};

const people = new Map<Role, SignedIn>();

const gateway = await listen((request, response) => {
  request.resume();
  const message = `The request may cost up to $1, but only $${AMOUNT} of the balance is available.`;
  response.writeHead(402, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message, code: 'insufficient_balance' } }));
});
const panel = await PanelFixture.open({ gatewayUrl: `http://127.0.0.1:${(gateway.address() as AddressInfo).port}` });
for (const role of ROLES)
  people.set(role, await panel.person(role, isPlatformRole(role) ? null : ACME, isProjectRole(role) ? PROJECT : null));
const { messaging } = panel;
messaging.answer(accountList, () => ({ accounts: [{ ...account, balance: money }], nextCursor: null }) as never);
messaging.answer(accountCreate, () => account as never);
messaging.answer(balanceGet, () => ({ ...money, expiredHeld: AMOUNT }) as never);
messaging.answer(budgetList, () => ({ budgets: [{ budgetId: BUDGET, accountId: ACME, projectId: PROJECT }] }) as never);
messaging.answer(budgetValues, () => ({ values: [], nextCursor: null }) as never);
messaging.answer(keyList, () => ({ keys: [key], nextCursor: null }) as never);
for (const change of [keyCreate, keyRotate]) messaging.answer(change as typeof keyCreate, () => ({ ...key, key: 'tg_live_x' }) as never);
for (const change of [keyUpdate, keyRevoke]) messaging.answer(change as typeof keyUpdate, () => key as never);
messaging.answer(childKeyList, () => ({ children: [], nextCursor: null }) as never);
messaging.answer(childKeyMint, () => ({ keyId: KEY, childId: CHILD, key: 'tg_child_x', limitPicoUsd: '1' }) as never);
messaging.answer(childKeyRevoke, () => ({ keyId: KEY, revoked: [CHILD] }));
messaging.answer(projectList, () => ({ projects: [project], nextCursor: null }) as never);
for (const change of [projectCreate, projectUpdate]) messaging.answer(change as typeof projectCreate, () => project as never);
messaging.answer(requestList, () => ({ requests: [billed], nextCursor: null, searchedTo: null }) as never);
messaging.answer(requestShow, () => ({ ...billed, price: { version: 1, pricePlan: PLAN } }) as never);
messaging.answer(routeStatus, () => ({ replica: 'one', catalogRevision: null, routes: [], waiting: [] }));
messaging.answer(ledgerCheckList, () => ({ checks: [] }) as never);
messaging.answer(usageQuery, ({ from }) => ({ from, to: AT, rows: [usage], nextCursor: null }) as never);
messaging.answer(modelList, () => ({ models: [] }) as never);
messaging.publish(requestsEnded, { requests: [refused] });
await panel.app.get(ActivityRecorder).flush();
afterAll(async () => {
  await panel.close();
  await close(gateway);
});

/** Sends a request to a route. Returns its status and text. */
async function send(name: RouteName, role: Role): Promise<{ status: number; text: string }> {
  const { method, path } = findRoute(name);
  const ids = {
    ...{ ':accountId': ACME, ':projectId': PROJECT, ':keyId': KEY, ':childId': CHILD, ':budgetId': BUDGET },
    ':requestId': refused.requestId,
  };
  const filled = Object.entries(ids).reduce((text, [parameter, id]) => text.replace(parameter, id), path);
  const query = new URLSearchParams({
    ...(/usage|traffic|overview/.test(path) && { from: '2027-01-01T00:00:00Z', to: '2027-01-02T00:00:00Z' }),
    ...(isProjectRole(role) && { projectId: PROJECT }),
  });
  const body = BODIES[name];
  const {
    status,
    text = '',
    body: parsed,
  } = await panel.send(`${filled}?${query}`, {
    ...{ method, cookie: (people.get(role) as SignedIn).cookie },
    ...(body && { body }),
  });
  return { status, text: text + JSON.stringify(parsed ?? '') };
}

const shown = (text: string): string[] => SECRETS.filter((secret) => text.includes(secret));

test.each(NAMES)('%s shows no role without money.read the balance, the credit line or the price plan [sec-money-read]', async (name) => {
  const mayUse = (role: Role): boolean => (ROUTE_CALLERS[name] as string[]).includes(role);
  const replies = await Promise.all(BLIND.filter(mayUse).map((role) => send(name, role)));
  // A reply that failed before the services answered would prove nothing.
  expect(replies.filter(({ status }) => status >= 400 && status !== 402).map(({ status, text }) => [status, text])).toEqual([]);
  expect(replies.flatMap(({ text }) => shown(text))).toEqual([]);
});

test.each(['listAccounts', 'showOverview'] as const)('%s shows them to every role with money.read', async (name) => {
  const seeing = ROLES.filter((role) => !BLIND.includes(role));
  const replies = await Promise.all(seeing.map((role) => send(name, role)));
  expect(replies.map(({ text }) => shown(text))).toEqual(seeing.map(() => (name === 'listAccounts' ? SECRETS : [AMOUNT])));
});

test.each(['listRequests', 'showRequestActivity'] as const)(
  '%s shows a role with money.read the sentence of a refusal whole',
  async (name) => {
    const { text } = await send(name, 'owner');
    expect(shown(text)).toEqual([AMOUNT]);
  },
);

test('showOverview names the services of the process on the whole platform, to roles of the platform alone', async () => {
  const named = await Promise.all(
    ROLES.flatMap((role) =>
      ['all', ACME].map(async (account) => {
        const { cookie } = people.get(role) as SignedIn;
        const { body } = await panel.send(`/accounts/${account}/overview`, { cookie });
        return [role, account, body.processServices];
      }),
    ),
  );
  expect(named.filter(([, , services]) => services)).toEqual([
    ['admin', 'all', ['panel', 'billing']],
    ['auditor', 'all', ['panel', 'billing']],
  ]);
});

test('a token without money.read is shown none of them, although its maker sees them [sec-money-read]', async () => {
  const token = await panel.token(people.get('admin') as SignedIn, ['usage.read', 'accounts']);
  const replies = [
    await panel.send('/accounts', { token }),
    await panel.send(`/accounts/${ACME}/overview`, { token }),
    await panel.send('/accounts', { method: 'POST', token, body: { name: 'Acme' } }),
  ];
  expect(replies.map(({ status, text }) => [status, shown(text)])).toEqual([
    [200, []],
    [200, []],
    [201, []],
  ]);
});

test('the roles without money.read are those of the tables in docs/panel.md', () => {
  expect(BLIND).toEqual(['developer', 'viewer', 'project-developer', 'project-member', 'project-viewer']);
});
