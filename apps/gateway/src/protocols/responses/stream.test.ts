import { GatewayError } from '#inference/errors.js';
import type { StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';
import { reportedUsage } from '#testing/token-usage.js';
import { parseRequest } from './request.js';
import { renderStream } from './stream.js';

const reply = { id: 'x1', requestId: 'req_x1', createdSeconds: 1, nowSeconds: () => 3, model: 'm' };
const usage: Usage = reportedUsage(1, 1);
const hi: StreamEvent = { type: 'text-delta', text: 'Hi' };
const COMMENT = ': keep-alive\n\n';

function stream() {
  return renderStream(reply, parseRequest({ model: 'm', input: 'Hello', stream: true }));
}

function parseEvents(text: string) {
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data ?? ''));
}

function listTypes(text: string): string[] {
  return parseEvents(text).map(({ type }) => type.replace('response.', ''));
}

test('a batch without content is empty; the first content opens the stream [responses-event-text, R-10]', () => {
  const renderer = stream();
  expect(renderer.render([])).toBe('');
  expect(
    renderer.render([
      { type: 'upstream-start', upstream: 'local' },
      { type: 'usage-report', usage },
    ]),
  ).toBe('');
  expect(listTypes(renderer.render([hi]))).toEqual([
    'created',
    'in_progress',
    'output_item.added',
    'content_part.added',
    'output_text.delta',
  ]);
  expect(listTypes(renderer.render([hi, hi]))).toEqual(['output_text.delta', 'output_text.delta']);
});

test('a stream without content opens before it ends or fails [R-2]', () => {
  expect(listTypes(stream().finish('stop', usage))).toEqual(['created', 'in_progress', 'completed']);
  expect(listTypes(stream().fail(new GatewayError('upstream_error', 'It broke.')))).toEqual(['created', 'in_progress', 'failed']);
});

test('keep-alives are comments, open the stream after 30 s, and are events every 60 s [D8, R-9, R-10, T-36]', () => {
  const renderer = stream();
  expect(renderer.keepAlive(15_000)).toBe(COMMENT);
  expect(listTypes(renderer.keepAlive(15_000))).toEqual(['created', 'in_progress']);
  for (let minute = 0; minute < 5; minute++) {
    for (let quarter = 0; quarter < 3; quarter++) expect(renderer.keepAlive(15_000)).toBe(COMMENT);
    expect(renderer.keepAlive(15_000)).toBe(`event: keepalive\ndata: {"type":"keepalive","sequence_number":${2 + minute}}\n\n`);
  }
  expect(listTypes(renderer.render([hi]))).toEqual(['output_item.added', 'content_part.added', 'output_text.delta']);
});

test('any event resets the silence [R-9]', () => {
  const renderer = stream();
  renderer.render([hi]);
  expect(renderer.keepAlive(45_000)).toBe(COMMENT);
  renderer.render([hi]);
  expect(renderer.keepAlive(45_000)).toBe(COMMENT);
  expect(listTypes(renderer.keepAlive(15_000))).toEqual(['keepalive']);
});

test('a keep-alive after 30 s opens the stream at once [R-10]', () => {
  expect(listTypes(stream().keepAlive(30_000))).toEqual(['created', 'in_progress']);
});

test('the first call is streamed at once, later calls wait for it', () => {
  const renderer = stream();
  const call = (index: number): StreamEvent => {
    return { type: 'tool-call-start', index, callId: `call_${index}`, tool: { name: 'f' }, kind: 'function' };
  };
  const piece = (index: number): StreamEvent => ({ type: 'tool-call-delta', index, text: '{}' });
  expect(listTypes(renderer.render([call(0), call(1), piece(0)])).slice(2)).toEqual(['output_item.added', 'function_call_arguments.delta']);
  expect(renderer.render([piece(1), { type: 'tool-call-end', index: 1 }])).toBe('');
  expect(listTypes(renderer.render([{ type: 'tool-call-end', index: 0 }]))).toEqual([
    'function_call_arguments.done',
    'output_item.done',
    'output_item.added',
    'function_call_arguments.delta',
  ]);
});

test('a truncated call is closed as incomplete, even after its end event [R-13, T-19, T-35]', () => {
  const renderer = stream();
  const batch: StreamEvent[] = [
    { type: 'tool-call-start', index: 0, callId: 'c', tool: { name: 'f' }, kind: 'function' },
    { type: 'tool-call-delta', index: 0, text: '{"a' },
    { type: 'tool-call-end', index: 0 },
  ];
  expect(listTypes(renderer.render(batch)).at(-1)).toBe('function_call_arguments.delta');
  const [, done, incomplete] = parseEvents(renderer.finish('length', usage));
  expect(done).toMatchObject({ type: 'response.output_item.done', item: { status: 'incomplete', arguments: '{"a' } });
  expect(incomplete).toMatchObject({ type: 'response.incomplete', response: { incomplete_details: { reason: 'max_output_tokens' } } });
});

test('a failure closes the open item, sends waiting text, and drops calls that were not started [R-11]', () => {
  const renderer = stream();
  renderer.render([
    { type: 'tool-call-start', index: 0, callId: 'a', tool: { name: 'f' }, kind: 'function' },
    { type: 'tool-call-start', index: 1, callId: 'b', tool: { name: 'f' }, kind: 'function' },
    hi,
  ]);
  const text = renderer.fail(new GatewayError('model_capacity', 'The model is busy.', { retryAfterSeconds: 5 }));
  expect(parseEvents(text).at(-1)).toMatchObject({
    type: 'response.failed',
    response: {
      status: 'failed',
      error: { code: 'model_capacity', message: 'The model is busy. Please try again in 5s.' },
      output: [
        { type: 'function_call', call_id: 'a', status: 'incomplete', arguments: '' },
        { type: 'message', status: 'incomplete', content: [{ text: 'Hi' }] },
      ],
      usage: null,
    },
  });
  expect(listTypes(text).filter((type) => type === 'output_item.done')).toHaveLength(2);
});
