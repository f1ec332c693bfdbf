import type { FinishReason, StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';
import { reportedUsage } from '#testing/token-usage.js';
import { makeCall } from '../../../test/conformance.js';
import { ADAPTERS } from '../adapters.js';
import { OutputCap } from './output-cap.js';

const USAGE: Usage = reportedUsage(12, 9, { cachedTokens: 4, reasoningTokens: 3 });
const CALL: StreamEvent = { type: 'tool-call-start', index: 0, callId: 'a', tool: { name: 'x' }, kind: 'function' };
const END: StreamEvent = { type: 'tool-call-end', index: 0 };

const text = (value: string): StreamEvent => ({ type: 'text-delta', text: value });
const piece = (value: string): StreamEvent => ({ type: 'tool-call-delta', index: 0, text: value });
const finish = (reason: FinishReason): StreamEvent => ({ type: 'completion-finish', reason });

/** Returns the events that a cap of two tokens (eight bytes) keeps. */
function kept(...events: StreamEvent[]): StreamEvent[] {
  const left: StreamEvent[] = [];
  new OutputCap(2).keep((all) => void all.push(...events), left);
  return left;
}

test.each<[string, StreamEvent[], StreamEvent[]]>([
  ['what fits is left alone', [text('12345'), text('678'), finish('stop')], [text('12345'), text('678'), finish('stop')]],
  ['what is more is dropped', [text('12345'), text('6789'), text('0'), finish('stop')], [text('12345'), text('678'), finish('length')]],
  ['in whole characters', [text('1234é👍'), text('x'), finish('stop')], [text('1234é'), finish('length')]],
  [
    'reasoning is output too',
    [{ type: 'reasoning-delta', text: '12345678' }, text('9'), finish('stop')],
    [{ type: 'reasoning-delta', text: '12345678' }, finish('length')],
  ],
  [
    'arguments are cut, and their call is ended',
    [CALL, piece('{"a":"long"}'), END, finish('tool-calls')],
    [CALL, piece('{"a":"l'), END, finish('length')],
  ],
  [
    'a call of which nothing fits is none',
    [text('12345678'), CALL, piece('{}'), END, finish('tool-calls')],
    [text('12345678'), finish('length')],
  ],
  ['nor is one after a cut', [text('123456789'), CALL, piece('{}'), END, finish('tool-calls')], [text('12345678'), finish('length')]],
])('%s', (_name, events, expected) => {
  expect(kept(...events)).toEqual(expected);
});

test('of the output no more is counted than was asked for; the prompt is as it was', () => {
  expect(kept({ type: 'usage-report', usage: USAGE })).toEqual([
    { type: 'usage-report', usage: { ...USAGE, outputTokens: 2, reasoningTokens: 2 } },
  ]);
});

test.each<[string, StreamEvent[]]>([
  ['arguments', [piece('x'.repeat(5_000))]],
  ['names', Array.from({ length: 5_000 }, () => CALL)],
])('calls after the cap that go on without end are cut: %s', (_what, more) => {
  expect(kept(text('123456789'), CALL, ...more)).toEqual([text('12345678'), finish('length')]);
});

test('what came before a failure is kept, and the failure goes on', () => {
  const left: StreamEvent[] = [];
  const fail = (all: StreamEvent[]): void => {
    all.push(text('good'));
    throw new Error('bad');
  };
  expect(() => new OutputCap(2).keep(fail, left)).toThrow('bad');
  expect(left).toEqual([text('good')]);
});

test('openai-responses keeps a low cap, plain and streamed', () => {
  const { parseReply, openStream } = ADAPTERS['openai-responses'];
  const message = { type: 'message', id: 'm', content: [{ type: 'output_text', text: 'One two three four' }] };
  const usage = { input_tokens: 7, output_tokens: 5, total_tokens: 12 };
  const response = { object: 'response', status: 'completed', output: [message], usage };
  const expected = [
    text('One two '),
    {
      type: 'usage-report',
      usage: { promptTokens: 7, cachedTokens: 0, outputTokens: 2, reasoningTokens: 0, promptSource: 'reported', outputSource: 'reported' },
    },
    finish('length'),
  ];
  const plain: StreamEvent[] = [];
  parseReply(JSON.stringify(response), { ...makeCall(false), outputTokensMax: 2 }, plain);
  const streamed: StreamEvent[] = [];
  openStream({ ...makeCall(true), outputTokensMax: 2 }).push(JSON.stringify({ type: 'response.completed', response }), streamed);
  expect([plain, streamed]).toEqual([expected, expected]);
});
