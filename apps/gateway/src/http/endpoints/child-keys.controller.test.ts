import { type ChildKeyRevokeRequest, childKeyResolve, childKeyRevoke } from '#contracts/billing/child-keys.js';
import { keyResolve } from '#contracts/billing/keys.js';
import { parseChildKey } from '#contracts/child-keys/child-key.js';
import { TEST_CALLER } from '#testing/fake-services.js';
import { KEY, startTestGateway, type TestGateway } from '../../../test/test-gateway.js';

let gateway: TestGateway;
const { keyId } = TEST_CALLER;
const delegation = { signingKey: Buffer.alloc(32, 7).toString('base64'), limitPicoUsd: '5000000000000' };
beforeEach(async () => {
  gateway = await startTestGateway();
  for (const endpoint of [keyResolve, childKeyResolve] as const)
    gateway.fakes.messaging.answer(endpoint as typeof keyResolve, () => ({ ...TEST_CALLER, models: ['test-*'], delegation }));
});
afterEach(() => gateway.close());

async function post(path: string, body: unknown, headers: Record<string, string> = KEY) {
  const response = await fetch(gateway.url + path, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

test('a key makes a child key, and that one another', async () => {
  const first = await post('/v1/key/children', { budget_usd: '0.20', expires_in: 600, tags: { team: 'a' } });
  const path = parseChildKey(String(first.body.key))?.levels[0]?.path;
  expect(first).toEqual({
    status: 200,
    body: {
      ...{ object: 'child_key', key: expect.stringMatching(/^tg_child_/), key_id: keyId, id: path, parent_id: null },
      ...{ expires_at: expect.any(String), budget_pico_usd: '200000000000', budget_usd: '0.20' },
      ...{ models: [], networks: [], tags: { team: 'a' } },
    },
  });
  const second = await post('/v1/key/children', { models: ['test-model'] }, { authorization: `Bearer ${first.body.key}` });
  expect(second.body).toMatchObject({ parent_id: path, budget_usd: '0.20', models: ['test-model'], tags: { team: 'a' } });
  expect(String(second.body.id).startsWith(`${path}.`)).toBe(true);
});

test.each<[unknown, string | null, string]>([
  [[], null, 'The body must be a JSON object.'],
  [{ budget_usd: 0.2 }, 'budget_usd', '`budget_usd` must be dollars in a string such as "0.50".'],
  [{ budget_usd: '5.01' }, 'budget_usd', '`budget_usd` must be at most $5.00: a child key may cost no more than its parent.'],
  [{ expires_in: 0 }, 'expires_in', '`expires_in` must not be less than 1.'],
  [{ models: ['gpt-*'] }, 'models', '`models` must be within those of the parent: gpt-* is not.'],
  [{ networks: ['here'] }, 'networks', '`networks` must be IP addresses or networks such as 10.0.0.0/8 or 2001:db8::/32.'],
  [{ tags: { 'a b': 'c' } }, 'tags', '`tags` must have up to 16 names of tags, with texts of 1 to 128 printable ASCII characters.'],
])('%j is refused', async (body, param, message) => {
  expect(await post('/v1/key/children', body)).toMatchObject({ status: 400, body: { error: { param, message } } });
});

test('a body of more than 64 kB is refused', async () => {
  expect(await post('/v1/key/children', { models: ['x'.repeat(70_000)] })).toMatchObject({ status: 413 });
});

test('a key that may have no child keys gets a 403', async () => {
  gateway.fakes.messaging.answer(keyResolve, () => TEST_CALLER);
  expect(await post('/v1/key/children', {})).toMatchObject({ status: 403, body: { error: { type: 'permission_error' } } });
});

test('a child key revokes itself and those below it, and no other', async () => {
  const asked: ChildKeyRevokeRequest[] = [];
  gateway.fakes.messaging.answer(childKeyRevoke, (request) => {
    asked.push(request);
    return { keyId, revoked: [request.childId] };
  });
  const [one, two] = [(await post('/v1/key/children', {})).body, (await post('/v1/key/children', {})).body];
  const authorization = { authorization: `Bearer ${one.key}` };
  const below = (await post('/v1/key/children', {}, authorization)).body;
  const statuses = [];
  for (const id of [below.id, one.id, two.id, 'none'])
    statuses.push((await post(`/v1/key/children/${id}/revoke`, {}, authorization)).status);
  expect([statuses, asked]).toEqual([
    [200, 200, 404, 404],
    [
      { keyId, childId: below.id },
      { keyId, childId: one.id },
    ],
  ]);
});

test('the reserve of a child key has its chain, what each may cost, and its tags', async () => {
  const one = (await post('/v1/key/children', { budget_usd: '0.20', tags: { team: 'a' } })).body;
  const two = (await post('/v1/key/children', { budget_usd: '0.10' }, { authorization: `Bearer ${one.key}` })).body;
  const body = { model: 'test-model', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 5 };
  await post('/v1/chat/completions', body, { authorization: `Bearer ${two.key}`, 'x-tollgate-tags': 'team=b,env=x' });
  expect(gateway.fakes.reserves.at(-1)).toMatchObject({
    keyId,
    attribution: { child: two.id, 'tag:team': 'a', 'tag:env': 'x' },
    childLimitsPicoUsd: ['200000000000', '100000000000'],
  });
});
