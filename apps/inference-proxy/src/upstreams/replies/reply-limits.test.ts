import { UPSTREAM_KINDS } from '#contracts/catalog.js';
import type { StreamEvent } from '#inference/stream-event.js';
import { makeCall } from '../../../test/conformance.js';
import { UpstreamFailure } from '../../failures/upstream-failure.js';
import { ADAPTERS } from '../adapters.js';
import { renderArguments } from './reply-limits.js';
import { WholeJson } from './whole-json.js';

/** Pushes payloads until the parser fails. Text that no client sees must not fill the memory. */
function readUntilFailure(kind: (typeof UPSTREAM_KINDS)[number], payload: (n: number) => unknown): { count: number; failure: string } {
  const tools = [
    { key: { name: 'get_weather' }, wireName: 'get_weather', kind: 'function' as const },
    { key: { name: 'patch' }, wireName: 'patch', kind: 'custom' as const },
  ];
  const parser = ADAPTERS[kind].openStream(makeCall(true, { tools }));
  const events: StreamEvent[] = [];
  for (let count = 0; count < 10_000; count++) {
    try {
      parser.push(JSON.stringify(payload(count)), events);
    } catch (error) {
      if (error instanceof UpstreamFailure) return { count, failure: `${error.kind} ${error.code}` };
      throw error;
    }
  }
  return { count: Number.POSITIVE_INFINITY, failure: 'none' };
}

const KIB = 'x'.repeat(1024);
const chat = (call: unknown) => ({ choices: [{ index: 0, delta: { tool_calls: [call] } }] });
const block = (index: number, fields: unknown) => ({ type: 'content_block_start', index, content_block: fields });

test.each<[string, (typeof UPSTREAM_KINDS)[number], (n: number) => unknown, number]>([
  ['arguments of a call without a name [fault-tool-calls]', 'openai-chat', () => chat({ index: 0, function: { arguments: KIB } }), 1024],
  ['a name in pieces without end [fault-tool-calls]', 'openai-chat', (n) => chat({ index: 0, function: { name: `${n}${KIB}` } }), 1],
  [
    'the input of a custom tool in no known form',
    'openai-chat',
    (n) => chat({ index: 0, function: n === 0 ? { name: 'patch', arguments: '[' } : { arguments: KIB } }),
    1024,
  ],
  [
    'items without end',
    'openai-responses',
    (n) => ({ type: 'response.output_item.added', output_index: n, item: { id: `i${n}`, type: 'web_search_call' } }),
    1024,
  ],
  [
    'parts without end',
    'openai-responses',
    (n) => ({ type: 'response.output_text.delta', item_id: 'm', content_index: n, delta: 'x' }),
    1024,
  ],
  [
    'reasoning beside its summary, which is not passed on, without end',
    'openai-responses',
    (n) => ({ type: `response.reasoning_${n === 0 ? 'summary_' : ''}text.delta`, item_id: 'r', delta: KIB }),
    1027,
  ],
  [
    'arguments after the end of their call',
    'openai-responses',
    (n) =>
      n === 0
        ? { type: 'response.output_item.done', item: { id: 'f', type: 'function_call', name: 'get_weather', arguments: '{}' } }
        : { type: 'response.function_call_arguments.delta', item_id: 'f', delta: KIB },
    1025,
  ],
  [
    'the same arguments again and again',
    'openai-responses',
    () => ({ type: 'response.function_call_arguments.delta', item_id: 'f', delta: JSON.stringify({ text: KIB }) }),
    1015,
  ],
  ['blocks of tools of its own without end', 'anthropic-messages', (n) => block(n, { type: 'server_tool_use' }), 1024],
])('%s are a limit', (_what, kind, payload, countMax) => {
  const { count, failure } = readUntilFailure(kind, payload);
  expect(failure).toBe('limit upstream_error');
  expect(count).toBeLessThanOrEqual(countMax + 2);
  expect(count).toBeGreaterThanOrEqual(countMax - 2);
});

test('white space before a tag is held only so far', () => {
  const parser = ADAPTERS['openai-chat'].openStream(makeCall(true, {}, { thinkTags: true }));
  const events: StreamEvent[] = [];
  for (let n = 0; n < 1025; n++) parser.push(JSON.stringify({ choices: [{ index: 0, delta: { content: ' ' } }] }), events);
  expect(events).toEqual([{ type: 'text-delta', text: ' '.repeat(1025) }]);
});

test('arguments as an object are taken to a depth of 128 [fault-json]', () => {
  const nested = (levels: number): Record<string, unknown> => (levels === 1 ? {} : { a: nested(levels - 1) });
  expect(renderArguments(nested(128))).toBe(`${'{"a":'.repeat(127)}{}${'}'.repeat(127)}`);
  expect(() => renderArguments(nested(129))).toThrow(UpstreamFailure);
});

test('an upstream that keeps no cap, where the client asked for less than the dialect takes, is cut (openai-responses)', () => {
  const call = { ...makeCall(true), outputTokensMax: 2 };
  const parser = ADAPTERS['openai-responses'].openStream(call);
  const events: StreamEvent[] = [];
  const delta = JSON.stringify({ type: 'response.output_text.delta', item_id: 'm', output_index: 0, content_index: 0, delta: KIB });
  let pushed = 0;
  for (; !parser.done && pushed < 100; pushed++) parser.push(delta, events);
  expect(pushed).toBeLessThan(8);
  expect(events).toEqual([
    { type: 'text-delta', text: 'x'.repeat(8) },
    { type: 'completion-finish', reason: 'length' },
  ]);
});

test.each<[string[], string, WholeJson['state']]>([
  [[], '', 'open'],
  [['{}'], '{}', 'whole'],
  [['{', '"a":"}"', '}'], '{"a":"}"}', 'whole'],
  [['{"a":"\\', '"}"}'], '{"a":"\\"}"}', 'whole'],
  [[' \n{"a":[{}', ']} '], ' \n{"a":[{}]}', 'whole'],
  [['{}', '{}'], '{}', 'whole'],
  [['{"a":{}'], '{"a":{}', 'open'],
  [['{"a":}'], '{"a":}', 'broken'],
  [['[]'], '[]', 'broken'],
  [['{]', 'x'], '{]x', 'broken'],
  [['"{}"'], '"{}"', 'broken'],
])('of %j, %j is JSON object: %s', (pieces, text, state) => {
  const json = new WholeJson();
  let read = '';
  for (const piece of pieces) read += json.state === 'whole' ? '' : piece.slice(0, json.push(piece));
  expect([read, json.state]).toEqual([text, state]);
});
