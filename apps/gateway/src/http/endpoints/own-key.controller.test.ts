import { setImmediate } from 'node:timers/promises';
import { type OwnKeyRequestRequest, type OwnKeyUsageRequest, ownKeyRequest, ownKeyShow, ownKeyUsage } from '#contracts/billing/own-key.js';
import type { BilledRequest } from '#contracts/billing/requests.js';
import { ServiceError } from '#contracts/service-error.js';
import { TEST_CALLER } from '#testing/fake-services.js';
import { KEY, startTestGateway, type TestGateway, until } from '../../../test/test-gateway.js';

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await startTestGateway();
});
afterEach(() => gateway.close());

const { keyId } = TEST_CALLER;

async function get(path: string): Promise<{ status: number; body: unknown }> {
  const response = await fetch(gateway.url + path, { headers: KEY });
  return { status: response.status, body: await response.json() };
}

test('GET /v1/key: limits, budgets with what remains, and end', async () => {
  const budget = {
    ...{ budgetId: 'b', accountId: 'a', timeZone: 'UTC', windowStart: null, resetsAt: null, createdAt: '2026-11-01T00:00:00.000Z' },
    ...{ period: 'total' as const, dimension: null, value: null, thresholds: [], startDay: 1, unit: 'usd' as const },
  };
  gateway.fakes.messaging.answer(ownKeyShow, (request) => ({
    ...{
      keyId: request.keyId,
      rootKeyId: 'k',
      projectId: 'p',
      accountId: 'a',
      name: 'agents',
      note: 'of the operator',
      lastFour: 'x4Qd',
      status: 'active' as const,
    },
    ...{
      createdAt: '2026-11-01T09:00:00.000Z',
      createdBy: 'Ann',
      expiresAt: null,
      lastUsedAt: null,
      disabled: false,
      replacedBy: null,
      revokedAt: null,
    },
    ...{ models: ['sim-*'], networks: ['10.0.0.0/8'], requestsPerMinuteMax: 60, tokensPerMinuteMax: null, concurrencyMax: null },
    modelLimits: [{ model: 'gpt-*', tokensPerMinuteMax: 900 }],
    projectModelLimits: [{ model: 'o3', requestsPerMinuteMax: 5 }],
    tightest: { requestsPerMinuteMax: 60, tokensPerMinuteMax: 9_000, concurrencyMax: 50 },
    budgets: [
      { ...budget, projectId: null, keyId: null, limitPicoUsd: '100', spentPicoUsd: '60', heldPicoUsd: '15' },
      { ...budget, projectId: 'p', keyId: null, limitPicoUsd: '10', spentPicoUsd: '20', heldPicoUsd: '0' },
      { ...budget, projectId: 'p', keyId: 'k', limitPicoUsd: '10', spentPicoUsd: '0', heldPicoUsd: '0' },
      { ...budget, projectId: 'p', keyId: 'k', unit: 'tokens' as const, limitTokens: 900, spentTokens: 500, heldTokens: 30 },
    ],
  }));
  const shown = { period: 'total', time_zone: 'UTC', start_day: 1, window_start: null, resets_at: null };
  expect(await get('/v1/key')).toEqual({
    status: 200,
    body: {
      ...{ object: 'key', id: keyId, name: 'agents', last_four: 'x4Qd' },
      ...{ created_at: '2026-11-01T09:00:00.000Z', expires_at: null, last_used_at: null },
      ...{ models: ['sim-*'], networks: ['10.0.0.0/8'] },
      limits: {
        ...{ requests_per_minute: 60, tokens_per_minute: 9_000, concurrency: 50 },
        models: [
          { model: 'gpt-*', requests_per_minute: null, tokens_per_minute: 900 },
          { model: 'o3', requests_per_minute: 5, tokens_per_minute: null },
        ],
      },
      budgets: [
        { ...shown, scope: 'account', limit_pico_usd: '100', spent_pico_usd: '60', held_pico_usd: '15', remaining_pico_usd: '25' },
        { ...shown, scope: 'project', limit_pico_usd: '10', spent_pico_usd: '20', held_pico_usd: '0', remaining_pico_usd: '0' },
        { ...shown, scope: 'key', limit_pico_usd: '10', spent_pico_usd: '0', held_pico_usd: '0', remaining_pico_usd: '10' },
        { ...shown, scope: 'key', limit_tokens: 900, spent_tokens: 500, held_tokens: 30, remaining_tokens: 370 },
      ],
    },
  });
});

