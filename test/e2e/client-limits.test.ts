import { randomUUID } from 'node:crypto';
import { budgetSet } from '#contracts/billing/budgets.js';
import { keyCreate } from '#contracts/billing/keys.js';
import { adjustmentCreate, topupCreate } from '#contracts/billing/money.js';
import type { Messaging } from '#messaging/messaging.js';
import { testKey } from '#testing/fake-services.js';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator, createTenant, readBalance, type Tenant, untilNoHolds } from '#testing/tenant.js';

let running: RunningStack;
let administrator: Messaging;
let tenant: Tenant;

beforeAll(async () => {
  running = await startPrivateStack({ layout: 'split' }); // in one process requests need no NATS
  administrator = await connectAdministrator(running);
  tenant = await createTenant(administrator, { usd: '1.00' });
});
afterAll(async () => {
  await administrator?.close();
  await running?.stop();
});

const MESSAGES = [{ role: 'user', content: 'Hello [[sim tokens=3]]' }];

async function ask(path: string, body: object, apiKey: string): Promise<{ status: number; retryAfter: string | null; type?: string }> {
  const response = await fetch(`${running.gatewayUrl}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const reply = (await response.json()) as { error?: { type: string } };
  return { status: response.status, retryAfter: response.headers.get('retry-after'), type: reply.error?.type };
}

const chat = async (apiKey: string): Promise<number> =>
  (await ask('/v1/chat/completions', { model: 'sim-fast', messages: MESSAGES, max_tokens: 9 }, apiKey)).status;

/** Runs `attack` in parallel loops during `work`. */
async function during<Result>(attack: (round: number) => Promise<unknown>, work: () => Promise<Result>): Promise<Result> {
  let isOver = false;
  let round = 0;
  const loops = Array.from({ length: 10 }, async () => {
    while (!isOver) await attack(round++);
  });
  try {
    return await work();
  } finally {
    isOver = true;
    await Promise.all(loops);
  }
}

test('an empty account is served again by the first request after a top-up', async () => {
  const { accountId, apiKey } = await createTenant(administrator, { usd: '0' });
  const afterTopUp: number[] = [];
  const empties = [await chat(apiKey)];
  for (let round = 0; round < 10; round++) {
    await administrator.request(topupCreate, { accountId, usd: '1.00', paymentId: randomUUID() });
    afterTopUp.push(await chat(apiKey));
    await untilNoHolds(administrator, accountId);
    const { balance_usd } = await readBalance(running.gatewayUrl, apiKey);
    await administrator.request(adjustmentCreate, { accountId, adjustmentId: randomUUID(), usd: `-${balance_usd}`, reason: 'test' });
    empties.push(...(await Promise.all([chat(apiKey), chat(apiKey), chat(apiKey)])));
  }
  expect([afterTopUp, new Set(empties)]).toEqual([Array(10).fill(200), new Set([402])]);
});

test('a new key works while its address guesses keys [limit-key-lookups]', async () => {
  const guess = async (round: number): Promise<void> => {
    await fetch(`${running.gatewayUrl}/v1/models`, { headers: { authorization: `Bearer ${testKey(1_000 + round)}` } }).then((response) =>
      response.text(),
    );
  };
  const statuses = await during(guess, async () => {
    const found: number[] = [];
    for (let round = 0; round < 20; round++) {
      const { key } = await administrator.request(keyCreate, { projectId: tenant.projectId });
      found.push(await chat(key));
    }
    return found;
  });
  expect(statuses).toEqual(Array(20).fill(200));
});

test('a budget refuses with 402 in each format, and names itself to the owner of the key [limit-budget]', async () => {
  const { accountId, projectId, apiKey } = await createTenant(administrator, { usd: '1.00' });
  const { resetsAt } = await administrator.request(budgetSet, { accountId, projectId, period: 'day', limitPicoUsd: '1' });
  const body = { model: 'sim-fast', messages: MESSAGES, input: 'Hello', max_tokens: 9, max_output_tokens: 9 };
  const replies = await Promise.all(
    ['/v1/chat/completions', '/v1/responses', '/v1/messages'].map(async (path) => {
      const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
      const response = await fetch(`${running.gatewayUrl}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
      return [response.status, response.headers.get('x-should-retry'), await response.json()];
    }),
  );
  const message = expect.stringMatching(
    new RegExp(
      `^The daily budget of project ${projectId} is \\$0\\.000000000001: \\$0\\.00 spent, \\$0\\.00 held by running requests, \\$0\\.000000000001 left; ` +
        `this request may cost up to \\$[\\d.]+ \\(9 output tokens\\)\\. The budget resets at ${resetsAt?.slice(0, 10)}T00:00:00Z\\.$`,
    ),
  );
  const error = { message, type: 'insufficient_balance_error', param: null, code: 'insufficient_balance' };
  expect(replies).toEqual([
    [402, 'false', { error }],
    [402, 'false', { error }],
    [402, 'false', { type: 'error', error: { type: 'billing_error', message }, request_id: expect.any(String) }],
  ]);
  await administrator.request(budgetSet, { accountId, projectId, period: 'day', limitPicoUsd: String(10n ** 12n) });
  expect(await chat(apiKey)).toBe(200);
});

test('without NATS the gateway answers 503 with `Retry-After` in each format, and then serves again', async () => {
  await running.hold('nats');
  const body = { model: 'sim-fast', messages: MESSAGES, input: 'Hello', max_tokens: 9 };
  const answers = await Promise.all(
    ['/v1/chat/completions', '/v1/responses', '/v1/messages'].map((path) => ask(path, body, tenant.apiKey)),
  );
  const probes = await Promise.all([`${running.gatewayUrl}/readyz`, `${running.opsUrls.gateway}/readyz`].map((url) => fetch(url)));
  await running.resume('nats');
  expect(answers).toEqual([
    { status: 503, retryAfter: '1', type: 'api_error' },
    { status: 503, retryAfter: '1', type: 'api_error' },
    { status: 503, retryAfter: '1', type: 'overloaded_error' },
  ]);
  expect(probes.map(({ status }) => status)).toEqual([200, 200]);
  const deadline = Date.now() + 30_000;
  while ((await chat(tenant.apiKey)) !== 200) if (Date.now() > deadline) throw new Error('no request succeeds again');
});
