import { GatewayError } from '#inference/errors.js';
import { ADAPTERS } from './adapters.js';
import { errorMessage } from './error-message.js';
import type { ProtocolAdapter, ReplyContext } from './protocol-adapter.js';

const REPLY: ReplyContext = { id: 'x1', requestId: 'req_x1', createdSeconds: 1, nowSeconds: () => 2, model: 'sim-fast' };
const BODIES: Record<string, object> = {
  chat: { messages: [{ role: 'user', content: 'Hi' }] },
  responses: { input: 'Hi' },
  messages: { max_tokens: 1, messages: [{ role: 'user', content: 'Hi' }] },
};
const OURS = 'The prompt is too long: 2100 tokens > 2048 maximum (about 2000 of prompt).';
const UPSTREAMS = 'The prompt and the requested output do not fit the context window of the model.';

describe.each(Object.values<ProtocolAdapter>(ADAPTERS))('$name', (adapter) => {
  test.each([
    ['our own check', OURS, OURS],
    ['an upstream', UPSTREAMS, `prompt is too long: ${UPSTREAMS}`],
  ])('an overflow by %s has the wording that agents match, plain and in a stream [client-overflow, E-4]', (_by, message, expected) => {
    const error = new GatewayError('context_length_exceeded', message);
    expect(JSON.parse(adapter.renderError(error, 'req_x1')).error.message).toBe(expected);
    const parsed = adapter.parseRequest({ model: 'sim-fast', stream: true, ...BODIES[adapter.name] });
    expect(adapter.renderStream(REPLY, parsed).fail(error)).toContain(JSON.stringify(expected));
  });
});

test('the token counts of our own check can be read [E-4]', () => {
  const message = errorMessage(new GatewayError('context_length_exceeded', OURS));
  expect(/prompt is too long[^0-9]*(\d+)\s*tokens?\s*>\s*(\d+)/.exec(message)?.slice(1)).toEqual(['2100', '2048']);
});

test('the message of any other error is unchanged', () => {
  expect(errorMessage(new GatewayError('request_too_large', 'The body is too large.'))).toBe('The body is too large.');
});
