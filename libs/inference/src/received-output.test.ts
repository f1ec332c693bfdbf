import { ReceivedOutput } from './received-output.js';
import { isContent, type StreamEvent } from './stream-event.js';

const CAPS = { promptTokensEstimate: 20, outputTokensMax: 1000 };
const EVENTS: StreamEvent[] = [
  { type: 'upstream-start', upstream: 'a' },
  { type: 'reasoning-delta', text: '漢字漢字' }, // 12 bytes
  { type: 'text-delta', text: 'abcde' },
  { type: 'refusal-delta', text: 'no' },
  { type: 'tool-call-start', index: 0, callId: 'call', tool: { name: 'add', namespace: 'maths' }, kind: 'function' },
  { type: 'tool-call-delta', index: 0, text: '{"a":1}' },
  { type: 'tool-call-end', index: 0 },
];

function receive(events: readonly StreamEvent[]): ReceivedOutput {
  const received = new ReceivedOutput();
  for (const event of events) received.count(event);
  return received;
}

test('counts the bytes of texts, and of names and arguments of calls [T-26]', () => {
  const received = receive(EVENTS);
  expect([received.bytes, received.tokensEstimate]).toEqual([29, 8]);
  expect(received.estimateUsage(CAPS)).toEqual({
    promptTokens: 20,
    cachedTokens: 0,
    outputTokens: 8,
    reasoningTokens: 3,
    promptSource: 'estimated',
    outputSource: 'counted',
  });
});

test.each(EVENTS)('hasContent agrees with isContent: %j', (event) => {
  expect(receive([event]).hasContent).toBe(isContent(event));
});

test('estimated usage stays within the cap', () => {
  const received = receive([{ type: 'reasoning-delta', text: 'a'.repeat(400) }]);
  const usage = {
    promptTokens: 20,
    cachedTokens: 0,
    outputTokens: 3,
    reasoningTokens: 3,
    promptSource: 'estimated',
    outputSource: 'counted',
  };
  expect([received.estimateUsage({ ...CAPS, outputTokensMax: 3 }), received.tokensEstimate]).toEqual([usage, 100]);
});

test('a count that falls to 0 is none: all output is estimated', () => {
  const received = receive(EVENTS);
  const counts = { promptTokens: 20, cachedTokens: 0, reasoningTokens: 0 };
  received.noteCounts({ ...counts, outputTokens: 4 });
  received.noteCounts({ ...counts, outputTokens: 0 });
  expect(received.estimateUsage(CAPS)).toMatchObject({ outputTokens: 8, reasoningTokens: 3, outputSource: 'counted' });
});
