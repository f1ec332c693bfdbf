import { budgetSet, budgetValues } from '#contracts/billing/budgets.js';
import { childKeyMint, childKeyRevoke } from '#contracts/billing/child-keys.js';
import { keyUpdate } from '#contracts/billing/keys.js';
import { requestShow } from '#contracts/billing/requests.js';
import { longOr } from '#testing/long-run.js';
import { stack } from '#testing/stack.js';
import { connectAdministrator, createTenant, type Tenant, untilNoHolds } from '#testing/tenant.js';

/** Child keys: made with a key or a child key, in each format, narrower than their parents and within the budgets of all above them. */

const { gatewayUrl } = stack();
const MESSAGES = [{ role: 'user', content: 'Hello' }];
const FORMATS: [path: string, body: object][] = [
  ['/v1/chat/completions', { messages: MESSAGES, max_tokens: 50 }],
  ['/v1/responses', { input: 'Hello', max_output_tokens: 50 }],
  ['/v1/messages', { messages: MESSAGES, max_tokens: 50 }],
];
const [CHAT, CHAT_BODY] = FORMATS[0] as [string, object];

interface Child {
  id: string;
  key: string;
}

let tenant: Tenant;
let budgetId: string;
const administrator = await connectAdministrator(stack());
beforeEach(async () => {
  tenant = await createTenant(administrator);
  const { accountId, keyId } = tenant;
  const budget = { accountId, keyId, dimension: 'child', period: 'total', limitPicoUsd: '2000000000' } as const;
  ({ budgetId } = await administrator.request(budgetSet, budget));
});
afterAll(() => administrator.close());

async function ask(method: 'GET' | 'POST', path: string, key: string, body?: object, headers: Record<string, string> = {}) {
  const response = await fetch(gatewayUrl + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    ...(method === 'POST' && { body: JSON.stringify(body ?? {}) }),
  });
  const reply = (await response.json()) as Record<string, unknown> & { error?: { code: string; message: string; param?: string } };
  return { status: response.status, reply, requestId: response.headers.get('x-request-id') ?? '' };
}

/** Waits until the gateway knows that the key may have child keys. */
async function mint(key: string, body: object = {}): Promise<Child> {
  for (;;) {
    const { status, reply } = await ask('POST', '/v1/key/children', key, body);
    if (status === 200) return reply as unknown as Child;
    if (status !== 403) throw new Error(JSON.stringify(reply));
  }
}

const send = (path: string, key: string, body: object, headers?: Record<string, string>) =>
  ask('POST', path, key, { model: 'sim-fast', ...body }, headers);

test.each(FORMATS)(
  '%s: a chain of three spends within its lowest budget, and each above it spends the same [limit-budget]',
  async (path, body) => {
    const one = await mint(tenant.apiKey, { budget_usd: '0.001' });
    const two = await mint(one.key, { budget_usd: '0.0008', tags: { team: 'search' } });
    const three = await mint(two.key, { budget_usd: '0.00008', models: ['sim-f*'] });
    let answer = await send(path, three.key, body, { 'x-tollgate-tags': 'team=other' });
    const shown = await administrator.request(requestShow, { requestId: answer.requestId });
    expect(shown).toMatchObject({ keyId: tenant.keyId, attribution: { child: three.id, 'tag:team': 'search' } });
    while (answer.status === 200) answer = await send(path, three.key, body);
    expect([answer.status, answer.reply.error?.message]).toEqual([
      402,
      expect.stringMatching(`^The total budget of child ${three.id} in key `),
    ]);
    await untilNoHolds(administrator, tenant.accountId);
    const { values } = await administrator.request(budgetValues, { accountId: tenant.accountId, budgetId });
    const spent = values.map(({ spentPicoUsd }) => spentPicoUsd);
    expect([values.map(({ value, limitPicoUsd }) => [value, limitPicoUsd]), new Set(spent).size]).toEqual([
      [
        [one.id, '1000000000'],
        [two.id, '800000000'],
        [three.id, '80000000'],
      ],
      1,
    ]);
    expect(BigInt(spent[0] ?? 0)).toBeGreaterThan(0n);
    expect(BigInt(spent[0] ?? 0)).toBeLessThanOrEqual(80_000_000n);
  },
);

test('a child key sees itself, its usage and its requests, and nothing else of its key', async () => {
  const child = await mint(tenant.apiKey, { budget_usd: '0.001', expires_in: 600, tags: { team: 'a' } });
  const own = await send(CHAT, child.key, CHAT_BODY);
  const others = await send(CHAT, tenant.apiKey, CHAT_BODY);
  const statuses = [own, others].map(({ requestId }) => ask('GET', `/v1/requests/${requestId}`, child.key));
  expect((await Promise.all(statuses)).map(({ status }) => status)).toEqual([200, 404]);
  const { reply: usage } = await ask('GET', '/v1/usage?group_by=child', child.key);
  expect(usage.data).toEqual([expect.objectContaining({ child: child.id, requests: 1 })]);
  const { reply } = await ask('GET', '/v1/key', child.key);
  expect(reply).toMatchObject({
    id: tenant.keyId,
    child: { id: child.id, parent_id: null, budget_usd: '0.001', budget_pico_usd: '1000000000', tags: { team: 'a' } },
    budgets: [{ scope: 'key', child_id: child.id, limit_pico_usd: '1000000000' }],
  });
});

