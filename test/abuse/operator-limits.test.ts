import { budgetSet } from '#contracts/billing/budgets.js';
import { projectUpdate } from '#contracts/billing/projects.js';
import { panelInvite } from '#contracts/panel.js';
import { stack } from '#testing/stack.js';
import { connectAdministrator, createTenant, type Tenant } from '#testing/tenant.js';

/** People of an account who try to get more than the operator has allowed it, through the panel and the gateway. */

const { gatewayUrl, panelUrl = '' } = stack();
const PASSWORD = 'a quiet orange river';
const PROJECTS = 40;
const REQUESTS = 80;
const ALLOWED = 5;

let tenant: Tenant;
const administrator = await connectAdministrator(stack());
beforeEach(async () => {
  tenant = await createTenant(administrator, { requestsPerMinuteMax: ALLOWED });
});
afterAll(() => administrator.close());

type Ask = (method: string, path: string, body?: object) => Promise<{ status: number; body: Record<string, string> }>;

/** Makes a person with a role in the account, and returns what it may ask of the panel. */
async function personWith(role: 'developer' | 'finance'): Promise<Ask> {
  const email = `${role}-${tenant.accountId}@example.com`;
  const { link } = await administrator.request(panelInvite, { role, accountId: tenant.accountId, email });
  const token = new URL(link).hash.slice(1);
  const accepted = await send(`${panelUrl}/panel/v1/invites/accept`, { method: 'POST', body: { token, password: PASSWORD } });
  const cookie = String(accepted.headers.get('set-cookie')).split(';')[0] ?? '';
  return async (method, path, body) => {
    const reply = await send(`${panelUrl}/panel/v1${path}`, { method, body, headers: { cookie, origin: panelUrl } });
    const text = await reply.text();
    return { status: reply.status, body: text === '' ? {} : (JSON.parse(text) as Record<string, string>) };
  };
}

function send(
  url: string,
  { method, body, headers = {} }: { method: string; body?: object | undefined; headers?: Record<string, string> },
) {
  return fetch(url, {
    method,
    headers: { ...(body && { 'content-type': 'application/json' }), ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
}

test('a developer with 40 projects at once is admitted no more often than the operator has allowed [sec-operator-limits]', async () => {
  const ask = await personWith('developer');
  const keys = await Promise.all(
    Array.from({ length: PROJECTS }, async (_, at) => {
      const project = await ask('POST', `/accounts/${tenant.accountId}/projects`, { name: `project ${at}` });
      const key = await ask('POST', `/projects/${project.body.projectId}/keys`, {});
      return key.body.key ?? '';
    }),
  );
  expect(new Set(keys).size).toBe(PROJECTS);
  const replies = await Promise.all(
    Array.from({ length: REQUESTS }, async (_, at) => {
      const reply = await send(`${gatewayUrl}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${keys[at % PROJECTS]}` },
        body: { model: 'sim-fast', max_tokens: 5, messages: [{ role: 'user', content: 'Hello' }] },
      });
      const { error } = (await reply.json()) as { error?: { message: string; code: string } };
      return { status: reply.status, code: error?.code, message: error?.message };
    }),
  );
  const refused = replies.filter(({ status }) => status !== 200);
  expect(replies.length - refused.length).toBe(ALLOWED);
  for (const refusal of refused) {
    expect(refusal).toEqual({
      status: 429,
      code: 'rate_limit_exceeded',
      message: expect.stringMatching(`^The account's limit of ${ALLOWED} requests per minute is reached. Please try again in \\d+s.$`),
    });
  }
});

test('a developer lifts no limit of the operator, and lowers it [sec-operator-limits]', async () => {
  const ask = await personWith('developer');
  const { projectId } = tenant;
  await administrator.request(projectUpdate, {
    projectId,
    tokensPerMinuteMax: 500,
    modelLimits: [{ model: 'sim-*', requestsPerMinuteMax: 3 }],
  });
  const change = async (body: object) => (await ask('PATCH', `/projects/${projectId}`, body)).status;
  const lifted = [
    { tokensPerMinuteMax: null },
    { tokensPerMinuteMax: 501 },
    { modelLimits: [] },
    { requestsPerMinuteMax: 6 },
    { concurrencyMax: 1 },
  ];
  expect(await Promise.all(lifted.map(change))).toEqual(lifted.map(() => 403));
  expect([await change({ tokensPerMinuteMax: 100 }), await change({ tokensPerMinuteMax: 500 })]).toEqual([200, 200]);
});

test('finance removes, raises and replaces no budget of the operator, and lowers it [sec-operator-limits]', async () => {
  const ask = await personWith('finance');
  const { accountId } = tenant;
  const { budgetId } = await administrator.request(budgetSet, { accountId, period: 'month', limitPicoUsd: '1000' });
  const set = async (body: object) => (await ask('PUT', `/accounts/${accountId}/budgets`, { period: 'month', ...body })).status;
  const removed = await ask('DELETE', `/accounts/${accountId}/budgets/${budgetId}`);
  expect([removed.status, await set({ limitPicoUsd: '1001' }), await set({ limitPicoUsd: '1000', timeZone: 'Asia/Tokyo' })]).toEqual([
    403, 403, 403,
  ]);
  expect([await set({ limitPicoUsd: '10' }), await set({ limitPicoUsd: '1000' })]).toEqual([200, 200]);
});
