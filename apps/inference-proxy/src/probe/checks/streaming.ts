import { type Finding, judgeFailure, type ProbeResult } from '../probe-result.js';
import { type Check, count, inMs, no, unclear, yes } from './check.js';

export const COUNTING = 'Count from one to forty in words, with a space between them. Write nothing else.';

/** A model takes longer than this to write the reply: if it arrives at once, a proxy has buffered it. */
const BURST_MS = 150;

export const streamingChecks: Check[] = [
  {
    id: 'stream',
    title: 'streams',
    async run(prober, notes) {
      const result = await prober.send({ turns: COUNTING, stream: true });
      if (result.failure === undefined) notes.stream = result;
      if (result.failure?.kind !== 'rejected' || !prober.capabilities.streamOptions) return judgeStream(result);
      // A later check reports that the upstream refuses `stream_options`.
      const bare = await prober.send({ turns: COUNTING, stream: true, capabilities: { streamOptions: false } });
      if (bare.failure !== undefined) return judgeStream(result);
      notes.stream = bare;
      return { ...judgeStream(bare), learned: { streamOptions: false } };
    },
  },
  {
    id: 'stream-pieces',
    title: 'streams while it writes',
    run: async (_prober, { stream }) => (stream === undefined ? 'it does not stream' : judgePieces(stream)),
  },
  {
    id: 'usage-plain',
    title: 'counts tokens of a plain reply',
    run: async (prober) => judgeUsage(await prober.send({ turns: 'Say yes.' })),
  },
  {
    id: 'usage-stream',
    title: 'counts tokens of a stream',
    async run(prober, { stream }) {
      if (stream === undefined) return 'it does not stream';
      if (prober.upstream.kind === 'openai-chat' && !prober.capabilities.streamOptions) {
        return no('it does not take stream_options: usage is estimated from the text');
      }
      return judgeUsage(stream);
    },
  },
  {
    id: 'usage-unasked',
    title: 'counts without stream_options',
    async run(prober, { stream }) {
      if (stream === undefined) return 'it does not stream';
      return judgeUsage(await prober.send({ turns: 'Say yes.', stream: true, capabilities: { streamOptions: false } }));
    },
  },
];

export function judgeStream({ failure, text, reasoning, usage, finishReason }: ProbeResult): Finding {
  if (failure !== undefined) return judgeFailure(failure);
  if (text === '' && reasoning === '') return no('a stream without text');
  const tokens = usage?.outputSource === 'reported' ? `${count(usage.outputTokens, 'token')}, ` : '';
  return yes(`${tokens}finish ${finishReason}`);
}

/** Judges whether content arrives as it is written or is buffered on the way. */
export function judgePieces({ contentAtMs }: ProbeResult): Finding {
  const first = contentAtMs[0] ?? 0;
  const spreadMs = (contentAtMs.at(-1) ?? 0) - first;
  if (contentAtMs.length > 2 && spreadMs > 0) return yes(`in ${count(contentAtMs.length, 'read')} over ${inMs(spreadMs)}`);
  if (first > BURST_MS) return no(`all at once after ${inMs(first)}: a proxy in between buffers it`);
  return unclear(`all of it within ${inMs(first + spreadMs)}: too fast to tell`);
}

export function judgeUsage({ failure, usage, text }: ProbeResult): Finding {
  if (failure !== undefined) return judgeFailure(failure);
  if (usage?.promptSource !== 'reported' || usage.outputSource !== 'reported') return no('no usage: it is estimated from the text');
  if (usage.promptTokens === 0 || (usage.outputTokens === 0 && text !== ''))
    return no('usage of zero tokens: it is estimated from the text');
  return yes(`${usage.promptTokens} prompt and ${usage.outputTokens} output tokens`);
}

/** Null when the reply came at once, or too fast to measure. */
export function tokensPerSecond({ contentAtMs, usage }: ProbeResult): number | null {
  const first = contentAtMs[0];
  const last = contentAtMs.at(-1);
  if (first === undefined || last === undefined || usage === undefined || last - first < 20) return null;
  return Math.round((usage.outputTokens / (last - first)) * 1_000);
}