test.each([
  [
    'its budget',
    { budget_usd: '0.002' },
    'budget_usd',
    '`budget_usd` must be at most $0.001: a child key may cost no more than its parent.',
  ],
  ['its models', { models: ['*'] }, 'models', '`models` must be within those of the parent: * is not.'],
  [
    'its life',
    { expires_in: 900 },
    'expires_in',
    expect.stringMatching(/^`expires_in` must be at most \d+: a child key ends before its parent\.$/),
  ],
  ['its tags', { tags: { team: 'b' } }, 'tags', '`tags` must keep those of the parent: team differs.'],
  ['what is valid', { expires_in: '60' }, 'expires_in', expect.any(String)],
])('a child key beyond %s is refused', async (_, body, param, message) => {
  const { key } = await mint(tenant.apiKey, { budget_usd: '0.001', expires_in: 600, models: ['sim-*'], tags: { team: 'a' } });
  expect(await ask('POST', '/v1/key/children', key, body)).toMatchObject({ status: 400, reply: { error: { param, message } } });
});

test('models and networks of a child key hold for its requests', async () => {
  const { key } = await mint(tenant.apiKey, { models: ['sim-large*'] });
  const elsewhere = await mint(tenant.apiKey, { networks: ['192.0.2.0/24'] });
  expect([await send(CHAT, key, CHAT_BODY), await send(CHAT, elsewhere.key, CHAT_BODY)]).toMatchObject([{ status: 404 }, { status: 401 }]);
});

test('a key without a budget of child keys makes none', async () => {
  const other = await createTenant(administrator);
  expect(await ask('POST', '/v1/key/children', other.apiKey)).toMatchObject({
    status: 403,
    reply: { error: { message: expect.stringContaining('may have no child keys') } },
  });
});

test('a child key and what is below it are revoked by the operator, or by those above it, and the key ends all', async () => {
  const [first, second, third] = [await mint(tenant.apiKey), await mint(tenant.apiKey), await mint(tenant.apiKey)];
  const below = await mint(second.key);
  await administrator.request(childKeyRevoke, { keyId: tenant.keyId, childId: first.id });
  expect(await ask('POST', `/v1/key/children/${second.id}/revoke`, first.key)).toMatchObject({ status: 401 });
  expect(await ask('POST', `/v1/key/children/${third.id}/revoke`, below.key)).toMatchObject({ status: 404 });
  expect(await ask('POST', `/v1/key/children/${second.id}/revoke`, tenant.apiKey)).toMatchObject({ status: 200, reply: { id: second.id } });
  const statuses = async () => {
    const answers = await Promise.all([first, second, below, third].map(({ key }) => send(CHAT, key, CHAT_BODY)));
    return answers.map(({ status }) => status);
  };
  expect(await statuses()).toEqual([401, 401, 401, 200]);
  await administrator.request(keyUpdate, { keyId: tenant.keyId, disabled: true });
  expect(await statuses()).toEqual([401, 401, 401, 401]);
});

test('an operator makes a child key over NATS', async () => {
  const { keyId } = tenant;
  const wanted = { keyId, seconds: 600, limitPicoUsd: '1000000000', tags: { team: 'a' } };
  const { childId, key } = await administrator.request(childKeyMint, wanted);
  const { requestId } = await send(CHAT, key, CHAT_BODY);
  expect(await administrator.request(requestShow, { requestId })).toMatchObject({ attribution: { child: childId, 'tag:team': 'a' } });
});

const [CHILDREN, REQUESTS] = longOr([20, 5], [100, 20]);

test(`${CHILDREN} child keys with ${REQUESTS} requests each at once, some of them revoked meanwhile, leave nothing on hold`, async () => {
  const children = await Promise.all(Array.from({ length: CHILDREN }, () => mint(tenant.apiKey, { budget_usd: '0.00006' })));
  const revoked = children.slice(0, CHILDREN / 4);
  const statuses = await Promise.all([
    ...children.flatMap(({ key }) => Array.from({ length: REQUESTS }, async () => (await send(CHAT, key, CHAT_BODY)).status)),
    ...revoked.map(async ({ id }) => (await ask('POST', `/v1/key/children/${id}/revoke`, tenant.apiKey)).status),
  ]);
  expect([...new Set(statuses)].filter((status) => ![200, 401, 402, 429].includes(status))).toEqual([]);
  await untilNoHolds(administrator, tenant.accountId);
  const { values } = await administrator.request(budgetValues, { accountId: tenant.accountId, budgetId, limit: 1_000 });
  const faults = values.filter(({ spentPicoUsd, heldPicoUsd }) => BigInt(spentPicoUsd ?? 0) > 60_000_000n || heldPicoUsd !== '0');
  expect([faults, values.length > 0]).toEqual([[], true]);
});
