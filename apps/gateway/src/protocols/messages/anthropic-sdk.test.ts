import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { ERROR_CODES, type ErrorCode, GatewayError } from '#inference/errors.js';
import type { StreamEvent } from '#inference/stream-event.js';
import { reportedUsage } from '#testing/token-usage.js';
import { type Answer, adapterFetch } from '../../../test/adapter-fetch.js';
import { safeCallId } from '../tool-calls/call-ids.js';
import { messagesAdapter } from './adapter.js';
import type { MessagesRequest } from './request.js';

/** Anthropic's SDK against the adapter, through the SDK's `fetch` option: no server, no pipeline. */

const usage = reportedUsage(12, 9, { cachedTokens: 4, reasoningTokens: 5 });
const params = { model: 'sim-fast', max_tokens: 64, messages: [{ role: 'user' as const, content: 'Hello' }] };
const thinking = { type: 'adaptive' as const };

const text = (text: string): StreamEvent => ({ type: 'text-delta', text });
const callStart = (index: number, callId: string, name: string): StreamEvent => {
  return { type: 'tool-call-start', index, callId, tool: { name }, kind: 'function' };
};
const callDelta = (index: number, text: string): StreamEvent => ({ type: 'tool-call-delta', index, text });
const callEnd = (index: number): StreamEvent => ({ type: 'tool-call-end', index });
const finish: StreamEvent[] = [
  { type: 'usage-report', usage },
  { type: 'completion-finish', reason: 'stop' },
];
const cut: StreamEvent[] = [
  { type: 'usage-report', usage },
  { type: 'completion-finish', reason: 'length' },
];

const textReply: StreamEvent[] = [{ type: 'reasoning-delta', text: 'Think.' }, ...[text('Hi '), text('\ud83d'), text('\ude42'), ...finish]];
const callReply: StreamEvent[] = [
  ...[callStart(0, 'call_a', 'get_weather'), callStart(1, 'functions.now:1', 'now'), callDelta(0, '{"city":'), callDelta(1, '{}')],
  ...[callDelta(0, '"Oslo","days":[1,2]}'), callEnd(0), callEnd(1), ...finish],
];

/** Returns a client whose requests get these answers in order; the last one answers all further requests. */
function makeClient(...answers: Answer[]): { client: Anthropic; seen: MessagesRequest[] } {
  const seen: MessagesRequest[] = [];
  const fetch = adapterFetch(messagesAdapter, 15, (parsed) => {
    seen.push(parsed);
    return (answers.length > 1 ? answers.shift() : answers[0]) ?? [];
  });
  return { client: new Anthropic({ apiKey: 'tg_test', baseURL: 'http://gateway.invalid', maxRetries: 0, fetch }), seen };
}

/** Removes the SDK's private fields. */
const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test('create with stream: events in order, without pings', async () => {
  const { client } = makeClient(textReply);
  const types: string[] = [];
  for await (const event of await client.messages.create({ ...params, thinking, stream: true })) {
    types.push(event.type === 'content_block_delta' ? event.delta.type : event.type);
  }
  expect(types).toEqual([
    'message_start',
    ...['content_block_start', 'thinking_delta', 'content_block_stop'],
    ...['content_block_start', 'text_delta', 'text_delta', 'text_delta', 'content_block_stop'],
    ...['message_delta', 'message_stop'],
  ]);
});

test.each([
  ['text and thinking', textReply],
  ['interleaved calls', callReply],
  ['text, then a call', [text('Wait. '), callStart(0, 'a', 'now'), callDelta(0, '{}'), callEnd(0), ...finish]],
  ['text after a call (its block is last)', [text('A'), callStart(0, 'a', 'now'), text('B'), callDelta(0, '{}'), callEnd(0), ...finish]],
  ['thinking alone, cut', [{ type: 'reasoning-delta', text: 'On and on' } satisfies StreamEvent, ...cut]],
  ['nothing', finish],
  ['a call cut in its second value [T-19]', [callStart(0, 'a', 'write'), callDelta(0, '{"path":"a","text":"onc'), callEnd(0), ...cut]],
  ['arguments that are not JSON [M-26, U-21]', [callStart(0, 'a', 'write'), callDelta(0, "{'path': 'a'}"), callEnd(0), ...finish]],
  ['arguments that are no object', [callStart(0, 'a', 'write'), callDelta(0, '"a"'), callEnd(0), ...finish]],
])('the stream helper returns the plain message of %s [vendor-formats, M-21, M-26]', async (_name, events) => {
  const { client } = makeClient(events);
  const plain = await client.messages.create({ ...params, thinking });
  const streamed = await client.messages.stream({ ...params, thinking }).finalMessage();
  expect(asJson(streamed)).toEqual({ ...plain, parsed_output: null });
});