test('GET /v1/usage: the query goes to billing with the key of the request, and the page comes back', async () => {
  const asked: OwnKeyUsageRequest[] = [];
  const counts = {
    requests: 2,
    estimatedRequests: 1,
    promptTokens: 30,
    cachedTokens: 4,
    cacheWriteTokens: 6,
    outputTokens: 20,
    reasoningTokens: 5,
  };
  gateway.fakes.messaging.answer(ownKeyUsage, (request) => {
    asked.push(request);
    const rows = [{ model: 'm', user: 'alice', tag: null, ...counts, costPicoUsd: '7', forfeitedPicoUsd: '0' }];
    return { from: '2026-11-01T00:00:00.000Z', to: '2026-11-02T00:00:00.000Z', rows, nextCursor: 'next' };
  });
  const query = 'from=2026-11-01&to=2026-11-02&step=day&group_by=model,user,model,tag&tag=team&limit=5&cursor=c&other=1';
  expect(await get(`/v1/usage?${query}`)).toEqual({
    status: 200,
    body: {
      ...{ object: 'list', from: '2026-11-01T00:00:00.000Z', to: '2026-11-02T00:00:00.000Z', has_more: true, next_cursor: 'next' },
      data: [
        {
          ...{ model: 'm', user: 'alice', tag: null, requests: 2, estimated_requests: 1, prompt_tokens: 30, cached_tokens: 4 },
          ...{ cache_write_tokens: 6, cache_write_1h_tokens: 0 },
          ...{ output_tokens: 20, reasoning_tokens: 5, cost_pico_usd: '7' },
        },
      ],
    },
  });
  const groupBy = ['model', 'user', 'tag'];
  expect(asked).toEqual([{ keyId, from: '2026-11-01', to: '2026-11-02', step: 'day', groupBy, tag: 'team', limit: 5, cursor: 'c' }]);
});

test.each([
  ['step=week', 'step', 'step takes hour, day.'],
  ['group_by=model,key', 'group_by', 'group_by takes model, upstream, ending, user, tag, client, session, agent, child.'],
  ['limit=0', 'limit', 'limit is an integer from 1 to 1000.'],
  ['limit=1e2', 'limit', 'limit is an integer from 1 to 1000.'],
])('GET /v1/usage?%s is refused and names the parameter', async (query, param, message) => {
  expect(await get(`/v1/usage?${query}`)).toEqual({
    status: 400,
    body: { error: { message, type: 'invalid_request_error', param, code: 'invalid_request' } },
  });
});

test('what billing refuses in a usage query names the parameter', async () => {
  const message = 'to must be later than from.';
  gateway.fakes.messaging.answer(ownKeyUsage, () => {
    throw new ServiceError('invalid_request', message, 'to');
  });
  expect(await get('/v1/usage?from=2026-11-02&to=2026-11-01')).toEqual({
    status: 400,
    body: { error: { message, type: 'invalid_request_error', param: 'to', code: 'invalid_request' } },
  });
});

