import { GatewayError } from '#inference/errors.js';
import type { Usage } from '#inference/usage.js';
import { reportedUsage } from '#testing/token-usage.js';
import { parseRequest } from './request.js';
import { renderStream } from './stream.js';

const reply = { id: 'x1', requestId: 'req_x1', createdSeconds: 1, nowSeconds: () => 3, model: 'm' };
const usage: Usage = reportedUsage(1, 1);

function stream(options?: { include_usage?: boolean }) {
  const body = { model: 'm', messages: [{ role: 'user', content: 'Hello' }], stream: true, stream_options: options };
  return renderStream(reply, parseRequest(body));
}

test.each([undefined, {}, { include_usage: false }])(
  'no usage without include_usage: %j [chat-chunk-usage, chat-stream-options, T-27]',
  (options) => {
    const renderer = stream(options);
    const text =
      renderer.render([
        { type: 'text-delta', text: 'Hi' },
        { type: 'usage-report', usage },
      ]) + renderer.finish('stop', usage);
    expect(text).not.toContain('usage');
    expect(text).not.toContain('"choices":[]');
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  },
);

test('a batch is one string; a batch without content is empty', () => {
  const renderer = stream();
  expect(renderer.render([])).toBe('');
  expect(
    renderer.render([
      { type: 'upstream-start', upstream: 'local' },
      { type: 'usage-report', usage },
    ]),
  ).toBe('');
  const text = renderer.render([
    { type: 'text-delta', text: 'a' },
    { type: 'text-delta', text: 'b' },
  ]);
  expect(text.match(/data: /g)).toHaveLength(3);
});

test('a keep-alive is a comment, also before the first chunk, which still has the role [D8, C-33]', () => {
  const renderer = stream();
  expect(renderer.keepAlive(15_000)).toBe(': keep-alive\n\n');
  expect(renderer.render([{ type: 'text-delta', text: 'a' }])).toContain('"role":"assistant"');
  expect(renderer.keepAlive(15_000)).toBe(': keep-alive\n\n');
});

test('a failure is the error body in one data line [chat-event-failure, H-8, C-34]', () => {
  const error = new GatewayError('model_capacity', 'The model is busy.', { retryAfterSeconds: 5 });
  expect(stream().fail(error)).toBe(
    'data: {"error":{"message":"The model is busy.","type":"rate_limit_error","param":null,"code":"model_capacity"}}\n\n',
  );
});

test('reasoning after text is kept, and finish_reason is length even with tool calls [C-21]', () => {
  const renderer = stream();
  const text = renderer.render([
    { type: 'text-delta', text: 'a' },
    { type: 'reasoning-delta', text: 'b' },
    { type: 'tool-call-start', index: 0, callId: 'c', tool: { name: 'f' }, kind: 'function' },
  ]);
  expect(text).toContain('"delta":{"reasoning_content":"b"}');
  expect(renderer.finish('length', usage)).toContain('"finish_reason":"length"');
});
