import { type Finding, judgeFailure, type ProbeResult } from '../probe-result.js';
import { type Check, count, inMs, no, unclear, yes } from './check.js';
import { COUNTING } from './streaming.js';

/** Larger contexts are tried only when the operator gives the size: a server that accepts the prompt bills it. */
const CONTEXT_TOKENS_UNASKED_MAX = 65_536;
/** Lines of a prefix that is long enough for caches with a minimum of 1,024 tokens. */
const PREFIX_LINES = 120;

/** Counts of one prompt differ by less than this part. */
const COUNT_TOLERANCE = 0.1;

export const limitChecks: Check[] = [
  {
    id: 'cached-tokens',
    title: 'reports cached tokens',
    async run(prober) {
      const probe = { turns: `${longPrefix()}\nSay yes.`, outputTokensMax: 16 };
      const first = await prober.send(probe);
      if (first.failure !== undefined) return unclear('the long prompt was not taken');
      const { kind } = prober.upstream;
      const isApart = prober.capabilities.cachedApart ?? kind === 'anthropic-messages';
      return judgeCached(first, await prober.send(probe), isApart);
    },
  },
  {
    id: 'context-error',
    title: 'a prompt too long is recognised',
    async run(prober, { context }) {
      if (context === undefined) return 'its context is not known: say --context-tokens';
      if (context.tokens > CONTEXT_TOKENS_UNASKED_MAX && !context.isFromOperator) {
        return `of ${count(context.tokens, 'token')}: to try it, say --context-tokens ${context.tokens}`;
      }
      const words = 'word '.repeat(Math.ceil(context.tokens * 1.25));
      return judgeContextError(await prober.send({ turns: `${words}\nSay yes.`, outputTokensMax: 16 }));
    },
  },
  {
    id: 'cancel',
    title: 'closes its socket after a cancel',
    run: async (prober) => judgeCancel(await prober.send({ turns: COUNTING, stream: true, leaveAtContent: true })),
  },
];

/** Returns a new prefix each time, so that the cache of an earlier run does not count. */
function longPrefix(): string {
  const nonce = Math.random().toString(36).slice(2);
  const lines = Array.from({ length: PREFIX_LINES }, (_, index) => `Rule ${index + 1} of ${nonce}: be short, be exact, and be friendly.`);
  return lines.join('\n');
}

/** One prompt has one count. If it falls with the cache, cached tokens are counted apart; if it grows, they have been added twice. */
export function judgeCached(first: ProbeResult, { failure, usage }: ProbeResult, isApart: boolean): Finding {
  if (failure !== undefined) return judgeFailure(failure);
  if (usage?.promptSource !== 'reported') return no('no usage');
  if (usage.cachedTokens === 0) return no(`none of ${count(usage.promptTokens, 'prompt token')}, sent twice`);
  const before = first.usage?.promptSource === 'reported' ? first.usage.promptTokens : usage.promptTokens;
  const growth = (usage.promptTokens - before) / before;
  if (growth < -COUNT_TOLERANCE && !isApart) return yes('counted apart from the prompt', { cachedApart: true });
  if (growth > COUNT_TOLERANCE && isApart) return yes('counted as a part of the prompt', { cachedApart: false });
  return yes(`${usage.cachedTokens.toLocaleString('en-US')} of ${count(usage.promptTokens, 'prompt token')}, sent twice`);
}

/** A recognised refusal reaches the client as its own fault (400), any other as ours (502). */
export function judgeContextError({ failure, usage }: ProbeResult): Finding {
  if (failure === undefined) {
    const tokens = usage?.promptSource === 'reported' ? `, counted as ${count(usage.promptTokens, 'token')}` : '';
    return no(`it takes the prompt${tokens}: it may cut it without a word`);
  }
  if (failure.code === 'context_length_exceeded') return yes(`refused with ${failure.status ?? 'an error in the reply'}, in known words`);
  const { verdict, evidence } = judgeFailure(failure);
  return verdict === 'unclear' ? unclear(evidence) : no(`${evidence}: not known as such, clients get 502`);
}

export function judgeCancel({ failure, contentAtMs, finishReason, closedAfterMs }: ProbeResult): Finding {
  if (failure !== undefined) return judgeFailure(failure);
  if (finishReason !== undefined || contentAtMs.length === 0) return unclear('the reply was over before it could be left');
  return closedAfterMs === undefined ? no('still open after 250 ms') : yes(`after ${inMs(closedAfterMs)}`);
}
