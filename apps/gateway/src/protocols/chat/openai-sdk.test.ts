import type OpenAI from 'openai';
import type { ChatCompletionFunctionTool } from 'openai/resources/chat/completions';
import { ERROR_CODES, type ErrorCode } from '#inference/errors.js';
import type { StreamEvent } from '#inference/stream-event.js';
import type { Turn } from '#inference/turn.js';
import type { Answer } from '../../../test/adapter-fetch.js';
import { expectRaised, openClient, textReply, usageReport } from '../../../test/openai-client.js';
import { chatAdapter } from './adapter.js';

const renderedUsage = {
  prompt_tokens: 12,
  completion_tokens: 9,
  total_tokens: 21,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 5 },
};
const messages = [{ role: 'user' as const, content: 'Hello' }];

const makeClient = (answer: Answer | (() => Answer), seen?: Turn[][]): OpenAI => openClient(chatAdapter, 15_000, answer, seen);

const callReply: StreamEvent[] = [
  { type: 'tool-call-start', index: 0, callId: 'call_a', tool: { name: 'get_weather' }, kind: 'function' },
  { type: 'tool-call-start', index: 1, callId: 'call_b', tool: { name: 'now' }, kind: 'function' },
  { type: 'tool-call-delta', index: 0, text: '{"city":' },
  { type: 'tool-call-delta', index: 1, text: '{}' },
  { type: 'tool-call-delta', index: 0, text: '"Oslo"}' },
  { type: 'tool-call-end', index: 0 },
  { type: 'tool-call-end', index: 1 },
  usageReport,
  { type: 'completion-finish', reason: 'stop' },
];

const tools: ChatCompletionFunctionTool[] = ['get_weather', 'now'].map((name) => ({
  type: 'function',
  function: { name, strict: true, parameters: { type: 'object', properties: {}, additionalProperties: true } },
}));

test('create with stream: chunks in order, usage last [chat-usage]', async () => {
  const params = { model: 'sim-fast', messages, stream: true, stream_options: { include_usage: true } } as const;
  const chunks = [];
  for await (const chunk of await makeClient(textReply).chat.completions.create(params)) chunks.push(chunk);
  expect(chunks.map(({ choices, usage }) => usage ?? choices[0]?.finish_reason ?? choices[0]?.delta)).toEqual([
    { role: 'assistant', content: null },
    { reasoning_content: 'Think.' },
    { content: 'Hi ' },
    { content: '\ud83d' },
    { content: '\ude42' },
    'stop',
    renderedUsage,
  ]);
});

test('stream helper: the final completion equals the plain one [vendor-formats]', async () => {
  const client = makeClient(textReply);
  const stream = client.chat.completions.stream({ model: 'sim-fast', messages, stream_options: { include_usage: true } });
  expect(await stream.finalContent()).toBe('Hi 🙂');
  expect(await stream.finalChatCompletion()).toMatchObject({
    id: 'chatcmpl-x1',
    choices: [{ finish_reason: 'stop', message: { role: 'assistant', content: 'Hi 🙂' } }],
    usage: renderedUsage,
  });
});

