import type { StreamEvent } from '#inference/stream-event.js';
import { HELLO, TEST_KEY } from '#testing/fake-services.js';
import { type Ask, KEY, startTestGateway, type TestGateway } from '../../../test/test-gateway.js';

/** The Responses endpoint over HTTP. Behaviour that all formats share is tested with chat. */

let gateway: TestGateway;

beforeEach(async () => {
  gateway = await startTestGateway();
});

afterEach(() => gateway.close());

const RESPONSES = '/v1/responses';
const BODY = { model: 'test-model', input: 'Hi' };

describe('POST /v1/responses', () => {
  test('a plain reply [api-endpoints, responses-object, auth-bearer, H-1]', async () => {
    const response = await gateway.post(RESPONSES, { body: { ...BODY, metadata: { a: 'b' } } });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
    expect(await response.json()).toMatchObject({
      id: expect.stringMatching(/^resp_[0-9a-f]{32}$/),
      object: 'response',
      status: 'completed',
      model: 'test-model',
      output: [{ type: 'message', content: [{ type: 'output_text', text: 'Hello.' }] }],
      usage: { input_tokens: 9, input_tokens_details: { cached_tokens: 4 }, output_tokens: 2, total_tokens: 11 },
      metadata: { a: 'b' },
    });
    expect(gateway.fakes.opened[0]?.request).toMatchObject({
      turns: [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }],
      stream: false,
    });
    expect(gateway.fakes.settles).toMatchObject([{ reason: 'completed' }]);
  });

  test('a stream, whatever the query string [stream-replies, responses-event-end]', async () => {
    const response = await gateway.post(`${RESPONSES}?beta=true`, { body: { ...BODY, stream: true } });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
    const text = await response.text();
    expect(text).toMatch(/^event: response\.created\n.*event: response\.completed\ndata: [^\n]*"total_tokens":11[^\n]*\n\n$/s);
    expect(text).not.toContain('[DONE]');
  });

  test('a failure after content is a failed response [responses-failed, error-in-stream]', async () => {
    const failure: StreamEvent = { type: 'completion-failure', code: 'upstream_error', message: 'The model failed.' };
    gateway.fakes.model = (stream) => {
      stream.write(...HELLO.slice(0, -1));
      stream.write(failure);
      stream.end();
    };
    const response = await gateway.post(RESPONSES, { body: { ...BODY, stream: true } });
    expect(response.status).toBe(200);
    expect(await response.text()).toMatch(/event: response\.failed\ndata: [^\n]*"error":\{"code":"upstream_error"[^\n]*\n\n$/);
    expect(gateway.fakes.settles).toMatchObject([{ reason: 'failed', usage: { promptTokens: 9, outputTokens: 2 } }]);
  });

  test('a failure before content keeps its status [R-14, T-33]', async () => {
    gateway.fakes.model = (stream) => {
      stream.write({ type: 'completion-failure', code: 'model_capacity', message: 'The model is busy.', retryAfterSeconds: 7 });
      stream.end();
    };
    const response = await gateway.post(RESPONSES, { body: { ...BODY, stream: true } });
    expect([response.status, response.headers.get('retry-after'), (await readError(response)).code]).toEqual([429, '7', 'model_capacity']);
  });

  const image = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' };
  const rows: [rule: string, path: string, ask: Ask, ...expected: [status: number, type: string, code: string, param?: string]][] = [
    ['an unknown path below it', `${RESPONSES}/resp_1`, { method: 'GET' }, 404, 'not_found_error', 'invalid_request'],
    ['another method', RESPONSES, { method: 'GET' }, 405, 'invalid_request_error', 'invalid_request'],
    [
      'a wrong key [auth-invalid-key]',
      RESPONSES,
      { headers: { authorization: 'Bearer x' }, body: BODY },
      401,
      'authentication_error',
      'invalid_api_key',
    ],
    ['no x-api-key [auth-bearer]', RESPONSES, { headers: { 'x-api-key': TEST_KEY } }, 401, 'authentication_error', 'invalid_api_key'],
    [
      'another media type [json-bodies]',
      RESPONSES,
      { headers: { ...KEY, 'content-type': 'text/plain' }, body: '{}' },
      415,
      'invalid_request_error',
      'invalid_request',
    ],
    ['invalid JSON', RESPONSES, { body: '{' }, 400, 'invalid_request_error', 'invalid_json'],
    ['input is required', RESPONSES, { body: { model: 'test-model' } }, 400, 'invalid_request_error', 'invalid_request', 'input'],
    [
      'nothing is stored [error-unsupported-parameter]',
      RESPONSES,
      { body: { ...BODY, previous_response_id: 'resp_1' } },
      400,
      'invalid_request_error',
      'unsupported_parameter',
      'previous_response_id',
    ],
    ['an unknown model', RESPONSES, { body: { ...BODY, model: 'gpt-5' } }, 404, 'not_found_error', 'model_not_found', 'model'],
    [
      'an image for a model without images [responses-files-audio, error-unsupported-content]',
      RESPONSES,
      { body: { ...BODY, input: [{ role: 'user', content: [image] }] } },
      400,
      'invalid_request_error',
      'unsupported_content',
      'input',
    ],
    [
      'a prompt that fits the context [error-body-responses]',
      RESPONSES,
      { body: { ...BODY, input: 'x'.repeat(40_000) } },
      400,
      'invalid_request_error',
      'context_length_exceeded',
      'input',
    ],
  ];
  test.each(rows.map(([rule, path, request, ...expected]) => ({ rule, path, request, expected })))(
    'errors have the four fields: $rule [error-body-responses]',
    async ({ path, request, expected }) => {
      const response = await gateway.post(path, request);
      const [status, type, code, param = null] = expected;
      expect(response.status).toBe(status);
      expect(await readError(response)).toEqual({ message: expect.stringMatching(/./), type, code, param });
    },
  );

  test('a refusal of billing [error-concurrency]', async () => {
    gateway.fakes.reserveOutcome = ({ holdId }) => ({
      status: 'refused',
      holdId,
      code: 'concurrency_limit',
      limit: 5,
      retryAfterSeconds: 3,
    });
    const response = await gateway.post(RESPONSES, { body: { ...BODY, stream: true } });
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '3']);
    expect(await readError(response)).toEqual({
      message: expect.stringContaining('try again in 3s'),
      type: 'rate_limit_error',
      param: null,
      code: 'concurrency_limit',
    });
  });
});

async function readError(response: Response): Promise<{ message: string; type: string; param: string | null; code: string }> {
  const body = (await response.json()) as { error: { message: string; type: string; param: string | null; code: string } };
  expect(Object.keys(body)).toEqual(['error']);
  return body.error;
}
