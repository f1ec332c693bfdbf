import { GatewayError } from '#inference/errors.js';
import type { StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';
import { reportedUsage } from '#testing/token-usage.js';
import type { StreamRenderer } from '../protocol-adapter.js';
import { parseRequest } from './request.js';
import { renderStream } from './stream.js';

const usage: Usage = reportedUsage(10, 2, { cachedTokens: 4 });

function stream(thinking?: { type: string }): StreamRenderer {
  const body = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hello' }], stream: true, thinking };
  return renderStream({ id: 'x1', requestId: 'req_x1', createdSeconds: 1, nowSeconds: () => 3, model: 'm' }, parseRequest(body));
}

/** Returns a short form of each event: `start 0 text`, `text ""`, `stop 0`. */
function outline(text: string): string[] {
  const frames = text.split('\n\n').filter((frame) => frame !== '');
  return frames.map((frame) => {
    const { type, index, content_block, delta } = JSON.parse(frame.slice(frame.indexOf('data: ') + 6));
    if (type === 'content_block_start') return `start ${index} ${content_block.type}`;
    if (type === 'content_block_stop') return `stop ${index}`;
    if (type === 'message_delta') return `delta ${delta.stop_reason}`;
    if (type !== 'content_block_delta') return type;
    return `${delta.type.replace('_delta', '')} ${JSON.stringify(delta.text ?? delta.thinking ?? delta.partial_json)}`;
  });
}

const text = (text: string): StreamEvent => ({ type: 'text-delta', text });
const reasoning = (text: string): StreamEvent => ({ type: 'reasoning-delta', text });
const callStart = (index: number, callId = `call_${index}`): StreamEvent => ({
  type: 'tool-call-start',
  index,
  callId,
  tool: { name: 'f' },
  kind: 'function',
});
const callDelta = (index: number, text: string): StreamEvent => ({ type: 'tool-call-delta', index, text });
const callEnd = (index: number): StreamEvent => ({ type: 'tool-call-end', index });

test('a batch without content is empty; the first content opens the message', () => {
  const renderer = stream();
  const silent: StreamEvent[] = [
    { type: 'upstream-start', upstream: 'local' },
    { type: 'usage-report', usage },
  ];
  expect(renderer.render([])).toBe('');
  expect(renderer.render(silent)).toBe('');
  expect(outline(renderer.render([text('a'), text('b')]))).toEqual(['message_start', 'ping', 'start 0 text', 'text "a"', 'text "b"']);
  expect(renderer.render([...silent, reasoning('Hm.')])).toBe('');
  expect(outline(renderer.finish('stop', usage))).toEqual(['stop 0', 'delta end_turn', 'message_stop']);
});

test('hidden thinking opens the message too, because it is billed', () => {
  const renderer = stream();
  expect(outline(renderer.render([reasoning('Hm.')]))).toEqual(['message_start', 'ping']);
  expect(renderer.render([reasoning('Hm.')])).toBe('');
});

test('thinking is shown only when enabled, and only before the answer [messages-block-order, T-38]', () => {
  const events = [reasoning('Hm.'), text('a'), reasoning('Hm?'), callStart(0), reasoning('Ah!'), callDelta(0, '{}'), callEnd(0)];
  const call = ['stop', 'start tool_use', 'input_json "{}"', 'stop'];
  const shape = (thinking?: { type: string }) => outline(stream(thinking).render(events)).map((line) => line.replace(/ \d/, ''));
  expect(shape()).toEqual(['message_start', 'ping', 'start text', 'text "a"', ...call]);
  expect(shape({ type: 'enabled' })).toEqual([
    ...['message_start', 'ping', 'start thinking', 'thinking "Hm."', 'stop', 'start text', 'text "a"'],
    ...call,
  ]);
});

test('interleaved calls become separate blocks, and text between them follows [M-25, T-22]', () => {
  const renderer = stream();
  const frames =
    renderer.render([callStart(0), callStart(1), callDelta(1, '{"b":2}'), callDelta(0, '{"a":'), text('Both')]) +
    renderer.render([callEnd(1), callDelta(0, '1,"c":'), text('.'), callDelta(0, '3}'), callEnd(0)]) +
    renderer.finish('stop', usage);
  expect(outline(frames)).toEqual([
    ...['message_start', 'ping'],
    ...['start 0 tool_use', 'input_json "{\\"a\\":1"', 'input_json ",\\"c\\":3"', 'input_json "}"', 'stop 0'],
    ...['start 1 tool_use', 'input_json "{\\"b\\":2"', 'input_json "}"', 'stop 1'],
    ...['start 2 text', 'text "Both."', 'stop 2', 'delta tool_use', 'message_stop'],
  ]);
});

test('an unsafe id is replaced [M-13]', () => {
  expect(stream().render([callStart(0, 'functions.f:0')])).toMatch(
    /"content_block":\{"type":"tool_use","id":"toolu_[0-9a-f]{24}","name":"f"/,
  );
});

test('a failure is one error event, also within a block and before the message [messages-event-error, M-27]', () => {
  const error = new GatewayError('model_unavailable', 'The model is overloaded.', { retryAfterSeconds: 5 });
  const frame =
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"The model is overloaded."},"request_id":"req_x1"}\n\n';
  expect(stream().fail(error)).toBe(frame);
  const renderer = stream();
  renderer.render([callStart(0), callDelta(0, '{"a":1,')]);
  expect(renderer.fail(error)).toBe(frame);
});

