import type { FinishReason } from '#inference/stream-event.js';
import { UpstreamFailure } from '../../failures/upstream-failure.js';
import type { UpstreamCall } from '../upstream-adapter.js';
import { NO_REASON } from './json-object.js';

/** Meaning of a finish word, worst last: of several words the worst counts. */
const MEANINGS = ['stop', 'stop-sequence', 'tool-calls', 'length', 'content-filter', 'failure', 'capacity'] as const;
type Meaning = (typeof MEANINGS)[number];

/**
 * Words of all vendors and dialects for the end of a reply, in lower case with underscores. Servers mix them freely: a gateway in front
 * of a model passes on the words of the model's vendor. A pattern matches a whole word, or parts of one such as
 * `function_call_filter: MALFORMED_FUNCTION_CALL`.
 */
const WORDS: readonly [Meaning, RegExp][] = [
  ['capacity', /^(?:insufficient_system_resource|engine_overloaded|overloaded)/],
  [
    'failure',
    /^(?:abort|error|cancel|fail|interrupt|time_?out|timed_out|network_error|internal_|server_error|exception)|^malformed|_error$/,
  ],
  ['failure', /^(?:unexpected_tool_call|too_many_tool_calls|invalid_)/],
  [
    'content-filter',
    /filter|safety|guardrail|moderat|^(?:sensitive|recitation|refus|block|prohibited|spii|policy|content_policy|language$)/,
  ],
  [
    'length',
    /^(?:length|max_|model_length|pause_turn|incomplete|truncat|too_long|cut_off)|context_(?:window|length)|token_limit|(?:^|_)max_(?:\w+_)?tokens|length_limit|_limit_reached$/,
  ],
  ['tool-calls', /^(?:tool_(?:calls?|uses?)|function_calls?)$/],
  ['stop-sequence', /^stop_(?:sequence|string)s?$/],
  [
    'stop',
    /^(?:stop(?:ped)?|eos(?:_token)?|eot|end(?:_turn|_of_(?:turn|text|message))?|endoftext|complete[d]?|finish(?:ed)?|done|success|stop_(?:token|criteria))$/,
  ],
];

/**
 * Returns the finish reason that a word of an upstream means; undefined while it means none. A word that no table has is reported and
 * counts as a stop: with content the reply ends as its upstream says, without content it has failed. Throws `UpstreamFailure` for a word
 * that reports a failure.
 */
export function readFinishWord(word: unknown, { onOddity }: Pick<UpstreamCall, 'onOddity'>): FinishReason | undefined {
  if (typeof word !== 'string' || NO_REASON.test(word)) return undefined;
  const meaning = meaningOf(word);
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

function meaningOf(word: string): Meaning | undefined {
  const name = word
    .trim()
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[\s-]+/g, '_');
  const parts = [name, ...name.split(/[:.,;/|]_?/)].map((part) => part.replace(/^(?:finish|stop)_reason_/, ''));
  const found = parts.flatMap((part) => WORDS.find(([, pattern]) => pattern.test(part))?.[0] ?? []);
  return found.sort((a, b) => MEANINGS.indexOf(b) - MEANINGS.indexOf(a))[0];
}

/** Returns a word that can be logged: servers that fill in the field wrongly may put text of the model there. */
function clean(word: string): string {
  return /^[\w :.,;/|-]{1,100}$/.test(word) ? word : 'of no known form';
}
