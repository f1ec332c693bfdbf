import type { FinishReason, StreamEvent } from '#inference/stream-event.js';
import type { Turn } from '#inference/turn.js';
import { mayBeEmpty, type ReplyLimits, ReplyShaper } from './reply-shaper.js';
import { UpstreamFailure } from './upstream-failure.js';
import { UsageMeter } from './usage-meter.js';

const USAGE: StreamEvent = {
  type: 'usage-report',
  usage: { promptTokens: 12, cachedTokens: 0, outputTokens: 3, reasoningTokens: 0, source: 'reported' },
};
const QUESTION: Turn = { role: 'user', parts: [{ type: 'text', text: 'Done?' }] };
const ANSWER: Turn = { role: 'assistant', parts: [{ type: 'text', text: 'Done' }] };

function ending(reason: FinishReason): StreamEvent {
  return { type: 'completion-finish', reason };
}

/** What a reply of these events is for the reader. */
function shaped(
  events: StreamEvent[],
  request: { turns?: Turn[]; stop?: string[] } = {},
  cap: Partial<ReplyLimits> = {},
): StreamEvent[] | UpstreamFailure {
  const outputTokensMax = cap.outputTokensMax ?? 100;
  const limits = { outputTokensMax, stop: [], mayBeEmpty: mayBeEmpty({ turns: [QUESTION], ...request }), cutAtMax: false, ...cap };
  const shaper = new ReplyShaper(new UsageMeter({ promptTokensEstimate: 20, outputTokensMax }), limits);
  try {
    return shaper.shape(events);
  } catch (error) {
    if (error instanceof UpstreamFailure) return error;
    throw error;
  }
}

describe('a reply of nothing (M-30)', () => {
  test('has failed where the model just stops, and says nothing against its route', () => {
    expect(shaped([USAGE, ending('stop')])).toMatchObject({ kind: 'empty', code: 'upstream_error', retryable: true });
  });

  test.each<[string, FinishReason, Parameters<typeof shaped>[1]]>([
    ['where a stop sequence may have been met at once', 'stop', { stop: ['END'] }],
    ['where a stop sequence was met at once, as the upstream says', 'stop-sequence', {}],
    ['where hidden reasoning took the budget', 'length', {}],
    ['where the model refuses', 'content-filter', {}],
    ["where the words to go on from were the model's own", 'stop', { turns: [QUESTION, ANSWER] }],
  ])('is good %s', (_name, reason, request) => {
    expect(shaped([USAGE, ending(reason)], request)).toEqual([USAGE, ending(reason)]);
  });

  test.each<StreamEvent[]>([
    [{ type: 'text-delta', text: ' ' }],
    [{ type: 'reasoning-delta', text: 'Hm.' }],
    [{ type: 'refusal-delta', text: 'No.' }],
    [
      { type: 'tool-call-start', index: 0, callId: 'a', tool: { name: 'x' }, kind: 'custom' },
      { type: 'tool-call-end', index: 0 },
    ],
  ])('is none where anything was said: %j', (...said) => {
    expect(shaped([...said, USAGE, ending('stop')])).toEqual([...said, USAGE, ending('stop')]);
  });
});

describe('a cap too low for the upstream, kept by us', () => {
  const LOW = { outputTokensMax: 2, cutAtMax: true }; // eight bytes
  const text = (value: string): StreamEvent => ({ type: 'text-delta', text: value });
  const estimated = (outputTokens: number, reasoningTokens = 0): StreamEvent => ({
    type: 'usage-report',
    usage: { promptTokens: 20, cachedTokens: 0, outputTokens, reasoningTokens, source: 'estimated' },
  });

  test.each<[string, StreamEvent[], StreamEvent[]]>([
    ['what fits is left alone', [text('12345'), text('678'), USAGE, ending('stop')], [text('12345'), text('678'), USAGE, ending('stop')]],
    ['what is more is cut', [text('12345'), text('6789'), USAGE], [text('12345'), text('678'), estimated(2), ending('length')]],
    ['in whole characters', [text('1234é👍')], [text('1234é'), estimated(2), ending('length')]],
    [
      'reasoning is output too',
      [{ type: 'reasoning-delta', text: '12345678' }, text('9'), USAGE],
      [{ type: 'reasoning-delta', text: '12345678' }, estimated(2, 2), ending('length')],
    ],
    [
      'a call is closed where it is cut',
      [
        { type: 'tool-call-start', index: 0, callId: 'a', tool: { name: 'x' }, kind: 'function' },
        { type: 'tool-call-delta', index: 0, text: '{"a":"long"}' },
      ],
      [
        { type: 'tool-call-start', index: 0, callId: 'a', tool: { name: 'x' }, kind: 'function' },
        { type: 'tool-call-delta', index: 0, text: '{"a":"lo' },
        { type: 'tool-call-end', index: 0 },
        estimated(2),
        ending('length'),
      ],
    ],
  ])('%s', (_name, events, expected) => {
    expect(shaped(events, {}, LOW)).toEqual(expected);
  });

  test('a stop sequence before the cap ends it first', () => {
    expect(shaped([text('12END678901')], {}, { ...LOW, stop: ['END'] })).toEqual([text('12'), estimated(1), ending('stop-sequence')]);
  });
});
