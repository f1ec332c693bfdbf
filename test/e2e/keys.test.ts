import { setTimeout as delay } from 'node:timers/promises';
import { keyCreate, keyRotate, keyUpdate } from '#contracts/billing/keys.js';
import { stack } from '#testing/stack.js';
import { connectAdministrator, createTenant, type Tenant } from '#testing/tenant.js';

/** A key is refused within a second after its end, and not before. The gateway has used it until then, so it knows the key. */

const { gatewayUrl } = stack();
const POLL_MS = 20;
const PROMISE_MS = 1_000;

let tenant: Tenant;
const administrator = await connectAdministrator(stack());
beforeEach(async () => {
  tenant = await createTenant(administrator);
  expect(await list(tenant.apiKey)).toBe(200);
});
afterAll(() => administrator.close());

/** Returns the status of a free request, which the gateway decides alone while it knows the key. */
async function list(key: string): Promise<number> {
  const response = await fetch(`${gatewayUrl}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
  await response.arrayBuffer();
  return response.status;
}

/** Returns the status of a paid request, for which billing decides about the key again. */
async function generate(key: string): Promise<number> {
  const response = await fetch(`${gatewayUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim-fast', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 1 }),
  });
  await response.arrayBuffer();
  return response.status;
}

/** Uses the key until it is refused. A request that is sent a second after the end has to be. Returns the time of the refusal. */
async function refusedAfter(end: number, key: string): Promise<number> {
  for (;;) {
    const sentAt = Date.now();
    const status = await list(key);
    if (status === 401) return Date.now();
    expect({ status, isLate: sentAt > end + PROMISE_MS }).toEqual({ status: 200, isLate: false });
    await delay(POLL_MS);
  }
}

test('rotated with a grace of two seconds: both keys work during it, then the old one is refused', async () => {
  const { key, replaced } = await administrator.request(keyRotate, { keyId: tenant.keyId, graceSeconds: 2 });
  const end = Date.parse(replaced.expiresAt ?? '');
  expect(await generate(key)).toBe(200);
  const status = await generate(tenant.apiKey);
  // On a machine that paused for the whole grace, the answer may come after it.
  if (Date.now() < end) expect(status).toBe(200);
  expect(await refusedAfter(end, tenant.apiKey)).toBeGreaterThanOrEqual(end);
  expect([await generate(tenant.apiKey), await generate(key)]).toEqual([401, 200]);
});

test('with an end that comes while the gateway knows the key', async () => {
  const end = Date.now() + 1_500;
  await administrator.request(keyUpdate, { keyId: tenant.keyId, expiresAt: new Date(end).toISOString() });
  expect(await refusedAfter(end, tenant.apiKey)).toBeGreaterThanOrEqual(end);
  expect(await generate(tenant.apiKey)).toBe(401);
});

test('disabled: refused within a second, and accepted within a second when it is enabled again', async () => {
  const { keyId, apiKey } = tenant;
  await administrator.request(keyUpdate, { keyId, disabled: true });
  await refusedAfter(Date.now(), apiKey);
  expect(await generate(apiKey)).toBe(401);
  await administrator.request(keyUpdate, { keyId, disabled: false });
  const enabledAt = Date.now();
  for (let status = 401; status !== 200; await delay(POLL_MS)) {
    const sentAt = Date.now();
    status = await list(apiKey);
    expect(status === 200 || sentAt <= enabledAt + PROMISE_MS).toBe(true);
  }
  expect(await generate(apiKey)).toBe(200);
});

test('with models: in force within a second, when a key gets some and when it loses them', async () => {
  const { keyId, apiKey } = tenant;
  const inForce = async (models: string[], status: number): Promise<void> => {
    await administrator.request(keyUpdate, { keyId, models });
    const changedAt = Date.now();
    for (let sentAt = changedAt; (await generate(apiKey)) !== status; sentAt = Date.now()) {
      expect(sentAt).toBeLessThanOrEqual(changedAt + PROMISE_MS);
      await delay(POLL_MS);
    }
  };
  await inForce(['none-*'], 404);
  await inForce(['sim-*'], 200);
  await inForce(['none-*'], 404);
  await inForce([], 200);
});

test.each([
  ['chat/completions', { messages: [{ role: 'user', content: 'Hello' }] }, 'not_found_error'],
  ['messages', { messages: [{ role: 'user', content: 'Hello' }], max_tokens: 1 }, 'not_found_error'],
  ['responses', { input: 'Hello' }, 'not_found_error'],
  ['embeddings', { input: 'Hello' }, 'not_found_error'],
])('with models: a refusal by %s names what the key may call, and no other model [error-model-not-found]', async (path, body, type) => {
  const { key } = await administrator.request(keyCreate, { projectId: tenant.projectId, models: ['sim-tiny'] });
  const refusal = async (model: string): Promise<unknown> => {
    const response = await fetch(`${gatewayUrl}/v1/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, ...body }),
    });
    const { error } = (await response.json()) as { error: { type: string; message: string } };
    return [response.status, error.type, error.message];
  };
  const refused = (model: string) => [404, type, `There is no model "${model}" for this key. This key may call sim-tiny.`];
  expect([await refusal('sim-fast'), await refusal('sim-none')]).toEqual([refused('sim-fast'), refused('sim-none')]);
});

test('a model that is misspelt is answered with the one that was meant [error-model-not-found]', async () => {
  const response = await fetch(`${gatewayUrl}/v1/models/sim-fats`, { headers: { authorization: `Bearer ${tenant.apiKey}` } });
  const { error } = (await response.json()) as { error: { message: string } };
  expect(error.message).toBe('There is no model "sim-fats". Did you mean sim-fast?');
});
