import fc from 'fast-check';
import type OpenAI from 'openai';
import type { ResponseInputItem, ResponseStreamEvent, Tool } from 'openai/resources/responses/responses';
import { ERROR_CODES, type ErrorCode } from '#inference/errors.js';
import type { StreamEvent } from '#inference/stream-event.js';
import type { Turn } from '#inference/turn.js';
import { streamEvents } from '#testing/stream-events.js';
import type { Answer } from '../../../test/adapter-fetch.js';
import { expectRaised, openClient, textReply, usageReport } from '../../../test/openai-client.js';
import { responsesAdapter } from './adapter.js';

const params = { model: 'sim-fast', input: 'Hello', metadata: { trace: 't-1' } };

const makeClient = (answer: Answer | (() => Answer), seen?: Turn[][]): OpenAI => openClient(responsesAdapter, 60_000, answer, seen);

/** Reads a stream as Codex does: items from `output_item.done`, usage from the last event. Throws when that is missing. */
function foldLikeCodex(events: Iterable<ResponseStreamEvent>): { items: unknown[]; usage: unknown } {
  const items: unknown[] = [];
  for (const event of events) {
    if (event.type === 'response.output_item.done') items.push(event.item);
    if (event.type === 'response.failed') throw new Error(event.response.error?.code);
    if (event.type === 'response.completed' || event.type === 'response.incomplete') return { items, usage: event.response.usage };
  }
  throw new Error('stream closed before response.completed');
}

const callReply: StreamEvent[] = [
  { type: 'tool-call-start', index: 0, callId: 'call_a', tool: { name: 'get_weather' }, kind: 'function' },
  { type: 'tool-call-start', index: 1, callId: 'call_b', tool: { name: 'say', namespace: 'agents' }, kind: 'function' },
  { type: 'tool-call-start', index: 2, callId: 'call_c', tool: { name: 'shell' }, kind: 'custom' },
  { type: 'tool-call-delta', index: 0, text: '{"city":' },
  { type: 'tool-call-delta', index: 1, text: '{}' },
  { type: 'tool-call-delta', index: 2, text: 'date' },
  { type: 'tool-call-delta', index: 0, text: '"Oslo"}' },
  { type: 'tool-call-end', index: 2 },
  { type: 'tool-call-end', index: 0 },
  { type: 'tool-call-end', index: 1 },
  usageReport,
  { type: 'completion-finish', reason: 'stop' },
];

const strict = { type: 'function' as const, strict: true, parameters: { type: 'object', properties: {}, additionalProperties: true } };
const tools: Tool[] = [
  { ...strict, name: 'get_weather' },
  { type: 'namespace', name: 'agents', description: 'Agents.', tools: [{ ...strict, name: 'say' }] },
  { type: 'custom', name: 'shell' },
];

test('create [responses-output-order]', async () => {
  const response = await makeClient(textReply).responses.create(params);
  expect(response).toMatchObject({
    id: 'resp_x1',
    status: 'completed',
    error: null,
    model: 'sim-fast',
    metadata: { trace: 't-1' },
    store: false,
    output_text: 'Hi 🙂',
    output: [
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Think.' }], encrypted_content: null },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi 🙂', annotations: [], logprobs: [] }] },
    ],
    usage: {
      input_tokens: 12,
      input_tokens_details: { cached_tokens: 4, cache_write_tokens: 0 },
      output_tokens: 9,
      output_tokens_details: { reasoning_tokens: 5 },
      total_tokens: 21,
    },
  });
  expect(response._request_id).toBe('req_x1');
});

test('create with stream: the events in order [responses-event-items]', async () => {
  const types: string[] = [];
  for await (const event of await makeClient(callReply).responses.create({ ...params, stream: true })) types.push(event.type);
  expect(types.filter((type) => (type as string) !== 'keepalive')).toEqual([
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.function_call_arguments.delta',
    'response.function_call_arguments.delta',
    'response.function_call_arguments.done',
    'response.output_item.done',
    'response.output_item.added',
    'response.function_call_arguments.delta',
    'response.function_call_arguments.done',
    'response.output_item.done',
    'response.output_item.added',
    'response.custom_tool_call_input.delta',
    'response.custom_tool_call_input.done',
    'response.output_item.done',
    'response.completed',
  ]);
});

test('stream helper: interleaved calls of strict tools are parsed, by name and namespace [D9]', async () => {
  const streamed = await makeClient(callReply)
    .responses.stream({ ...params, tools })
    .finalResponse();
  expect(streamed.output).toMatchObject([
    { type: 'function_call', call_id: 'call_a', name: 'get_weather', arguments: '{"city":"Oslo"}', parsed_arguments: { city: 'Oslo' } },
    { type: 'function_call', call_id: 'call_b', name: 'say', namespace: 'agents', arguments: '{}', parsed_arguments: {} },
    { type: 'custom_tool_call', call_id: 'call_c', name: 'shell', input: 'date' },
  ]);
  expect(streamed).toEqual(await makeClient(callReply).responses.parse({ ...params, tools }));
});

const anyReply = streamEvents({ customTools: true, namespaces: true });

test('for any events, the stream helper returns the plain reply [vendor-formats, R-2, R-3, R-4, R-5, R-6, R-7, R-8, R-8b]', async () => {
  await fc.assert(
    fc.asyncProperty(anyReply, async (events) => {
      const client = makeClient(events);
      const streamed = await client.responses.stream(params).finalResponse();
      expect(withoutParsed(streamed)).toEqual(withoutParsed(await client.responses.parse(params)));
    }),
    { numRuns: 150 },
  );
});