test('GET /v1/requests/{id}: for whom a request was, what it held, used and cost, and nothing that is the operator’s', async () => {
  const asked: OwnKeyRequestRequest[] = [];
  const usage = { promptTokens: 12, cachedTokens: 2, cacheWrite1hTokens: 4, outputTokens: 3, reasoningTokens: 1 };
  gateway.fakes.messaging.answer(ownKeyRequest, (request) => {
    asked.push(request);
    return {
      ...{ requestId: request.requestId, holdId: 'h', ...TEST_CALLER, model: 'm', upstream: 'local', traceId: null, heldPicoUsd: '50' },
      attribution: { user: 'alice', session: 's', agent: 'a', 'parent-agent': 'p', 'tag:team': 'search' },
      price: { version: 3, pricePlan: 'gold', inputPicoUsd: '1', cachedInputPicoUsd: '0', cacheWritePicoUsd: '3', outputPicoUsd: '2' },
      reservedAt: '2026-11-21T06:31:48.053Z',
      settlement: {
        ...{
          reason: 'completed' as const,
          settledBy: 'gateway' as const,
          settledAt: '2026-11-21T06:31:48.639Z',
          costPicoUsd: '16',
          overPicoUsd: '0',
        },
        usage: { ...usage, promptSource: 'reported' as const, outputSource: 'counted' as const },
        paid: { planPicoUsd: '0', topupPicoUsd: '16', endedPlanPicoUsd: '0' },
        ...{ writtenOffPicoUsd: '0', reaped: null },
      },
      creditNotes: [{ noteId: 'cn-1', amountPicoUsd: '4', reason: 'slow', createdAt: '2026-11-22T00:00:00.000Z' }],
    };
  });
  expect(await get('/v1/requests/req_1')).toEqual({
    status: 200,
    body: {
      ...{ object: 'request', id: 'req_1', model: 'm', upstream: 'local', reserved_at: '2026-11-21T06:31:48.053Z', held_pico_usd: '50' },
      ...{ user: 'alice', client: null, session: 's', child: null, agent: 'a', parent_agent: 'p', tags: { team: 'search' } },
      price: {
        ...{ version: 3, price_plan: 'gold' },
        ...{
          input_pico_usd: '1',
          cached_input_pico_usd: '0',
          cache_write_pico_usd: '3',
          cache_write_1h_pico_usd: '3',
          output_pico_usd: '2',
        },
        ...{ request_pico_usd: '0', image_pico_usd: '0', images: 0, steps: [], tiers: [], image_steps: [] },
      },
      settlement: {
        ...{ settled_at: '2026-11-21T06:31:48.639Z', ending: 'completed', tier: null, step: null, cost_pico_usd: '16' },
        usage: {
          ...{ prompt_tokens: 12, cached_tokens: 2, output_tokens: 3, reasoning_tokens: 1 },
          ...{ cache_write_tokens: 0, cache_write_1h_tokens: 4 },
          ...{ prompt_source: 'reported', output_source: 'counted' },
        },
      },
      credit_notes: [{ id: 'cn-1', amount_pico_usd: '4', reason: 'slow', created_at: '2026-11-22T00:00:00.000Z' }],
    },
  });
  expect(asked).toEqual([{ keyId, requestId: 'req_1' }]);
});

test('GET /v1/requests/{id}: the steps and tiers of its price, and what of them applied', async () => {
  const prices = { inputPicoUsd: '2', cachedInputPicoUsd: '1' };
  const price = {
    ...{ version: 3, inputPicoUsd: '1', cachedInputPicoUsd: '0', outputPicoUsd: '2' },
    steps: [{ above: 10, reprices: 'excess' as const, ...prices }],
    tiers: [
      {
        ...{ tier: 'flex', ...prices, outputPicoUsd: '3' },
        steps: [{ above: 20, reprices: 'whole' as const, ...prices, cacheWritePicoUsd: '4', outputPicoUsd: '5' }],
      },
    ],
    imageSteps: [{ aboveBytes: 99, imagePicoUsd: '6', images: 1 }],
  };
  const usage = { promptTokens: 21, cachedTokens: 2, outputTokens: 3, reasoningTokens: 1, tier: 'flex' };
  gateway.fakes.messaging.answer(
    ownKeyRequest,
    (): BilledRequest => ({
      ...{ requestId: 'req_1', traceId: null, holdId: 'h', accountId: 'a', projectId: 'p', keyId, model: 'm', attribution: {} },
      ...{ upstream: 'local', heldPicoUsd: '50', price, reservedAt: '2026-11-21T06:31:48.053Z', creditNotes: [] },
      settlement: {
        ...{
          usage: { ...usage, promptSource: 'reported' as const, outputSource: 'counted' as const },
          step: 20,
          costPicoUsd: '16',
          overPicoUsd: '0',
        },
        ...{ paid: { planPicoUsd: '0', topupPicoUsd: '16', endedPlanPicoUsd: '0' }, settledAt: '2026-11-21T06:31:48.639Z' },
        ...{ reason: 'completed' as const, settledBy: 'gateway' as const, writtenOffPicoUsd: '0', reaped: null },
      },
    }),
  );
  const shown = (write: string) => ({
    ...{ input_pico_usd: '2', cached_input_pico_usd: '1', cache_write_pico_usd: write, cache_write_1h_pico_usd: write },
  });
  const { body } = (await get('/v1/requests/req_1')) as { body: unknown };
  expect(body).toMatchObject({
    price: {
      steps: [{ above: 10, reprices: 'excess', ...shown('2'), output_pico_usd: null }],
      tiers: [
        {
          ...{ tier: 'flex', ...shown('2'), output_pico_usd: '3' },
          steps: [{ above: 20, reprices: 'whole', ...shown('4'), output_pico_usd: '5' }],
        },
      ],
      image_steps: [{ above_bytes: 99, image_pico_usd: '6', images: 1 }],
    },
    settlement: { tier: 'flex', step: 20 },
  });
});

