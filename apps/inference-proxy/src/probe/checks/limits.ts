import { DIALECTS } from '#contracts/dialects.js';
import type { Turn } from '#inference/turn.js';
import { type Finding, judgeFailure, type ProbeResult } from '../probe-result.js';
import { type Check, count, inMs, no, says, unclear, yes } from './check.js';
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
    async run(prober, notes) {
      const turns = longConversation();
      const probe = { turns, outputTokensMax: 16 };
      const first = await prober.send(probe);
      const asksForCache = DIALECTS[prober.upstream.kind].cachesMarked && prober.capabilities.promptCache !== 'off';
      if (first.failure?.kind === 'rejected' && asksForCache) return judgeMarkers(await prober.send({ ...probe, capabilities: UNMARKED }));
      if (first.failure !== undefined) return unclear('the long prompt was not taken');
      const isApart = prober.capabilities.cachedApart ?? DIALECTS[prober.upstream.kind].countsCacheApart;
      const second = await prober.send(probe);
      notes.caches = isHit(second);
      return judgeCached(first, second, isApart);
    },
  },
  {
    id: 'cache-key',
    title: 'keeps caches apart',
    async run(prober, { caches }) {
      if (caches !== true) return 'it reports no cached tokens';
      const turns = longConversation();
      const send = (cacheKey: CacheField | 'none'): Promise<ProbeResult> =>
        prober.send({ turns, outputTokensMax: 16, capabilities: { cacheKey } });
      await send('none');
      if (!isHit(await send('none'))) return 'it caches nothing without a key';
      const results: CacheTrial[] = [];
      for (const field of CACHE_FIELDS) {
        const first = await send(field);
        results.push(isMiss(first) ? { field, first, without: await send('none'), again: await send(field) } : { field, first });
        if (keepsApart(results.at(-1))) break;
      }
      return judgeCacheKey(results);
    },
  },
  {
    id: 'context-error',
    title: 'a prompt too long is recognised',
    async run(prober, { context }) {
      if (context === undefined) return 'its context is not known; tollgate upstreams test --context-tokens names it';
      if (context.tokens > CONTEXT_TOKENS_UNASKED_MAX && !context.isFromOperator) {
        return `of ${count(context.tokens, 'token')}: too long to send unasked; tollgate upstreams test --context-tokens ${context.tokens} does`;
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

/** Returns another conversation each time, so that the cache of an earlier run does not count. */
function longConversation(): Turn[] {
  const nonce = Math.random().toString(36).slice(2);
  const lines = Array.from({ length: PREFIX_LINES }, (_, index) => `Rule ${index + 1} of ${nonce}: be short, be exact, and be friendly.`);
  return [says('user', lines.join('\n')), says('assistant', 'Yes.'), says('user', 'Say yes.')];
}

const UNMARKED = { promptCache: 'off' } as const;

/** Judges the prompt without markers after it was refused with them. */
export function judgeMarkers({ failure }: ProbeResult): Finding {
  return failure === undefined ? no('cache_control is refused', UNMARKED) : unclear('the long prompt was not taken');
}

/** Fields that keep caches apart. Servers that know the first ignore the second. */
const CACHE_FIELDS = ['cache_salt', 'prompt_cache_key'] as const;
type CacheField = (typeof CACHE_FIELDS)[number];

/** Replies to a prompt that is cached without a field: with the field, and if that was no hit, without and with it again. */
interface CacheTrial {
  field: CacheField;
  first: ProbeResult;
  without?: ProbeResult;
  again?: ProbeResult;
}

const isCounted = ({ failure, usage }: ProbeResult): boolean => failure === undefined && usage?.promptSource === 'reported';
const isHit = (result: ProbeResult): boolean => isCounted(result) && (result.usage?.cachedTokens ?? 0) > 0;
const isMiss = (result: ProbeResult): boolean => isCounted(result) && result.usage?.cachedTokens === 0;

/** True when the field names another cache, and the miss was none by chance: both caches have the prompt afterwards. */
function keepsApart(trial: CacheTrial | undefined): boolean {
  return trial?.without !== undefined && trial.again !== undefined && isMiss(trial.first) && isHit(trial.without) && isHit(trial.again);
}

/** Judges the trial of each field. One that is taken without an effect may be unknown: many servers accept any field. */
export function judgeCacheKey(trials: readonly CacheTrial[]): Finding {
  const working = trials.find(keepsApart);
  if (working !== undefined) return yes(`by ${working.field}`, { cacheKey: working.field });
  const isTaken = trials.some(({ first }) => first.failure === undefined);
  return isTaken ? unclear('taken, but it is not seen to keep them apart') : no('no field for it is taken');
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
