import type { Budget } from '#contracts/billing/budgets.js';
import { balanceGet } from '#contracts/billing/money.js';
import { type OwnKeyShowRequest, ownKeyShow } from '#contracts/billing/own-key.js';
import { TEST_CALLER } from '#testing/fake-services.js';
import { type Answer, JSON_TYPE, KEY, readError, startTestGateway, type TestGateway } from '../../../test/test-gateway.js';

/** Estimates and the client's maximum over HTTP, with fakes of the other services. */

let gateway: TestGateway;
let asked: OwnKeyShowRequest[];
let available: string;
let budgets: Budget[];
beforeEach(async () => {
  gateway = await startTestGateway();
  asked = [];
  available = '1000000000000';
  budgets = [];
  gateway.fakes.messaging.answer(balanceGet, () => ({ available_pico_usd: available }) as never);
  gateway.fakes.messaging.answer(ownKeyShow, (request) => {
    asked.push(request);
    return { accountId: TEST_CALLER.accountId, budgets } as never;
  });
});
afterEach(() => gateway.close());

const TURNS = [{ role: 'user', content: 'Twelve bytes' }];
const FORMATS = [
  { path: '/v1/chat/completions', body: { model: 'test-model', messages: TURNS, max_tokens: 20 } },
  { path: '/v1/responses', body: { model: 'test-model', input: TURNS, max_output_tokens: 20, stream: true } },
  { path: '/v1/messages', body: { model: 'test-model', messages: TURNS, max_tokens: 20 } },
];

const send = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
  gateway.ask(path, { headers: { ...KEY, ...JSON_TYPE, ...headers }, body });

/** 12 bytes of prompt and 20 tokens of output. */
const HELD = 12 * 150_000 + 20 * 600_000;

describe.each(FORMATS)('$path', ({ path, body }) => {
  test('the estimate is what the request then holds; it holds nothing itself', async () => {
    const estimate = await send(`${path}/estimate`, body);
    expect([estimate.status, JSON.parse(estimate.text)]).toEqual([
      200,
      {
        ...{ object: 'estimate', model: 'test-model', prompt_tokens: 3, prompt_tokens_method: 'four_bytes_a_token' },
        ...{ prompt_tokens_max: 12, output_tokens_max: 20, max_cost_pico_usd: String(HELD), max_cost_usd: '0.0000138' },
        price: {
          ...{ version: 7, price_plan: null, input_pico_usd: '150000', cached_input_pico_usd: '15000', output_pico_usd: '600000' },
          ...{ cache_write_pico_usd: '150000', cache_write_1h_pico_usd: '150000', request_pico_usd: '0', image_pico_usd: '0' },
          ...{ images: 0, steps: [], tiers: [], image_steps: [] },
        },
        available_pico_usd: '1000000000000',
        refused_by: [],
      },
    ]);
    expect([gateway.fakes.applies, gateway.fakes.opened]).toEqual([0, []]);
    await send(path, body);
    expect(gateway.fakes.reserves).toMatchObject([{ amountPicoUsd: String(HELD) }]);
  });

  test('errors are those of the request', async () => {
    const long = [{ role: 'user', content: 'x'.repeat(40_000) }];
    const wrong = [{ ...body, model: 'none' }, { ...body, temperature: 'hot' }, { ...body, messages: long, input: long }, '{'];
    for (const one of wrong) {
      const [estimate, request] = [await send(`${path}/estimate`, one), await send(path, one)];
      const error = ({ status, text }: Answer) => [status, text.replace(/req_\w+/, '')];
      expect(error(estimate)).toEqual(error(request));
    }
  });

  test('a maximum below what it can cost refuses it before money is held, with both amounts; the estimate too', async () => {
    for (const at of [path, `${path}/estimate`]) {
      const answer = await send(at, body, { 'x-tollgate-max-cost': '0.0000137' });
      expect([answer.status, readError(answer).message]).toEqual([
        402,
        'The request may cost up to $0.0000138 (20 output tokens), more than the $0.0000137 of `x-tollgate-max-cost`. Lower the output limit to 19 tokens or less.',
      ]);
      if (path !== '/v1/messages') expect(readError(answer).code).toBe('insufficient_balance');
      expect(answer.headers['x-should-retry']).toBe('false');
    }
    expect([gateway.fakes.applies, gateway.fakes.opened]).toEqual([0, []]);
  });

  test('lower-output: hold and upstream get the lower limit', async () => {
    const headers = { 'x-tollgate-max-cost': '0.0000137; lower-output' };
    expect(JSON.parse((await send(`${path}/estimate`, body, headers)).text)).toMatchObject({
      output_tokens_max: 19,
      max_cost_usd: '0.0000132',
    });
    expect((await send(path, body, headers)).status).toBe(200);
    expect(gateway.fakes.reserves).toMatchObject([{ amountPicoUsd: '13200000', amountTokens: 31 }]);
    expect(gateway.fakes.opened).toMatchObject([{ ticket: { outputTokensMax: 19 } }]);
  });

  test.each(['0.0000138', '$1', '1,000.00', '0.0000138;lower-output', ' 5 ; lower-output '])(
    'a maximum of "%s" lets it run',
    async (max) => {
      expect((await send(path, body, { 'x-tollgate-max-cost': max })).status).toBe(200);
      expect(gateway.fakes.reserves).toMatchObject([{ amountPicoUsd: String(HELD) }]);
    },
  );

  test.each(['', '-1', '1e-3', '0,05', '0.05, 0.06', 'NaN', '0.0000000000001', '1; lower', '1; lower-output; x'])(
    'a maximum of "%s" is refused',
    async (max) => {
      const answer = await send(path, body, { 'x-tollgate-max-cost': max });
      expect([answer.status, readError(answer).message]).toEqual([
        400,
        expect.stringMatching(/^`x-tollgate-max-cost` (is no amount|must be)/),
      ]);
      expect(gateway.fakes.applies).toBe(0);
    },
  );
});