test.each([
  ['another key’s', new ServiceError('not_found', 'No request with this id has held money.', 'requestId')],
  ['none, since the id is too long', new ServiceError('invalid_request', 'requestId is too long', 'requestId')],
])('a request that is %s is not found', async (_whose, error) => {
  gateway.fakes.messaging.answer(ownKeyRequest, () => {
    throw error;
  });
  expect(await get('/v1/requests/req_1')).toEqual({
    status: 404,
    body: { error: { message: 'This key has no such request.', type: 'not_found_error', param: null, code: 'invalid_request' } },
  });
  const [line] = gateway.logged.filter(({ msg }) => msg === 'request').slice(-1);
  expect(line).toMatchObject({ level: 30, status: 404, code: 'invalid_request' }); // as any other 404
  expect(line).not.toHaveProperty('err');
});

describe('reads of one key at once', () => {
  /** Questions that billing has been asked, in order; each is answered when the test ends it. */
  let asked: OwnKeyUsageRequest[];
  let answer: () => void;
  beforeEach(() => {
    asked = [];
    const answered = Promise.withResolvers<void>();
    answer = answered.resolve;
    gateway.fakes.messaging.answer(ownKeyUsage, async (request) => {
      asked.push(request);
      await answered.promise;
      return { from: request.from, to: request.from, rows: [], nextCursor: null };
    });
  });

  test('are two; a third has 429 with `Retry-After`, and the key is served again afterwards', async () => {
    const running = ['model', 'upstream'].map((group) => get(`/v1/usage?group_by=${group}`));
    await until(() => asked.length === 2);
    const third = await fetch(`${gateway.url}/v1/usage?group_by=ending`, { headers: KEY });
    const { error } = (await third.json()) as { error: { code: string } };
    answer();
    expect([third.status, error.code, third.headers.get('retry-after')]).toEqual([429, 'concurrency_limit', '1']);
    expect((await Promise.all(running)).map(({ status }) => status)).toEqual([200, 200]);
    expect((await get('/v1/usage?group_by=ending')).status).toBe(200);
  });

  test('that are identical are joined: eighty are two reads, and all have their reply', async () => {
    const all = Array.from({ length: 80 }, () => get('/v1/usage?group_by=user,session&from=2026-11-01'));
    const inFlight = async () => (await gateway.registry.getSingleMetric('tollgate_gateway_requests_in_flight')?.get())?.values[0]?.value;
    while ((await inFlight()) !== 80) await setImmediate();
    answer();
    expect((await Promise.all(all)).map(({ status }) => status)).toEqual(Array(80).fill(200));
    expect(asked.length).toBeLessThanOrEqual(2);
  });

  test('of an account with too many have the same 429', async () => {
    gateway.fakes.messaging.answer(ownKeyUsage, () => {
      throw new ServiceError('rate_limit_exceeded', 'Too many reads.');
    });
    const refused = await fetch(`${gateway.url}/v1/usage`, { headers: KEY });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
  });
});
