import type { FinishReason, StreamEvent } from '#inference/stream-event.js';
import type { Turn } from '#inference/turn.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import { mayBeEmpty, ReplyShaper } from './reply-shaper.js';
import { UsageMeter } from './usage-meter.js';

const USAGE: StreamEvent = {
  type: 'usage-report',
  usage: { promptTokens: 12, cachedTokens: 0, outputTokens: 3, reasoningTokens: 0, promptSource: 'reported', outputSource: 'reported' },
};
const QUESTION: Turn = { role: 'user', parts: [{ type: 'text', text: 'Done?' }] };
const ANSWER: Turn = { role: 'assistant', parts: [{ type: 'text', text: 'Done' }] };

function ending(reason: FinishReason): StreamEvent {
  return { type: 'completion-finish', reason };
}

/** Returns the shaped events of a reply. */
function shaped(events: StreamEvent[], request: { turns?: Turn[]; stop?: string[] } = {}): StreamEvent[] | UpstreamFailure {
  const limits = { outputTokensMax: 100, stop: request.stop ?? [], mayBeEmpty: mayBeEmpty({ turns: [QUESTION], ...request }) };
  const shaper = new ReplyShaper(new UsageMeter({ promptTokensEstimate: 20, outputTokensMax: 100 }), limits);
  try {
    return shaper.shape(events);
  } catch (error) {
    if (error instanceof UpstreamFailure) return error;
    throw error;
  }
}

describe('an empty reply [M-30]', () => {
  test('is a failure when the model stops, and does not count against its route', () => {
    expect(shaped([USAGE, ending('stop')])).toMatchObject({ kind: 'empty', code: 'upstream_error', retryable: true });
  });

  test.each<[string, FinishReason, Parameters<typeof shaped>[1]]>([
    ['where a stop sequence may have been met at once', 'stop', { stop: ['END'] }],
    ['where a stop sequence was met at once, as the upstream says', 'stop-sequence', {}],
    ['where hidden reasoning took the budget', 'length', {}],
    ['where the model refuses', 'content-filter', {}],
    ["where the words to go on from were the model's own", 'stop', { turns: [QUESTION, ANSWER] }],
  ])('is accepted %s', (_name, reason, request) => {
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
  ])('is not one with any content: %j', (...said) => {
    expect(shaped([...said, USAGE, ending('stop')])).toEqual([...said, USAGE, ending('stop')]);
  });
});

test('text after a refusal belongs to it, and is not searched for stop sequences [R-8h]', () => {
  const said: StreamEvent[] = [
    { type: 'text-delta', text: 'Well. ' },
    { type: 'refusal-delta', text: 'I cannot' },
    { type: 'text-delta', text: ' END of it.' },
  ];
  expect(shaped([...said, USAGE, ending('stop')], { stop: ['END'] })).toEqual([
    { type: 'text-delta', text: 'Well. ' },
    { type: 'refusal-delta', text: 'I cannot END of it.' },
    USAGE,
    ending('stop'),
  ]);
});

test('characters are joined before the search for stop sequences [T-45]', () => {
  const limits = { outputTokensMax: 100, stop: ['🙂'], mayBeEmpty: false };
  const shaper = new ReplyShaper(new UsageMeter({ promptTokensEstimate: 20, outputTokensMax: 100 }), limits);
  const text = (text: string): StreamEvent => ({ type: 'text-delta', text });
  expect(shaper.shape([text('Hi \ud83d')])).toEqual([text('Hi ')]);
  expect(shaper.shape([text('x\ud83d'), text('\ude42'), USAGE, ending('stop')])).toEqual([text('\ufffdx'), USAGE, ending('stop-sequence')]);
});

test('neighbouring deltas are joined, and others keep their order', () => {
  const start = (index: number): StreamEvent => ({
    type: 'tool-call-start',
    index,
    callId: `call ${index}`,
    tool: { name: 'x' },
    kind: 'custom',
  });
  const end = (index: number): StreamEvent => ({ type: 'tool-call-end', index });
  const piece = (type: 'text-delta' | 'reasoning-delta' | 'refusal-delta', text: string): StreamEvent => ({ type, text });
  const call = (index: number, text: string): StreamEvent => ({ type: 'tool-call-delta', index, text });
  const events = [
    ...[
      piece('reasoning-delta', 'H'),
      piece('reasoning-delta', 'm.'),
      piece('text-delta', 'So'),
      piece('text-delta', ': '),
      piece('text-delta', 'no.'),
    ],
    ...[start(0), start(1), call(0, 'a'), call(0, 'b'), call(1, 'c'), call(1, 'd'), call(0, 'e'), end(0), end(1)],
    ...[piece('refusal-delta', 'I '), piece('refusal-delta', 'refuse')],
  ];
  expect(shaped([...events, USAGE, ending('stop')])).toEqual([
    ...[piece('reasoning-delta', 'Hm.'), piece('text-delta', 'So: no.')],
    ...[start(0), start(1), call(0, 'ab'), call(1, 'cd'), call(0, 'e'), end(0), end(1)],
    ...[piece('refusal-delta', 'I refuse'), USAGE, ending('stop')],
  ]);
});

test('text held back until the end is part of the reported usage', () => {
  const said: StreamEvent = { type: 'text-delta', text: 'The EN' };
  expect(shaped([said, USAGE, ending('stop')], { stop: ['END'] })).toEqual([said, USAGE, ending('stop')]);
});

describe('an upstream that ignores its cap', () => {
  const report = (outputTokens: number): StreamEvent => ({
    type: 'usage-report',
    usage: { promptTokens: 12, cachedTokens: 0, outputTokens, reasoningTokens: 0, promptSource: 'reported', outputSource: 'reported' },
  });
  const said: StreamEvent = { type: 'text-delta', text: 'word' };

  const estimate: StreamEvent = {
    type: 'usage-report',
    usage: { promptTokens: 20, cachedTokens: 0, outputTokens: 100, reasoningTokens: 0, promptSource: 'estimated', outputSource: 'counted' },
  };

  test('ends by itself when it exceeds the cap slightly, billed at the cap', () => {
    expect(shaped([said, report(101), ending('stop')])).toEqual([said, report(100), ending('stop')]);
  });

  test('is cut by estimate, within a factor of two', () => {
    const much: StreamEvent = { type: 'text-delta', text: 'a'.repeat(4 * 264 + 1) };
    expect(shaped([much])).toEqual([much, estimate, ending('length')]);
  });

  test('is cut also when all of its text may become a stop sequence', () => {
    const shaper = new ReplyShaper(new UsageMeter({ promptTokensEstimate: 20, outputTokensMax: 100 }), {
      outputTokensMax: 100,
      stop: ['='.repeat(10_000)],
      mayBeEmpty: true,
    });
    const much = '='.repeat(4 * 264);
    expect(shaper.shape([{ type: 'text-delta', text: much }])).toEqual([]);
    expect(shaper.shape([{ type: 'text-delta', text: '=' }])).toEqual([
      { type: 'text-delta', text: `${much}=` },
      estimate,
      ending('length'),
    ]);
  });

  test('leaves no call open', () => {
    const start: StreamEvent = { type: 'tool-call-start', index: 0, callId: 'a', tool: { name: 'x' }, kind: 'function' };
    const end: StreamEvent = { type: 'tool-call-end', index: 0 };
    const part: StreamEvent = { type: 'tool-call-delta', index: 0, text: '{"a":' };
    const much: StreamEvent = { type: 'text-delta', text: 'a'.repeat(4 * 264) };
    expect(shaped([start, part, much])).toEqual([start, part, much, end, estimate, ending('length')]);
  });
});
