import type { StreamEvent } from '#inference/stream-event.js';
import { HELLO, TEST_KEY, TEST_MODEL } from '#testing/fake-services.js';
import { reportedUsage } from '#testing/token-usage.js';
import { type Ask, KEY, startTestGateway, type TestGateway } from '../../../test/test-gateway.js';

/** The endpoints of the messages format over HTTP. Behaviour that all formats share is tested with chat. */

let gateway: TestGateway;

afterEach(() => gateway.close());

const MESSAGES = '/v1/messages';
const COUNT = '/v1/messages/count_tokens';
const BODY = { model: 'test-model', max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] };
const X_API_KEY = { 'x-api-key': TEST_KEY };

function ask(path: string, { headers = X_API_KEY, ...rest }: Ask): Promise<Response> {
  return gateway.post(path, { headers, ...rest });
}

const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } };
const failure = (over: object): StreamEvent => ({
  type: 'completion-failure',
  code: 'upstream_error',
  message: 'The model failed.',
  ...over,
});

describe('POST /v1/messages', () => {
  beforeEach(async () => {
    gateway = await startTestGateway();
  });

  test.each([
    ['x-api-key', X_API_KEY],
    ['Bearer [auth-bearer-on-messages, D1, T-1]', KEY],
    ['x-api-key beside the Bearer of another service [auth-x-api-key, D1]', { ...X_API_KEY, authorization: 'Bearer wrong' }],
    ['any version and beta [version-header, D3]', { ...KEY, 'anthropic-version': '2026-10-21', 'anthropic-beta': 'a-2025-01-01,b' }],
  ])(
    'a plain reply with %s [api-endpoints, messages-object, messages-usage, messages-usage-billed, auth-x-api-key, D3, H-1, M-31]',
    async (_name, headers) => {
      const response = await ask(MESSAGES, { headers, body: BODY });
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
      expect(response.headers.get('request-id')).toBe(response.headers.get('x-request-id'));
      expect(await response.json()).toEqual({
        id: expect.stringMatching(/^msg_[0-9a-f]{32}$/),
        type: 'message',
        role: 'assistant',
        model: 'test-model',
        content: [{ type: 'text', text: 'Hello.' }],
        stop_reason: 'end_turn',
        stop_sequence: null,
        usage: { input_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 4, output_tokens: 2 },
      });
      expect(gateway.fakes.settles).toMatchObject([
        { reason: 'completed', usage: { promptTokens: 9, cachedTokens: 4, outputTokens: 2, reasoningTokens: 0 } },
      ]);
    },
  );

  test('a stream at ?beta=true [stream-replies, messages-stream, D6, M-28, T-2]', async () => {
    const response = await ask(`${MESSAGES}?beta=true`, { body: { ...BODY, stream: true } });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
    const text = await response.text();
    expect(text).toMatch(/^event: message_start\n.*"text":"Hel".*event: message_stop\ndata: \{"type":"message_stop"\}\n\n$/s);
  });

  test('a failure before content keeps its status, in the words of the format [E-3, T-33]', async () => {
    gateway.fakes.model = (stream) => {
      stream.write(failure({ code: 'model_unavailable', retryAfterSeconds: 7 }));
      stream.end();
    };
    const response = await ask(MESSAGES, { body: { ...BODY, stream: true } });
    expect([response.status, response.headers.get('retry-after'), await readError(response)]).toEqual([
      503,
      '7',
      { type: 'overloaded_error', message: 'The model failed.' },
    ]);
  });

  test('a failure after content, hidden thinking included, is an error event and is billed [error-in-stream, T-33]', async () => {
    const usage = reportedUsage(9, 1, { reasoningTokens: 1 });
    gateway.fakes.model = (stream) => {
      stream.write({ type: 'reasoning-delta', text: 'Hm.' });
      stream.write({ type: 'usage-report', usage }, failure({}));
      stream.end();
    };
    const response = await ask(MESSAGES, { body: { ...BODY, stream: true } });
    expect(response.status).toBe(200);
    expect(await response.text()).toMatch(/event: error\ndata: \{"type":"error","error":\{"type":"api_error"[^\n]*\n\n$/);
    expect(gateway.fakes.settles).toMatchObject([{ reason: 'failed', usage: { promptTokens: 9, outputTokens: 1 } }]);
  });

  const messages = (content: unknown) => ({ ...BODY, messages: [{ role: 'user', content }] });
  const rows: [rule: string, path: string, ask: Ask, status: number, type: string, message: RegExp][] = [
    ['an unknown path below it [L-5]', `${MESSAGES}/batches`, { body: BODY }, 404, 'not_found_error', /nothing at POST/],
    ['another method [L-5]', MESSAGES, { method: 'GET' }, 405, 'invalid_request_error', /takes POST, not GET/],
    ['another method to count [L-5]', COUNT, { method: 'GET' }, 405, 'invalid_request_error', /takes POST, not GET/],
    ['no key', MESSAGES, { headers: {}, body: BODY }, 401, 'authentication_error', /header "x-api-key: <API_KEY>"/],
    ['a wrong key [auth-invalid-key]', MESSAGES, { headers: { 'x-api-key': 'x' }, body: BODY }, 401, 'authentication_error', /not valid/],
    ['no key to count [D2]', COUNT, { headers: {}, body: BODY }, 401, 'authentication_error', /header "x-api-key: <API_KEY>"/],
    [
      'size [error-too-large, limit-body-size, E-6]',
      MESSAGES,
      { body: messages('x'.repeat(8 * 1024 ** 2)) },
      413,
      'request_too_large',
      /larger than/,
    ],
    [
      'another media type [json-bodies]',
      MESSAGES,
      { headers: { ...X_API_KEY, 'content-type': 'text/plain' }, body: '{}' },
      415,
      'invalid_request_error',
      /JSON/,
    ],
    ['invalid JSON', MESSAGES, { body: '{"model": }' }, 400, 'invalid_request_error', /JSON/],
    [
      'max_tokens [messages-max-tokens]',
      MESSAGES,
      { body: { ...BODY, max_tokens: undefined } },
      400,
      'invalid_request_error',
      /`max_tokens` is required/,
    ],
    [
      "a vendor's model [own-model-ids, messages-model]",
      MESSAGES,
      { body: { ...BODY, model: 'claude-opus-5' } },
      404,
      'not_found_error',
      /no model "claude-opus-5"/,
    ],
    ['an image for a model without images', MESSAGES, { body: messages([image]) }, 400, 'invalid_request_error', /does not accept images/],
    [
      'an image to count for a model without images [count-tokens-request]',
      COUNT,
      { body: messages([image]) },
      400,
      'invalid_request_error',
      /does not accept images/,
    ],
    [
      'context [E-4]',
      MESSAGES,
      { body: messages('x'.repeat(40_000)) },
      400,
      'invalid_request_error',
      /prompt is too long: \d+ tokens > 4000 maximum/,
    ],
  ];
  test.each(rows.map(([rule, path, request, ...expected]) => ({ rule, path, request, expected })))(
    'errors have the body and type of the format: $rule [error-body-messages, error-types-messages]',
    async ({ path, request, expected: [status, type, message] }) => {
      const response = await ask(path, request);
      expect([response.status, await readError(response)]).toEqual([status, { type, message: expect.stringMatching(message) }]);
      expect([gateway.fakes.applies, gateway.fakes.opened.length]).toEqual([0, 0]);
    },
  );

  test('too little money is a billing_error [hold-refused]', async () => {
    gateway.fakes.reserveOutcome = ({ holdId }) => {
      return { status: 'refused', holdId, code: 'insufficient_balance', requiredPicoUsd: '2000000', availablePicoUsd: '1000000' };
    };
    const response = await ask(MESSAGES, { body: BODY });
    expect([response.status, (await readError(response)).type]).toEqual([402, 'billing_error']);
  });
});

describe('a stream through silence [M-32, M-34]', () => {
  test('is opened, pinged and given real events [messages-event-ping, M-32]', async () => {
    gateway = await startTestGateway({ peekMs: 20, keepAliveMs: 20 });
    gateway.fakes.model = (stream) => {
      setTimeout(() => {
        stream.write(...HELLO);
        stream.end();
      }, 600);
    };
    const text = await (await ask(MESSAGES, { body: { ...BODY, stream: true } })).text();
    expect(text).toMatch(/^event: message_start\ndata: [^\n]*\n\n(event: ping\ndata: \{"type":"ping"\}\n\n){2,}event: content_block_start/);
    expect(text.match(/event: message_start/g)).toHaveLength(1);
    expect(text.endsWith('event: message_stop\ndata: {"type":"message_stop"}\n\n')).toBe(true);
  });
});

test('the input of an earlier call reaches the model with the digits it had [T-46]', async () => {
  gateway = await startTestGateway();
  const input = '{"id":12345678901234567890}';
  const call = `{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"x","input":${input}}]}`;
  const result = '{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}';
  const response = await ask(MESSAGES, { body: `{"model":"test-model","max_tokens":9,"messages":[${call},${result}]}` });
  expect([response.status, gateway.fakes.opened[0]?.request.turns[0]]).toMatchObject([200, { parts: [{ argumentsText: input }] }]);
});

describe('POST /v1/messages/count_tokens', () => {
  beforeEach(async () => {
    gateway = await startTestGateway();
  });

  const prompt = {
    model: 'vision/model',
    system: 'Be brief.',
    messages: [{ role: 'user', content: [image, { type: 'text', text: 'What?' }] }],
  };

  test('earlier thinking counts only where it goes back to the model', async () => {
    const thinking = { type: 'thinking', thinking: 'Hm. '.repeat(100), signature: '' };
    const history = (...blocks: object[]) => [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: [...blocks, { type: 'text', text: 'Hello' }] },
    ];
    const count = async (model: string, messages: object[]) =>
      ((await (await ask(COUNT, { headers: KEY, body: { model, messages } })).json()) as { input_tokens: number }).input_tokens;
    expect(await count('test-model', history(thinking))).toBe(await count('test-model', history()));
    // 400 bytes instead of the 14 that stand for reasoning which the client did not keep.
    expect((await count('vision/model', history(thinking))) - (await count('vision/model', history()))).toBe(96);
  });

  test('the estimate of the prompt, free [api-endpoints, free-endpoints, count-tokens-reply, count-tokens-request, D2, D6, M-40, T-2]', async () => {
    const response = await ask(`${COUNT}?beta=true`, { headers: KEY, body: prompt });
    // 14 bytes of text at 4 bytes a token, and one image.
    expect([response.status, await response.json()]).toEqual([200, { input_tokens: 4 + TEST_MODEL.tokensPerImageMax }]);
    expect([gateway.fakes.applies, gateway.fakes.opened.length]).toEqual([0, 0]);
  });

  test('whatever a request for a reply says beside its prompt changes nothing [count-tokens-request, M-40]', async () => {
    const odd = { max_tokens: 0, stream: true, temperature: 7, thinking: { type: 'enabled', budget_tokens: 1 }, stop_sequences: 5 };
    const [plain, other] = await Promise.all([ask(COUNT, { body: prompt }), ask(COUNT, { body: { ...prompt, ...odd } })]);
    expect(await other.json()).toEqual(await plain.json());
  });

  test.each([
    ['an unknown model [M-40]', { ...BODY, model: 'gpt-5' }, 404, 'not_found_error'],
    ['no messages', { ...BODY, messages: [] }, 400, 'invalid_request_error'],
    ['broken JSON', '{', 400, 'invalid_request_error'],
  ])('errors have the body of the format: %s', async (_name, body, status, type) => {
    const response = await ask(COUNT, { body });
    expect([response.status, await readError(response)]).toEqual([status, { type, message: expect.stringMatching(/./) }]);
  });

  test('bodies count towards those in flight only until they are answered', async () => {
    await gateway.close();
    gateway = await startTestGateway({ bodiesInFlightBytesMax: 2_000 });
    const body = { ...BODY, messages: [{ role: 'user', content: 'x'.repeat(1_500) }] };
    for (let round = 0; round < 3; round++) expect((await ask(COUNT, { body })).status).toBe(200);
  });
});

/** Returns the error of a reply. Checks that the body has exactly the format's fields and the request id. */
async function readError(response: Response): Promise<{ type: string; message: string }> {
  const body = (await response.json()) as { type: string; error: { type: string; message: string }; request_id: string };
  expect(body).toEqual({ type: 'error', error: body.error, request_id: response.headers.get('request-id') });
  return body.error;
}