test('all that would refuse the request is named, with what is missing', async () => {
  available = '100';
  const budget = {
    ...{
      accountId: TEST_CALLER.accountId,
      projectId: null,
      keyId: null,
      dimension: null,
      value: null,
      period: 'day' as const,
      timeZone: 'UTC',
    },
    ...{ startDay: 1, thresholds: [], windowStart: null, resetsAt: '2026-12-01T00:00:00.000Z', createdAt: '2026-11-01T00:00:00.000Z' },
  };
  const usd = (limit: number, spent: number, held: number) => ({
    unit: 'usd' as const,
    limitPicoUsd: `${limit}`,
    spentPicoUsd: `${spent}`,
    heldPicoUsd: `${held}`,
  });
  budgets = [
    { ...budget, budgetId: '1', ...usd(HELD, 0, 0) },
    { ...budget, budgetId: '2', ...usd(HELD + 5, 4, 2), projectId: 'p' },
    { ...budget, budgetId: '3', ...usd(10, 20, 0), projectId: 'p', keyId: 'k', resetsAt: null, period: 'total' },
    { ...budget, budgetId: '4', unit: 'tokens', limitTokens: 40, spentTokens: 5, heldTokens: 5, dimension: 'user', value: 'alice' },
    { ...budget, budgetId: '5', unit: 'tokens', limitTokens: 32, spentTokens: 0, heldTokens: 0 },
  ];
  const answer = await send('/v1/chat/completions/estimate', { ...FORMATS[0]?.body, user: 'alice' }, { 'x-tollgate-tags': 'team=a' });
  expect(JSON.parse(answer.text)).toMatchObject({ available_pico_usd: '100' });
  expect(JSON.parse(answer.text).refused_by).toEqual([
    { by: 'balance', left_pico_usd: '100', missing_pico_usd: String(HELD - 100) },
    ...[
      { scope: 'project', of: null, period: 'day', resets_at: budget.resetsAt, left_pico_usd: String(HELD - 1), missing_pico_usd: '1' },
      { scope: 'key', of: null, period: 'total', resets_at: null, left_pico_usd: '0', missing_pico_usd: String(HELD) },
      { scope: 'account', of: 'user=alice', period: 'day', resets_at: budget.resetsAt, left_tokens: 30, missing_tokens: 2 },
    ].map((refusal) => ({ by: 'budget', ...refusal })),
  ]);
  expect(asked).toEqual([{ keyId: TEST_CALLER.keyId, attribution: { user: 'alice', 'tag:team': 'a' } }]);
});

test('a large body is estimated too, and frees its memory', async () => {
  const body = { ...FORMATS[0]?.body, messages: [{ role: 'user', content: 'x'.repeat(300_000) }] };
  const answer = await send('/v1/chat/completions/estimate', body);
  expect(readError(answer).code).toBe('context_length_exceeded');
});