test('stream helper: interleaved calls of strict tools are parsed', async () => {
  const stream = makeClient(callReply).chat.completions.stream({ model: 'sim-fast', messages, tools });
  const [choice] = (await stream.finalChatCompletion()).choices;
  expect(choice?.finish_reason).toBe('tool_calls');
  expect(choice?.message.content).toBeNull();
  expect(choice?.message.tool_calls).toMatchObject([
    { id: 'call_a', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Oslo"}', parsed_arguments: { city: 'Oslo' } } },
    { id: 'call_b', type: 'function', function: { name: 'now', arguments: '{}', parsed_arguments: {} } },
  ]);
});

test('calls of custom tools, plain and by the stream helper [client-custom-tools]', async () => {
  const input = '*** Begin Patch\n"½" 東京\n';
  const patching: StreamEvent[] = [
    { type: 'tool-call-start', index: 0, callId: 'call_a', tool: { name: 'apply_patch' }, kind: 'custom' },
    { type: 'tool-call-start', index: 1, callId: 'call_b', tool: { name: 'now' }, kind: 'function' },
    { type: 'tool-call-delta', index: 1, text: '{}' },
    { type: 'tool-call-delta', index: 0, text: input.slice(0, 20) },
    { type: 'tool-call-delta', index: 0, text: input.slice(20) },
    { type: 'tool-call-end', index: 1 },
    { type: 'tool-call-end', index: 0 },
    usageReport,
    { type: 'completion-finish', reason: 'stop' },
  ];
  const params = { model: 'sim-fast', messages, tools: [...tools, { type: 'custom' as const, custom: { name: 'apply_patch' } }] };
  const plain = await makeClient(patching).chat.completions.create(params);
  const streamed = await makeClient(patching).chat.completions.stream(params).finalChatCompletion();
  for (const { choices } of [plain, streamed]) {
    expect(choices).toMatchObject([
      {
        finish_reason: 'tool_calls',
        message: {
          tool_calls: [
            { id: 'call_a', type: 'custom', custom: { name: 'apply_patch', input } },
            { id: 'call_b', type: 'function', function: { name: 'now', arguments: '{}' } },
          ],
        },
      },
    ]);
  }
});

test('parse helper: strict tools of a plain reply [C-9]', async () => {
  const completion = await makeClient(callReply).chat.completions.parse({ model: 'sim-fast', messages, tools });
  expect(completion.choices[0]?.message.tool_calls).toMatchObject([
    { function: { parsed_arguments: { city: 'Oslo' } } },
    { function: { parsed_arguments: {} } },
  ]);
});

test('a refusal has its own field, and the helpers do not parse it as JSON [chat-content-null]', async () => {
  const refusing: StreamEvent[] = [{ type: 'refusal-delta', text: 'No.' }, usageReport, { type: 'completion-finish', reason: 'stop' }];
  const response_format = { type: 'json_schema' as const, json_schema: { name: 'n', strict: true, schema: { type: 'object' } } };
  const plain = await makeClient(refusing).chat.completions.parse({ model: 'sim-fast', messages, response_format });
  const streamed = await makeClient(refusing)
    .chat.completions.stream({ model: 'sim-fast', messages, response_format })
    .finalChatCompletion();
  for (const { choices } of [plain, streamed]) {
    expect(choices).toMatchObject([{ message: { content: null, refusal: 'No.', parsed: null }, finish_reason: 'stop' }]);
  }
});

test('runTools: calls run, and their results continue the conversation [chat-tool-calls]', async () => {
  const seen: Turn[][] = [];
  const replies = [callReply, textReply];
  const runner = makeClient(() => replies.shift() ?? textReply, seen).chat.completions.runTools({
    model: 'sim-fast',
    messages,
    tools: [runnable('get_weather', () => 'sunny'), runnable('now', () => '12:00')],
  });
  expect(await runner.finalContent()).toBe('Hi 🙂');
  const call = (callId: string, name: string, argumentsText: string) => {
    return { type: 'tool-call', callId, tool: { name }, wireName: name, argumentsText, kind: 'function' };
  };
  expect(seen[1]).toEqual([
    { role: 'user', parts: [{ type: 'text', text: 'Hello' }] },
    {
      role: 'assistant',
      parts: [call('call_a', 'get_weather', '{"city":"Oslo"}'), call('call_b', 'now', '{}')],
    },
    {
      role: 'tool',
      results: [
        { callId: 'call_a', parts: [{ type: 'text', text: 'sunny' }] },
        { callId: 'call_b', parts: [{ type: 'text', text: '12:00' }] },
      ],
    },
  ]);
});

function runnable(name: string, run: () => string) {
  return { type: 'function' as const, function: { name, description: name, parameters: { type: 'object' }, function: run } };
}

test.each(Object.keys(ERROR_CODES) as ErrorCode[])(
  '%s raises its class, with code, type and param [error-internal, error-timeout, E-1]',
  (code) => expectRaised(code, (error) => makeClient(error).chat.completions.create({ model: 'sim-fast', messages })),
);