describe('silence [M-34]', () => {
  /** Returns the events of keep-alives every 15 s for `seconds`. */
  function silence(renderer: StreamRenderer, seconds: number): string[] {
    return Array.from({ length: seconds / 15 }, () => outline(renderer.keepAlive(15_000))).flat();
  }
  const pings = (count: number) => Array.from({ length: count }, () => 'ping');

  test('an open block gets an empty delta of its kind every 60 s, and pings in between [D8, M-32, M-34, T-36]', () => {
    for (const [event, empty] of [
      [text('a'), 'text ""'],
      [reasoning('a'), 'thinking ""'],
      [callStart(0), 'input_json ""'],
    ] as const) {
      const renderer = stream({ type: 'enabled' });
      renderer.render([event]);
      expect(silence(renderer, 300)).toEqual(Array.from({ length: 5 }, () => [...pings(4), empty]).flat());
    }
  });

  test.each([
    ['text', undefined],
    ['thinking', { type: 'adaptive' }],
  ])('before the first content the message opens, then a block of %s [M-34]', (kind, thinking) => {
    const renderer = stream(thinking);
    expect(outline(renderer.keepAlive(30_000))).toEqual(['message_start', 'ping']);
    expect(silence(renderer, 120)).toEqual([...pings(4), `start 0 ${kind}`, `${kind} ""`, ...pings(4), `${kind} ""`]);
    const block = outline(renderer.render([kind === 'text' ? text('a') : reasoning('a')]));
    expect(block).toEqual([`${kind} "a"`]);
  });

  test('a block that a keep-alive opened is closed even if it stays empty [M-34]', () => {
    const renderer = stream({ type: 'enabled' });
    renderer.keepAlive(30_000);
    silence(renderer, 60);
    expect(outline(renderer.render([text('a')]))).toEqual(['stop 0', 'start 1 text', 'text "a"']);
  });

  test('between and after calls a keep-alive opens a text block, even with thinking enabled', () => {
    const renderer = stream({ type: 'enabled' });
    renderer.render([callStart(0), callDelta(0, '{}'), callEnd(0)]);
    expect(silence(renderer, 60)).toEqual([...pings(4), 'start 1 text', 'text ""']);
    expect(outline(renderer.render([callStart(1)]))).toEqual(['stop 1', 'start 2 tool_use']);
  });

  test('hidden reasoning and incomplete arguments do not reset the silence', () => {
    const hidden = stream();
    hidden.keepAlive(30_000);
    const seen: string[] = [];
    for (let at = 0; at < 4; at++) seen.push(hidden.render([reasoning('Hm.')]), ...silence(hidden, 15));
    expect(seen.filter((line) => line !== '')).toEqual([...pings(4), 'start 0 text', 'text ""']);
    const waiting = stream();
    waiting.render([callStart(0)]);
    for (let at = 0; at < 3; at++) silence(waiting, 15);
    expect(waiting.render([callDelta(0, '{"text":"on and on')])).toBe('');
    expect(silence(waiting, 15)).toEqual(['ping', 'input_json ""']);
  });

  test('a visible event resets the silence', () => {
    const renderer = stream();
    renderer.render([text('a')]);
    silence(renderer, 45);
    renderer.render([text('b')]);
    expect(silence(renderer, 60)).toEqual([...pings(4), 'text ""']);
  });
});
