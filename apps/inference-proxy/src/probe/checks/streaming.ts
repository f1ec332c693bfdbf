import { type Exchange, type Finding, judgeFailure } from '../probe-result.js';
import { CHAT_ONLY, type Check, count, inMs, no, unclear, yes } from './check.js';

export const COUNTING = 'Count from one to forty in words, with a space between them. Write nothing else.';

/** A reply that takes longer than this is not written in one go: whoever sends it at once has held it back. */
const BURST_MS = 150;

export const streamingChecks: Check[] = [
  {
    id: 'stream',
    title: 'streams',
    async run(prober, notes) {
      const exchange = await prober.send({ turns: COUNTING, stream: true });
      if (exchange.failure === undefined) notes.stream = exchange;
      if (exchange.failure?.kind !== 'rejected' || !prober.capabilities.streamOptions) return judgeStream(exchange);
      // The next check says what it is that it does not take.
      const bare = await prober.send({ turns: COUNTING, stream: true, capabilities: { streamOptions: false } });
      if (bare.failure !== undefined) return judgeStream(exchange);
      notes.stream = bare;
      return { ...judgeStream(bare), learned: { streamOptions: false } };
    },
  },
  {
    id: 'stream-pieces',
    title: 'streams while it writes',
    async run(_prober, { stream }) {
      return stream === undefined ? 'it does not stream' : judgePieces(stream);
    },
  },
  {
    id: 'usage-plain',
    title: 'counts tokens of a plain reply',
    async run(prober) {
      return judgeUsage(await prober.send({ turns: 'Say yes.' }));
    },
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
    kinds: CHAT_ONLY,
    async run(prober, { stream }) {
      if (stream === undefined) return 'it does not stream';
      return judgeUsage(await prober.send({ turns: 'Say yes.', stream: true, capabilities: { streamOptions: false } }));
    },
  },
];

export function judgeStream({ failure, text, reasoning, usage, finishReason }: Exchange): Finding {
  if (failure !== undefined) return judgeFailure(failure);
  if (text === '' && reasoning === '') return no('a stream without text');
  const tokens = usage?.outputSource === 'reported' ? `${count(usage.outputTokens, 'token')}, ` : '';
  return yes(`${tokens}finish ${finishReason}`);
}

/** Whether content comes as it is written, or is held back by something in between. */
export function judgePieces({ contentAtMs }: Exchange): Finding {
  const first = contentAtMs[0] ?? 0;
  const spreadMs = (contentAtMs.at(-1) ?? 0) - first;
  if (contentAtMs.length > 2 && spreadMs > 0) return yes(`in ${count(contentAtMs.length, 'read')} over ${inMs(spreadMs)}`);
  if (first > BURST_MS) return no(`all at once after ${inMs(first)}: something in between collects it`);
  return unclear(`all of it within ${inMs(first + spreadMs)}: too fast to tell`);
}

export function judgeUsage({ failure, usage, text }: Exchange): Finding {
  if (failure !== undefined) return judgeFailure(failure);
  if (usage?.promptSource !== 'reported' || usage.outputSource !== 'reported') return no('no usage: it is estimated from the text');
  if (usage.promptTokens === 0 || (usage.outputTokens === 0 && text !== ''))
    return no('usage of zero tokens: it is estimated from the text');
  return yes(`${usage.promptTokens} prompt and ${usage.outputTokens} output tokens`);
}

/** Null when all came at once, or too fast to measure. */
export function tokensPerSecond({ contentAtMs, usage }: Exchange): number | null {
  const first = contentAtMs[0];
  const last = contentAtMs.at(-1);
  if (first === undefined || last === undefined || usage === undefined || last - first < 20) return null;
  return Math.round((usage.outputTokens / (last - first)) * 1_000);
}
