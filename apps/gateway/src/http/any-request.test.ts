import { join } from 'node:path';
import fc from 'fast-check';
import { Pool } from 'undici';
import { balanceGet } from '#contracts/billing/money.js';
import { ownKeyRequest, ownKeyShow, ownKeyUsage } from '#contracts/billing/own-key.js';
import { ownKeyReceipt, receiptKeys } from '#contracts/billing/receipts.js';
import { ServiceError } from '#contracts/service-error.js';
import { ERROR_CODES } from '#inference/errors.js';
import { damagedJsonBytes } from '#testing/damaged-json.js';
import { FakeServices, TEST_KEY, TEST_MODEL } from '#testing/fake-services.js';
import { testCases } from '#testing/long-run.js';
import { readRequests } from '../../test/conformance/conformance-fixtures.js';
import { KEY, startTestGateway } from '../../test/test-gateway.js';
import type { ProtocolName } from '../protocols/protocol-adapter.js';
import { protocolAt, ROUTES } from './routes.js';

/** Any request gets a reply or a refusal in the format of its path, never an internal error. */

/** Milliseconds after which a request counts as hung. One takes about a millisecond. */
const ANSWER_MS_MAX = 10_000;

const BALANCE = {
  object: 'balance',
  currency: 'USD',
  balance_pico_usd: '1000000000000',
  balance_usd: '1',
  reserved_pico_usd: '0',
  available_pico_usd: '1000000000000',
  topup_balance_pico_usd: '1000000000000',
  plan_balance_pico_usd: '0',
  plan_expires_at: null,
  expiredHeld: '0',
} as const;

const fakes = new FakeServices();
fakes.models = [{ ...TEST_MODEL, id: 'sim-fast', input: ['text', 'image'], contextTokens: 100_000 }];
fakes.messaging.answer(balanceGet, () => BALANCE);
for (const endpoint of [ownKeyShow, ownKeyUsage, ownKeyRequest, ownKeyReceipt])
  fakes.messaging.answer<object, unknown>(endpoint, () => {
    throw new ServiceError('not_found', 'There is none.');
  });
fakes.messaging.answer(receiptKeys, () => ({ installation: 'i', keys: [], months: [] }));
const gateway = await startTestGateway({ freeRequestsPerSecond: 10_000, unkeyedRequestsPerSecond: 10_000 }, fakes);
const pool = new Pool(gateway.url, { connections: 1, headersTimeout: ANSWER_MS_MAX, bodyTimeout: ANSWER_MS_MAX });

afterEach(() => {
  for (const record of [fakes.opened, fakes.reserves, fakes.settles]) record.length = 0;
});

afterAll(async () => {
  await pool.close();
  await gateway.close();
});

interface Answer {
  status: number;
  type: string;
  text: string;
}

async function ask(method: string, path: string, headers: Record<string, string>, body?: Buffer): Promise<Answer> {
  const response = await pool.request({ method: method as 'POST', path, headers, body });
  return { status: response.statusCode, type: String(response.headers['content-type']), text: await response.body.text() };
}

const ENDINGS: Record<ProtocolName, RegExp> = {
  chat: /\n\ndata: \[DONE\]\n\n$/,
  responses: /\n\nevent: response\.completed\ndata: [^\n]+\n\n$/,
  messages: /\n\nevent: message_stop\ndata: [^\n]+\n\n$/,
};
const POSTS = Object.values(ROUTES).filter(({ method }) => method === 'POST');

describe.each(POSTS.map(({ path }) => [protocolAt(path), path] as const))('%s at %s', (format, path) => {
  const bodies = readRequests(join(import.meta.dirname, '..', 'protocols', format, '__fixtures__')).map(({ body }) => body);

  testCases('any body is answered or refused', { usual: 200, long: 15_000 }, damagedJsonBytes(bodies), async (body) => {
    const answer = await ask('POST', path, { ...KEY, 'content-type': 'application/json' }, body);
    if (answer.status !== 200) expectRefusal(format, answer, [400, 404, 413, ...(path === ROUTES.childKeys.path ? [403] : [])]);
    else if (answer.type === 'application/json') JSON.parse(answer.text);
    else expect([answer.type, answer.text]).toEqual(['text/event-stream; charset=utf-8', expect.stringMatching(ENDINGS[format])]);
  });
});

const paths = fc.oneof(
  fc.constantFrom(...Object.values(ROUTES).map(({ path }) => path)),
  fc.webPath().map((path) => `/${path.replace(/^\/+/, '')}`),
  fc.constantFrom(
    '//',
    '/%',
    '/%00',
    '/%ff',
    '/v1/models/%2e%2e',
    '/v1/models/..',
    '/v1/models/a%2Fb',
    '/v1/responses/%zz',
    '/v1/messages/x',
  ),
);
const requests = fc.record({
  method: fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PURGE'),
  path: paths,
  query: fc.oneof(
    fc.constant(''),
    fc.webQueryParameters().map((query) => `?${query}`),
  ),
  key: fc.constantFrom<Record<string, string>>(
    KEY,
    { 'x-api-key': TEST_KEY },
    {},
    { authorization: 'Basic Og==' },
    { authorization: 'Bearer' },
  ),
  type: fc.constantFrom<Record<string, string>>(
    {},
    { 'content-type': 'application/json; charset=utf-8' },
    { 'content-type': 'text/plain' },
    { 'content-type': ';' },
    { 'content-encoding': 'gzip' },
  ),
  body: fc.oneof(
    fc.constant(undefined),
    fc.uint8Array({ maxLength: 30 }).map((bytes) => Buffer.from(bytes)),
  ),
});

testCases('any method on any path with any headers is answered or refused', { usual: 300, long: 10_000 }, requests, async (request) => {
  const { method, path, query, key, type, body } = request;
  const answer = await ask(method, path + query, { ...key, ...type }, method === 'GET' || method === 'HEAD' ? undefined : body);
  if (answer.status === 200) return;
  if (method === 'HEAD') expect([answer.status, answer.text]).toEqual([expect.any(Number), '']);
  else expectRefusal(path.startsWith('/v1/messages') ? 'messages' : 'general', answer, [400, 401, 404, 405, 415]);
});

const CODES = Object.keys(ERROR_CODES);

function expectRefusal(format: string, { status, type, text }: Answer, statuses: number[]): void {
  expect(statuses).toContain(status);
  expect(type).toBe('application/json');
  const body = JSON.parse(text);
  if (format === 'messages') {
    expect(body).toMatchObject({ type: 'error', error: { type: expect.any(String), message: expect.any(String) } });
    expect(body.request_id).toMatch(/^req_/);
  } else {
    const { message, type: kind, param, code } = body.error;
    expect(body).toEqual({ error: { message, type: kind, param, code } });
    expect([typeof message, typeof kind, CODES.includes(code), param === null || typeof param === 'string']).toEqual([
      'string',
      'string',
      true,
      true,
    ]);
  }
}
