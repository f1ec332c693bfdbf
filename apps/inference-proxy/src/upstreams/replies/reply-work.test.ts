import { jest } from '@jest/globals';
import type { UPSTREAM_KINDS } from '#contracts/catalog.js';
import type { StreamEvent } from '#inference/stream-event.js';
import { LINEAR_GROWTH_MAX, measureGrowth } from '#testing/growth.js';
import { makeCall } from '../../../test/conformance.js';
import { ADAPTERS } from '../adapters.js';
import { parseReplyJson } from './json-object.js';

/*
 * Parsing a reply blocks other requests, and the upstream chooses its content: the work must grow linearly with its bytes.
 */
const TOOLS = [
  { key: { name: 'get_weather' }, wireName: 'get_weather', kind: 'function' as const },
  { key: { name: 'patch' }, wireName: 'patch', kind: 'custom' as const },
];

const call = (piece: unknown) => ({ choices: [{ index: 0, delta: { tool_calls: [piece] } }] });
const delta = (fields: unknown) => ({ type: 'response.output_text.delta', item_id: 'm', output_index: 0, ...(fields as object) });
const done = { type: 'response.output_item.done', output_index: 0, item: { id: 'm', type: 'message', content: [{ text: '' }] } };
const range = (length: number): number[] => Array.from({ length }, (_, n) => n);

test.each<[string, (typeof UPSTREAM_KINDS)[number], (size: number) => unknown[], number]>([
  [
    'the input of a custom tool, full of escapes, in one piece [fault-work]',
    'openai-chat',
    (size) => [call({ index: 0, function: { name: 'patch', arguments: `{"input":"${'\\n'.repeat(size)}` } })],
    12_500,
  ],
  [
    'an item of many parts that is said to be done again and again [fault-work]',
    'openai-responses',
    (size) => [...range(size).map((part) => delta({ content_index: part, delta: 'x' })), ...range(6 * size).map(() => done)],
    16,
  ],
  [
    'a text that is repeated whole after each delta',
    'openai-responses',
    (size) =>
      range(size).flatMap(() => [
        delta({ content_index: 0, delta: 'x' }),
        { ...delta({ content_index: 0, text: 'x' }), type: 'response.output_text.done' },
      ]),
    125,
  ],
  [
    'a call whose every piece repeats its name',
    'openai-chat',
    (size) => range(size).map((n) => call({ index: 0, function: { name: 'get_weather', arguments: n === 0 ? '{' : '{"a":' } })),
    125,
  ],
])('%s', async (_what, kind, makeReply, size) => {
  const payloads = new Map<number, string[]>();
  const growth = await measureGrowth((length) => {
    if (!payloads.has(length))
      payloads.set(
        length,
        makeReply(length).map((event) => JSON.stringify(event)),
      );
    const parser = ADAPTERS[kind].openStream(makeCall(true, { tools: TOOLS }));
    const events: StreamEvent[] = [];
    for (const payload of payloads.get(length) ?? []) parser.push(payload, events);
  }, size);
  expect(growth).toBeLessThan(LINEAR_GROWTH_MAX);
});

test('a response of more items than are remembered is a limit', () => {
  const output = range(1_025).map(() => ({ type: 'function_call', call_id: 'c', name: 'get_weather' }));
  const parser = ADAPTERS['openai-responses'].openStream(makeCall(true, { tools: TOOLS }));
  const response = { type: 'response.completed', response: { status: 'completed', output } };
  expect(() => parser.push(JSON.stringify(response), [])).toThrow(expect.objectContaining({ kind: 'limit' }));
});

describe('reading exactly, which is slow [fault-work]', () => {
  const makeArguments = (numbers: string): string => `{"function":{"arguments":{"n":[${numbers}]}}}`;
  const isReadExactly = (text: string): boolean => {
    const parse = jest.spyOn(JSON, 'parse');
    try {
      parseReplyJson(text);
      return parse.mock.calls.some(([, reviver]) => reviver !== undefined);
    } finally {
      parse.mockRestore();
    }
  };

  test.each<[string, string, boolean]>([
    ['a long number in arguments', makeArguments('1,12345678901234567890'), true],
    ['no arguments', '{"n":12345678901234567890}', false],
    ['arguments as text', '{"function":{"arguments":"{\\"n\\":12345678901234567890}"}}', false],
    ['no long number', makeArguments(`1,0.5,${'7,'.repeat(1_000)}1e10`), false],
    ['not so many values', makeArguments(`${'1,'.repeat(19_000)}12345678901234567890`), true],
    ['many values', makeArguments(`${'1,'.repeat(20_000)}12345678901234567890`), false],
  ])('%s: %#', (_what, text, expected) => {
    expect(isReadExactly(text)).toBe(expected);
  });
});