/** Removes `parsed: null`, which only the stream helper adds to refusals. */
function withoutParsed(response: object): object {
  return JSON.parse(JSON.stringify(response, (key, value) => (key === 'parsed' && value === null ? undefined : value)));
}

test('a refusal is a separate part, and the helpers do not parse it as JSON [R-8h]', async () => {
  const refusing: StreamEvent[] = [{ type: 'refusal-delta', text: 'No.' }, usageReport, { type: 'completion-finish', reason: 'stop' }];
  const text = { format: { type: 'json_schema' as const, name: 'n', strict: true, schema: { type: 'object' } } };
  const plain = await makeClient(refusing).responses.parse({ ...params, text });
  const streamed = await makeClient(refusing)
    .responses.stream({ ...params, text })
    .finalResponse();
  for (const { output, output_parsed, output_text } of [plain, streamed]) {
    expect(output).toMatchObject([{ type: 'message', status: 'completed', content: [{ type: 'refusal', refusal: 'No.' }] }]);
    expect([output_parsed, output_text]).toEqual([null, '']);
  }
});

test('a client that reads only done items gets the plain output [responses-usage, responses-completed, responses-stream, R-8d, R-8e]', async () => {
  await fc.assert(
    fc.asyncProperty(anyReply, async (events) => {
      const client = makeClient(events);
      const plain = await client.responses.create(params);
      const received: ResponseStreamEvent[] = [];
      for await (const event of await client.responses.create({ ...params, stream: true })) received.push(event);
      expect(foldLikeCodex(received)).toEqual({ items: plain.output, usage: plain.usage });
    }),
    { numRuns: 100 },
  );
});

test('a conversation continues with the output unchanged [responses-function-call, responses-call-items, T-7]', async () => {
  const seen: Turn[][] = [];
  const replies = [callReply, textReply];
  const client = makeClient(() => replies.shift() ?? textReply, seen);
  const first = await client.responses.create({ ...params, tools });
  const outputs: ResponseInputItem[] = [
    { type: 'function_call_output', call_id: 'call_a', output: 'sunny' },
    { type: 'function_call_output', call_id: 'call_b', output: [{ type: 'input_text', text: 'said' }] },
    { type: 'custom_tool_call_output', call_id: 'call_c', output: '12:00' },
  ];
  const history = [{ role: 'user', content: 'Hello' }, ...first.output, ...outputs] as ResponseInputItem[];
  const second = await client.responses.create({ ...params, tools, input: history });
  await client.responses.create({
    ...params,
    tools,
    input: [...history, ...second.output, { role: 'user', content: 'Thanks.' }] as ResponseInputItem[],
  });
  const call = (callId: string, tool: object, argumentsText: string, kind: string) => {
    return { type: 'tool-call', callId, tool, wireName: (tool as { name: string }).name, argumentsText, kind };
  };
  const turns = [
    { role: 'user', parts: [{ type: 'text', text: 'Hello' }] },
    {
      role: 'assistant',
      parts: [
        call('call_a', { name: 'get_weather' }, '{"city":"Oslo"}', 'function'),
        call('call_b', { name: 'say', namespace: 'agents' }, '{}', 'function'),
        call('call_c', { name: 'shell' }, 'date', 'custom'),
      ],
    },
    {
      role: 'tool',
      results: [
        { callId: 'call_a', parts: [{ type: 'text', text: 'sunny' }] },
        { callId: 'call_b', parts: [{ type: 'text', text: 'said' }] },
        { callId: 'call_c', parts: [{ type: 'text', text: '12:00' }] },
      ],
    },
  ];
  expect(seen[1]).toEqual(turns);
  expect(seen[2]).toEqual([
    ...turns,
    {
      role: 'assistant',
      parts: [
        { type: 'reasoning', text: 'Think.' },
        { type: 'text', text: 'Hi 🙂' },
      ],
    },
    { role: 'user', parts: [{ type: 'text', text: 'Thanks.' }] },
  ]);
});

test.each(Object.keys(ERROR_CODES) as ErrorCode[])('%s raises its class, with code, type and param [E-1]', (code) =>
  expectRaised(code, (error) => makeClient(error).responses.create(params)),
);

test('a stored item is refused with an alternative [responses-stored-state, D12]', async () => {
  const input: ResponseInputItem[] = [
    { type: 'item_reference', id: 'msg_1' },
    { role: 'user', content: 'Hello' },
  ];
  await expect(makeClient(textReply).responses.create({ ...params, input })).rejects.toMatchObject({
    status: 400,
    code: 'unsupported_parameter',
    param: 'input[0]',
    message: expect.stringContaining('send items in full; set `store: false`'),
  });
});

test('a failure in the stream is a failed response with its code after the received content [responses-failed, R-11, R-12]', async () => {
  const failed: StreamEvent = { type: 'completion-failure', code: 'upstream_timeout', message: 'The model failed.' };
  const client = makeClient([{ type: 'text-delta', text: 'Hi' }, usageReport, failed]);
  const received: ResponseStreamEvent[] = [];
  for await (const event of await client.responses.create({ ...params, stream: true })) received.push(event);
  expect(received.at(-1)).toMatchObject({
    type: 'response.failed',
    sequence_number: received.length - 1,
    response: {
      id: 'resp_x1',
      status: 'failed',
      error: { code: 'upstream_timeout', message: 'The model failed.' },
      incomplete_details: null,
      output: [{ type: 'message', status: 'incomplete', content: [{ text: 'Hi' }] }],
      usage: null,
    },
  });
  expect(() => foldLikeCodex(received)).toThrow('upstream_timeout');
  expect(await client.responses.stream(params).finalResponse()).toMatchObject({ status: 'failed' });
});
