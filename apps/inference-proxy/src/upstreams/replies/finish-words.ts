import type { FinishReason } from '#inference/stream-event.js';
import { UpstreamFailure } from '../../failures/upstream-failure.js';
import type { UpstreamCall } from '../upstream-adapter.js';
import { NO_REASON } from './json-object.js';

/** Meaning of a finish word, worst last: of several words the worst counts. */
const MEANINGS = ['stop', 'stop-sequence', 'tool-calls', 'length', 'content-filter', 'failure', 'capacity'] as const;
type Meaning = (typeof MEANINGS)[number];

/**
 * Words of all vendors and dialects for the end of a reply, in lower case with underscores. Servers mix them freely: a gateway in front
 * of a model passes on the words of the model's vendor. The first pattern that matches counts; a word such as
 * `function_call_filter: MALFORMED_FUNCTION_CALL` is read in its parts too.
 */
const WORDS: readonly [Meaning, RegExp][] = [
  // Words that deny a failure or a filter, and the ends of other things.
  ['stop', /^(?:no|non|none|without)_(?:error|failure|filter|block|refusal|violation)s?$|(?:filter|moderation|guardrail|safety)s?_off$/],
  ['stop', /^(?:un(?:blocked|filtered)|stop(?:ping)?_policy|(?:\w+_)?block_(?:stop|end)|end_of_block)$/],
  // Vendors' names for a filter and a limit that look like failures.
  ['content-filter', /^error_toxic|inspection_failed/],
  ['length', /^error_limit/],
  ['capacity', /overload|throttl|(?:^|_)rate_?limit|too_many_requests|insufficient_system|capacity|(?:^|_)busy$/],
  ['failure', /^(?:abort|error|cancel|fail|interrupt|time_?out|timed_out|network_|internal_|server_error|exception|deadline)/],
  ['failure', /^(?:malformed|unexpected_|invalid|missing_|too_many_tool|crash|kill|terminated|shut_?down|disconnect|preempt|evict)/],
  ['failure', /_(?:error|fail(?:ed|ure)|abort(?:ed)?|cancel(?:l?ed)?|time_?out|lost|reset|disconnect(?:ed)?)$|out_of_memory|unavailable/],
  ['content-filter', /filter|safety|unsafe|guardrail|moderat|toxic|harmful|censor|prohibit|recitation|copyright|jailbreak|model_armor/],
  [
    'content-filter',
    /(?:^|_)block(?:ed|_?list(?:ed)?)?(?:_|$)|deny_?list|flagged|violat|policy|sensitive|refus|responsible_ai|(?:^|_)(?:hate|pii|risk|spii)(?:_|$)|^language$/,
  ],
  ['length', /(?:^|_)(?:length|max|maximum|limit(?:ed)?|budget|context|ctx|incomplete|partial|pause|repetition)(?:_|$)/],
  ['length', /truncat|too_long|cut_?off|too_many_(?:\w+_)?tokens|out_of_tokens|tokens_exhausted|num_predict|cache_full/],
  ['tool-calls', /(?:^|_)(?:tool|function|mcp)_(?:call|use)s?$|^(?:tool|function)s?$/],
  [
    'stop-sequence',
    /^(?:(?:stop|stopped|matched|user)_)*(?:stop_)?(?:sequence|string|str|word)s?(?:_(?:reached|hit|matched|found))?$|^matched_stop$/,
  ],
  ['stop', /^(?:stop(?:ped)?|stop(?:ped)?_(?:token|criteria|eos)(?:_\w+)?|eos(?:_\w+)?|eot(?:_\w+)?|im_end|end(?:ed|_turn)?|end_of_\w+)$/],
  ['stop', /^(?:endoftext|complete[d]?|finish(?:ed)?|done|success|normal|natural(?:_stop|_end)?|end_message)$/],
];

/**
 * Returns the finish reason that a word of an upstream means; undefined while it means none. A word that no table has is reported and
 * counts as a stop: with content the reply ends as its upstream says, without content it has failed. Throws `UpstreamFailure` for a word
 * that reports a failure.
 */
export function readFinishWord(word: unknown, { onOddity }: Pick<UpstreamCall, 'onOddity'>): FinishReason | undefined {
  if (typeof word !== 'string' || NO_REASON.test(word)) return undefined;
  const meaning = isText(word) ? undefined : findMeaning(word);
  if (meaning === 'failure' || meaning === 'capacity') {
    const detail = `finish reason ${clean(word)}`;
    if (meaning === 'capacity') throw new UpstreamFailure('refused', 'model_capacity', { detail });
    throw new UpstreamFailure('broken', 'upstream_error', { detail });
  }
  if (meaning === undefined) onOddity?.({ kind: 'unknown-finish', detail: clean(word) });
  return meaning ?? 'stop';
}

/** Returns the worse of two finish reasons: servers that send several begin with `stop`. */
export function worseReason(one: FinishReason | undefined, other: FinishReason | undefined): FinishReason | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return MEANINGS.indexOf(one) >= MEANINGS.indexOf(other) ? one : other;
}

function findMeaning(word: string): Meaning | undefined {
  const name = word
    .trim()
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[\s-]+/g, '_');
  const parts = [name, ...name.split(/[:.,;/|]_?/)].map((part) => part.replace(/^(?:\w{1,16}_)?reason_/, ''));
  const found = parts.flatMap((part) => WORDS.find(([, pattern]) => pattern.test(part))?.[0] ?? []);
  return found.sort((a, b) => MEANINGS.indexOf(b) - MEANINGS.indexOf(a))[0];
}

/** True for text, which servers that fill in the field wrongly may take from the model: its words mean nothing here. */
function isText(word: string): boolean {
  return word.length > 64 || word.trim().split(/\s+/, 5).length === 5;
}

/** Returns a word that can be logged. */
function clean(word: string): string {
  return !isText(word) && /^[\w :.,;/|-]+$/.test(word) ? word : 'of no known form';
}
