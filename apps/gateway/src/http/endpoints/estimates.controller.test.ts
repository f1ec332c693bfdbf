import { randomBytes } from 'node:crypto';
import type { Budget } from '#contracts/billing/budgets.js';
import { keyResolve } from '#contracts/billing/keys.js';
import { balanceGet } from '#contracts/billing/money.js';
import { type OwnKeyShowRequest, ownKeyShow } from '#contracts/billing/own-key.js';
import { quoteKey } from '#contracts/billing/quotes.js';
import { ServiceError } from '#contracts/service-error.js';
import { TEST_CALLER, TEST_MODEL } from '#testing/fake-services.js';
import { type Answer, JSON_TYPE, KEY, readError, startTestGateway, type TestGateway, until } from '../../../test/test-gateway.js';

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

describe('quotes', () => {
  const [CHAT, RESPONSES] = FORMATS as [(typeof FORMATS)[number], (typeof FORMATS)[number]];
  let keysAsked: number[];
  beforeEach(() => {
    keysAsked = [];
    const key = randomBytes(32).toString('base64');
    gateway.fakes.messaging.answer(quoteKey, ({ number = 0 }) => {
      keysAsked.push(number);
      return { key };
    });
  });

  async function readQuote({ path, body }: { path: string; body: object }, headers: Record<string, string> = {}) {
    const answer = await send(`${path}/estimate?quote=true`, body, headers);
    expect(answer.status).toBe(200);
    return JSON.parse(answer.text) as { quote: string; quote_expires_at: string; max_cost_pico_usd: string };
  }

  async function changeCatalog(price: object, more: object = {}): Promise<void> {
    gateway.fakes.models = [{ ...TEST_MODEL, ...more, price: { ...TEST_MODEL.price, ...price } }];
    gateway.fakes.messaging.reconnect();
    await until(() => gateway.fakes.messaging.connected);
  }

  test.each(FORMATS)('$path: a request with its quote has the price of then, and holds no more', async (format) => {
    const { quote, quote_expires_at } = await readQuote(format);
    expect(new Date(quote_expires_at).getTime() - Date.now()).toBeGreaterThan(290_000);
    await changeCatalog({ version: 8, inputPicoUsd: '900000', outputPicoUsd: '900000' });
    expect((await send(format.path, format.body, { 'x-tollgate-quote': quote })).status).toBe(200);
    expect((await send(format.path, format.body)).status).toBe(200);
    expect(gateway.fakes.reserves).toMatchObject([
      { amountPicoUsd: String(HELD), price: TEST_MODEL.price },
      { amountPicoUsd: String(32 * 900_000), price: { version: 8 } },
    ]);
    expect(keysAsked.length).toBe(1);
  });

  test('a lower price does not lower a quote, and lower limits of the model do', async () => {
    const { quote } = await readQuote(CHAT);
    await changeCatalog({ version: 8, outputPicoUsd: '1' }, { maxOutputTokens: 7 });
    await send(CHAT.path, CHAT.body, { 'x-tollgate-quote': quote });
    expect(gateway.fakes.reserves).toMatchObject([{ amountPicoUsd: String(12 * 150_000 + 7 * 600_000), price: TEST_MODEL.price }]);
    expect(gateway.fakes.opened).toMatchObject([{ ticket: { outputTokensMax: 7 } }]);
  });

  test('a lowered output limit is part of the quote', async () => {
    const { quote, max_cost_pico_usd } = await readQuote(CHAT, { 'x-tollgate-max-cost': '0.0000137; lower-output' });
    await send(CHAT.path, CHAT.body, { 'x-tollgate-quote': quote });
    expect([max_cost_pico_usd, gateway.fakes.reserves[0]?.amountPicoUsd, gateway.fakes.opened[0]?.ticket.outputTokensMax]).toEqual([
      ...['13200000', '13200000', 19],
    ]);
  });

  test('a maximum below the quote refuses', async () => {
    const { quote } = await readQuote(CHAT);
    const answer = await send(CHAT.path, CHAT.body, { 'x-tollgate-quote': quote, 'x-tollgate-max-cost': '0.0000137' });
    expect([answer.status, readError(answer).code]).toEqual([402, 'insufficient_balance']);
  });

  test('a body, model, endpoint or account that differs is refused before money is held', async () => {
    const { quote } = await readQuote(CHAT);
    const json = JSON.stringify(CHAT.body);
    const wrong: [path: string, body: unknown, quote: string, why: RegExp][] = [
      [CHAT.path, json.replace('Twelve', 'Twelwe'), quote, /is for another body/],
      [CHAT.path, `${json} `, quote, /is for another body/],
      [CHAT.path, { ...CHAT.body, model: 'vision/model' }, quote, /is for the model "test-model"/],
      [RESPONSES.path, RESPONSES.body, quote, /is for another endpoint/],
      [CHAT.path, CHAT.body, quote.replace(/.$/, (last) => (last === 'A' ? 'E' : 'A')), /is changed, or too old/],
      [CHAT.path, CHAT.body, '', /is changed, or too old/],
    ];
    for (const [path, body, sent, why] of wrong) {
      const answer = await send(path, body, { 'x-tollgate-quote': sent });
      expect([answer.status, readError(answer)]).toEqual([
        400,
        { type: 'invalid_request_error', code: 'invalid_request', param: 'x-tollgate-quote', message: expect.stringMatching(why) },
      ]);
    }
    expect(gateway.fakes.applies).toBe(0);
  });

  test('the quote of another account is refused', async () => {
    const { quote } = await readQuote(CHAT);
    await gateway.close();
    const { fakes } = gateway;
    gateway = await startTestGateway({}, fakes);
    fakes.messaging.answer(keyResolve, () => ({ ...TEST_CALLER, accountId: '99999999-9999-4999-8999-999999999999' }));
    const answer = await send(CHAT.path, CHAT.body, { 'x-tollgate-quote': quote });
    expect([answer.status, readError(answer).message]).toEqual([400, '`x-tollgate-quote` is for another account.']);
  });

  test('a large body has a quote of its bytes too', async () => {
    await changeCatalog({}, { contextTokens: 1_000_000 });
    const body = { ...CHAT.body, messages: [{ role: 'user', content: 'x'.repeat(300_000) }] };
    const { quote } = await readQuote({ ...CHAT, body });
    expect((await send(CHAT.path, body, { 'x-tollgate-quote': quote })).status).toBe(200);
    const other = JSON.stringify(body).replace('xx', 'xy');
    expect((await send(CHAT.path, other, { 'x-tollgate-quote': quote })).status).toBe(400);
  });

  test('without billing nothing is signed or checked, and a request without a quote does not ask', async () => {
    gateway.fakes.messaging.answer(quoteKey, () => {
      throw new ServiceError('unavailable', 'down');
    });
    const signed = await send(`${CHAT.path}/estimate?quote=true`, CHAT.body);
    const checked = await send(CHAT.path, CHAT.body, { 'x-tollgate-quote': `q1.498888.abc.${'A'.repeat(43)}` });
    const plain = await send(CHAT.path, CHAT.body);
    expect([signed.status, checked.status, plain.status]).toEqual([503, 503, 200]);
  });

  test.each(['', '?quote=false', '?quote=', '?other=true'])('an estimate with the query "%s" has no quote', async (query) => {
    const answer = await send(`${CHAT.path}/estimate${query}`, CHAT.body);
    expect([answer.status, JSON.parse(answer.text).quote, keysAsked]).toEqual([200, undefined, []]);
  });
});
