import { ConfigError, loadConfig } from '#config/load-config.js';
import { type Answer, CHAT, CHAT_BODY, KEY, startTestGateway, type TestGateway } from '../../test/test-gateway.js';
import { GatewayConfig } from '../gateway.config.js';
import { RATE_LIMIT_HEADERS } from './replies/rate-limit-headers.js';

const ORIGIN = 'https://app.example.com';

let gateway: TestGateway | undefined;

afterEach(async () => {
  await gateway?.close();
  gateway = undefined;
});

const ask: TestGateway['ask'] = (path, asked) => {
  if (!gateway) throw new Error('the test has no gateway');
  return gateway.ask(path, asked);
};

const preflight = (origin: string): Promise<Answer> => {
  const wish = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization,content-type' };
  return ask(CHAT, { method: 'OPTIONS', headers: { origin, ...wish } });
};

/** Returns the CORS headers of an answer. */
const readCors = ({ headers }: Answer): Record<string, unknown> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('access-control-') || name === 'vary'));

const EXPOSED = {
  'access-control-allow-origin': ORIGIN,
  'access-control-expose-headers': [
    'x-request-id',
    'request-id',
    'retry-after',
    'x-should-retry',
    'x-tollgate-cost',
    ...RATE_LIMIT_HEADERS,
  ].join(),
  vary: 'Origin',
};

describe('with an allowed origin', () => {
  beforeEach(async () => {
    gateway = await startTestGateway({ corsAllowedOrigins: `https://other.example.com, ${ORIGIN}` });
  });

  test('a preflight needs no key', async () => {
    const answer = await preflight(ORIGIN);
    expect([answer.status, readCors(answer)]).toEqual([
      204,
      {
        ...EXPOSED,
        'access-control-allow-methods': 'GET,HEAD,POST',
        'access-control-allow-headers': 'authorization,content-type',
        'access-control-max-age': '600',
        vary: 'Origin, Access-Control-Request-Headers',
      },
    ]);
  });

  test.each([
    ['a plain reply', { ...KEY }, CHAT_BODY, 200],
    ['a stream', { ...KEY }, { ...CHAT_BODY, stream: true }, 200],
    ['an error', {}, CHAT_BODY, 401],
  ])('%s is readable for scripts of the origin', async (_title, headers, body, status) => {
    const answer = await ask(CHAT, { headers: { ...headers, origin: ORIGIN }, body });
    expect([answer.status, readCors(answer)]).toEqual([status, EXPOSED]);
    expect(answer.headers['x-request-id']).toMatch(/^req_/);
  });

  test('another origin gets no CORS headers', async () => {
    expect((await preflight('https://evil.example.com')).headers).not.toHaveProperty('access-control-allow-origin');
  });
});

test('* allows any origin', async () => {
  gateway = await startTestGateway({ corsAllowedOrigins: '*' });
  expect((await preflight(ORIGIN)).headers['access-control-allow-origin']).toBe('*');
});

test('no origin is allowed by default', async () => {
  gateway = await startTestGateway();
  const answer = await preflight(ORIGIN);
  expect([answer.status, readCors(answer)]).toEqual([405, {}]);
});

test.each(['app.example.com', 'https://app.example.com/', 'https://a.example.com,*'])('the setting %s is refused', (origins) => {
  expect(() => loadConfig(GatewayConfig, { NATS_USER: 'gateway', NATS_PASSWORD: 'x', CORS_ALLOWED_ORIGINS: origins })).toThrow(ConfigError);
});
