import type { ReserveOutcome } from '#contracts/billing/holds.js';
import { type Answer, CHAT_BODY, JSON_TYPE, KEY, startTestGateway, type TestGateway } from '../../../test/test-gateway.js';
import { RATE_LIMIT_HEADERS } from './rate-limit-headers.js';

let gateway: TestGateway;

beforeEach(async () => {
  gateway = await startTestGateway();
});
afterEach(() => gateway.close());

const REQUESTS = { limit: 600, remaining: 599, resetSeconds: 60 };
const held =
  (requests: typeof REQUESTS | undefined, tokens?: typeof REQUESTS) =>
  ({ holdId }: { holdId: string }): ReserveOutcome => ({ status: 'held', holdId, leaseMs: 60_000, requests, ...(tokens && { tokens }) });

const ask = (path: string, over: object = {}): Promise<Answer> =>
  gateway.ask(path, { headers: { ...KEY, ...JSON_TYPE }, body: { ...CHAT_BODY, input: 'Hi', max_tokens: 10, ...over } });

/** Returns the headers about limits, the time as seconds from now. */
function readLimits({ headers }: Answer): Record<string, unknown> {
  const found = Object.entries(headers).filter(([name]) => name.includes('ratelimit'));
  return Object.fromEntries(
    found.map(([name, value]) => {
      const isTime = /^anthropic-ratelimit-\w+-reset$/.test(name);
      return [name, isTime ? Math.round((Date.parse(String(value)) - Date.now()) / 10_000) * 10 : value];
    }),
  );
}

const GENERAL = {
  'x-ratelimit-limit-requests': '600',
  'x-ratelimit-remaining-requests': '599',
  'x-ratelimit-reset-requests': '1m0s',
};
const ANTHROPIC = {
  'anthropic-ratelimit-requests-limit': '600',
  'anthropic-ratelimit-requests-remaining': '599',
  'anthropic-ratelimit-requests-reset': 60,
};

test.each([
  ['/v1/chat/completions', GENERAL],
  ['/v1/responses', GENERAL],
  ['/v1/messages', { ...GENERAL, ...ANTHROPIC }],
])('%s says what is left of the requests per minute, plain and streamed [T-55]', async (path, expected) => {
  gateway.fakes.reserveOutcome = held(REQUESTS);
  for (const stream of [false, true]) {
    const answer = await ask(path, { stream });
    expect([answer.status, readLimits(answer)]).toEqual([200, expected]);
  }
  expect(gateway.fakes.applies).toBe(4); // a reserve and a settlement each: no further message
});

test.each([
  ['/v1/chat/completions', {}],
  ['/v1/responses', {}],
  [
    '/v1/messages',
    {
      ...ANTHROPIC,
      ...{
        'anthropic-ratelimit-tokens-limit': '1000',
        'anthropic-ratelimit-tokens-remaining': '250',
        'anthropic-ratelimit-tokens-reset': 40,
      },
    },
  ],
])('%s says what is left of the tokens per minute where a limit counts them', async (path, ofAnthropic) => {
  gateway.fakes.reserveOutcome = held(REQUESTS, { limit: 1_000, remaining: 250, resetSeconds: 40 });
  expect(readLimits(await ask(path))).toEqual({
    ...GENERAL,
    ...ofAnthropic,
    'x-ratelimit-limit-tokens': '1000',
    'x-ratelimit-remaining-tokens': '250',
    'x-ratelimit-reset-tokens': '40s',
  });
});

test('a failure after the reserve says it too', async () => {
  gateway.fakes.reserveOutcome = held(REQUESTS);
  gateway.fakes.model = (stream) => stream.end();
  const answer = await ask('/v1/chat/completions');
  expect([answer.status, readLimits(answer)]).toEqual([502, GENERAL]);
});

test('a refusal for the limit says when it is back', async () => {
  gateway.fakes.reserveOutcome = ({ holdId }) => ({
    ...{ status: 'refused', holdId, code: 'rate_limit_exceeded', limit: 7, retryAfterSeconds: 3 },
    requests: { limit: 7, remaining: 0, resetSeconds: 42 },
  });
  const answer = await ask('/v1/chat/completions');
  expect([answer.status, answer.headers['retry-after'], readLimits(answer)]).toEqual([
    429,
    '3',
    { 'x-ratelimit-limit-requests': '7', 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '42s' },
  ]);
});

test('a reply without the figures of billing, a refused body and a free endpoint have no such header', async () => {
  gateway.fakes.reserveOutcome = held(undefined);
  const answers = [
    await ask('/v1/messages'),
    await ask('/v1/messages', { max_tokens: 'ten' }),
    await gateway.ask('/v1/models', { headers: KEY }),
  ];
  expect(answers.map((answer) => [answer.status, readLimits(answer)])).toEqual([
    [200, {}],
    [400, {}],
    [200, {}],
  ]);
});

test('scripts of an allowed origin may read every one of them', async () => {
  await gateway.close();
  gateway = await startTestGateway({ corsAllowedOrigins: '*' });
  gateway.fakes.reserveOutcome = held(REQUESTS, REQUESTS);
  const { headers } = await ask('/v1/messages');
  const names = Object.keys(headers).filter((name) => name.includes('ratelimit'));
  expect(names.toSorted()).toEqual(RATE_LIMIT_HEADERS.toSorted());
  expect(String(headers['access-control-expose-headers']).split(',')).toEqual(expect.arrayContaining(names));
});
