import { balanceGet } from '#contracts/billing/money.js';
import { ServiceError } from '#contracts/service-error.js';
import { type Answer, JSON_TYPE, KEY, readError, startTestGateway, type TestGateway } from '../../../test/test-gateway.js';

/** The cost of a reply as its client reads it, with fakes of the other services. test/e2e/reply-cost.test.ts compares it with the ledger. */

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await startTestGateway({ settleAnswerMs: 100 });
});
afterEach(() => gateway.close());

const FORMATS = [
  { path: '/v1/chat/completions', body: { messages: [{ role: 'user', content: 'Hi' }] } },
  { path: '/v1/responses', body: { input: 'Hi' } },
  { path: '/v1/messages', body: { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 10 } },
];
const ALL = FORMATS.flatMap((format) => [false, true].map((stream) => ({ ...format, stream })));

const send = ({ path, body, stream }: (typeof ALL)[number], headers: Record<string, string> = {}): Promise<Answer> =>
  gateway.ask(path, { headers: { ...KEY, ...JSON_TYPE, ...headers }, body: { model: 'test-model', ...body, stream } });

const COST = /"cost":([^,}]+)/g;
const readCosts = ({ headers, text }: Answer) => [headers['x-tollgate-cost'], [...text.matchAll(COST)].map(([, cost]) => cost)];

const settleAt = (costPicoUsd: string): void => {
  gateway.fakes.settleOutcome = ({ holdId }) => ({ status: 'settled', holdId, costPicoUsd });
};

describe.each(ALL)('$path, stream $stream', (one) => {
  const header = (cost: string) => (one.stream ? undefined : cost);

  test('the cost is in the usage only for who asks for it', async () => {
    settleAt('2100000');
    expect(readCosts(await send(one))).toEqual([header('0.0000021'), []]);
    expect(readCosts(await send(one, { 'x-tollgate-include': 'cost' }))).toEqual([header('0.0000021'), ['0.0000021']]);
  });

  test.each([
    ['1', '0.000000000001'],
    ['0', '0.00'],
    ['1000000000000000001', '1000000.000000000001'],
    ['123456789012345678', '123456.789012345678'],
  ])('%s pico-USD is written with all digits and without an exponent', async (picoUsd, usd) => {
    settleAt(picoUsd);
    expect(readCosts(await send(one, { 'x-tollgate-include': 'cost' }))).toEqual([header(usd), [usd]]);
  });

  test('no cost is said that billing has not recorded', async () => {
    gateway.fakes.settleOutcome = ({ holdId }) => ({ status: 'unknown', holdId, costPicoUsd: '0' });
    const unknown = await send(one, { 'x-tollgate-include': 'cost' });
    gateway.fakes.beforeApply = ({ settles }) => {
      if (settles.length > 0) throw new ServiceError('invalid_request', 'refused');
    };
    const refused = await send(one, { 'x-tollgate-include': 'cost' });
    expect([unknown, refused].map((answer) => [answer.status, ...readCosts(answer)])).toEqual([
      [200, undefined, []],
      [200, undefined, []],
    ]);
  });

  test.each(['cost', 'cost, cost', ' cost,', '', ','])('x-tollgate-include: "%s" is accepted', async (include) => {
    expect((await send(one, { 'x-tollgate-include': include })).status).toBe(200);
  });

  test.each(['COST', 'usage', 'cost,usage', 'cost=1'])('x-tollgate-include: "%s" is refused before money is held', async (include) => {
    const answer = await send(one, { 'x-tollgate-include': include });
    expect([answer.status, readError(answer).message]).toEqual([400, '`x-tollgate-include` must be cost.']);
    expect(gateway.fakes.reserves).toEqual([]);
  });
});

test('a chat stream with include_usage has one chunk with the usage', async () => {
  const body = { stream: true, stream_options: { include_usage: true } };
  const answer = await gateway.chat(body, { 'x-tollgate-include': 'cost' });
  expect(answer.text.match(/"usage":/g)).toHaveLength(1);
});

test('free endpoints and refusals have no cost', async () => {
  gateway.fakes.messaging.answer(balanceGet, () => ({ available_pico_usd: '1' }) as never);
  const answers = [
    await gateway.ask('/v1/models', { headers: KEY }),
    await gateway.ask('/v1/balance', { headers: KEY }),
    await gateway.chat({ model: 'none' }),
  ];
  expect(answers.map(({ status, headers }) => [status, headers['x-tollgate-cost']])).toEqual([
    [200, undefined],
    [200, undefined],
    [404, undefined],
  ]);
});