test('the stream helper shows a growing call, but never an incomplete value', async () => {
  const pieces = ['{"path":', '"a","te', 'xt":"once upon', ' a time"', '}'];
  const { client } = makeClient([callStart(0, 'a', 'write'), ...pieces.map((piece) => callDelta(0, piece)), callEnd(0), ...finish]);
  const inputs: unknown[] = [];
  const stream = client.messages.stream(params).on('inputJson', (_piece, snapshot) => inputs.push(asJson(snapshot)));
  await stream.finalMessage();
  const whole = { path: 'a', text: 'once upon a time' };
  expect(inputs).toEqual([{ path: 'a' }, whole, whole]);
});

test.each([true, false])(
  'the tool runner continues a conversation with calls and results, without a thread (stream: %p) [messages-tool-use, T-15]',
  async (stream) => {
    const { client, seen } = makeClient(callReply, textReply);
    const tools = [tool('get_weather', () => 'sunny'), tool('now', () => [{ type: 'text', text: '12:00' }])];
    const last = await client.beta.messages.toolRunner({ ...params, max_iterations: 3, tools, stream }).runUntilDone();
    expect(last.content).toMatchObject([{ type: 'text', text: 'Hi 🙂' }]);
    const call = (callId: string, name: string, argumentsText: string) => {
      return { type: 'tool-call', callId, tool: { name }, wireName: name, argumentsText, kind: 'function' };
    };
    const result = (callId: string, text: string) => ({ callId, parts: [{ type: 'text', text }] });
    const secondId = safeCallId('functions.now:1');
    expect(seen.map(({ request }) => request.turns)).toEqual([
      [{ role: 'user', parts: [{ type: 'text', text: 'Hello' }] }],
      [
        { role: 'user', parts: [{ type: 'text', text: 'Hello' }] },
        { role: 'assistant', parts: [call('call_a', 'get_weather', '{"city":"Oslo","days":[1,2]}'), call(secondId, 'now', '{}')] },
        { role: 'tool', results: [result('call_a', 'sunny'), result(secondId, '12:00')] },
      ],
    ]);
  },
);

test('tools that the runner adds and removes are offered and withdrawn from there on [client-tool-changes]', async () => {
  const call = (name: string): StreamEvent[] => [callStart(0, `call_${name}`, name), callDelta(0, '{}'), callEnd(0), ...finish];
  const { client, seen } = makeClient(call('load'), call('weather'), textReply);
  const weather = tool('weather', () => {
    runner.removeTools('weather');
    return 'rain';
  });
  const load = tool('load', () => {
    runner.addTools(weather);
    return 'loaded';
  });
  const runner = client.beta.messages.toolRunner({ ...params, tools: [load], betas: ['inline-tools-2026-09-15'] });
  const last = await runner.runUntilDone();
  expect(last.content).toMatchObject([{ type: 'text', text: 'Hi 🙂' }]);
  expect(seen.map(({ request }) => request.tools.map(({ key }) => key.name))).toEqual([['load'], ['load', 'weather'], ['load']]);
});

function tool(name: string, run: () => string | { type: 'text'; text: string }[]) {
  return betaTool({ name, description: name, inputSchema: { type: 'object', properties: {} }, run });
}

const CLASS_BY_STATUS: Record<number, new (...args: never[]) => Error> = {
  400: Anthropic.BadRequestError,
  401: Anthropic.AuthenticationError,
  402: Anthropic.PaymentRequiredError,
  403: Anthropic.PermissionDeniedError,
  404: Anthropic.NotFoundError,
  413: Anthropic.ContentTooLargeError,
  429: Anthropic.RateLimitError,
  500: Anthropic.InternalServerError,
  502: Anthropic.InternalServerError,
  503: Anthropic.ServiceUnavailableError,
  504: Anthropic.GatewayTimeoutError,
};

test.each(Object.keys(ERROR_CODES) as ErrorCode[])(
  '%s raises its class, with type and message [error-types-messages, E-1, E-2]',
  async (code) => {
    const { status } = ERROR_CODES[code];
    const { client } = makeClient(new GatewayError(code, 'What happened.', { param: 'model' }));
    const error: unknown = await client.messages.create(params).catch((caught) => caught);
    expect(error).toBeInstanceOf(CLASS_BY_STATUS[status]);
    expect(error).toMatchObject({
      status,
      requestID: 'req_x1',
      error: { type: 'error', error: { type: expect.stringMatching(/./), message: expect.stringContaining('What happened.') } },
    });
  },
);
