import fc from 'fast-check';
import type { Upstream } from '#contracts/catalog.js';
import type { FinishReason } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';

/** Caps of the calls that these replies answer. */
export const CAPS = { outputTokensMax: 1_000, promptTokensEstimate: 20 };

export type Piece = { type: 'text'; text: string } | { type: 'thinking'; text: string } | CallPiece;

export interface CallPiece {
  type: 'call';
  id: string;
  name: string;
  text: string;
}

/** The meaning of a finish word. `none`: the word says that there is no finish yet. */
type Meaning = 'none' | 'unknown' | FinishReason | 'failure';

/** Worst last. */
const MEANINGS: readonly Meaning[] = ['none', 'unknown', 'stop', 'stop-sequence', 'tool-calls', 'length', 'content-filter', 'failure'];

/** Words that vendors, model servers and gateways send, in the spelling of one of them. */
const WORDS: Record<Exclude<Meaning, 'none'>, readonly string[]> = {
  unknown: ['other', 'went_well', 'natural'],
  stop: ['stop', 'end_turn', 'eos', 'complete', 'eos_token'],
  'stop-sequence': ['stop_sequence'],
  'tool-calls': ['tool_calls', 'tool_use', 'function_call', 'tool_call'],
  length: ['length', 'max_tokens', 'max_output_tokens', 'model_context_window_exceeded', 'token_limit', 'truncated', 'model_length'],
  'content-filter': ['content_filter', 'safety', 'guardrail_intervened', 'content_filtered', 'refusal', 'recitation', 'prohibited_content'],
  failure: ['error', 'cancelled', 'malformed_tool_use', 'malformed_function_call', 'network_error', 'insufficient_system_resource'],
};

interface Word {
  meaning: Meaning;
  said: string | null;
}

/** Counts of a reply as its vendor knows them. Thinking is part of the output, cached tokens are part of the prompt. */
interface Counts {
  prompt: number;
  cached: number;
  output: number;
  thinking: number;
}

/** Ways in which servers report the same counts, and reports that say nothing or nonsense. */
const USAGE_SHAPES = [
  'details',
  'bare',
  'digits',
  'thinking in the total',
  'thinking beside the output',
  'details of zero',
  'cached tokens beside the prompt',
  'total of something else',
  'above the cap',
  'beyond all numbers',
  'without the prompt',
  'without the output',
  'zeros',
  'nulls',
  'null',
  'absent',
  'nonsense',
] as const;
export type UsageShape = (typeof USAGE_SHAPES)[number];

/** Place of the usage. A dialect without such a place reports at its usual one. */
const USAGE_PLACES = ['with the finish', 'before the finish', 'after the finish', 'everywhere'] as const;

/** A reply of a vendor, in the words of no dialect. */
export interface VendorReply {
  pieces: Piece[];
  /** Word on the first piece of a stream, from servers that send one before the end. */
  early: Word;
  word: Word;
  counts: Counts;
  usage: UsageShape;
  usageAt: (typeof USAGE_PLACES)[number];
  /** Stands where counts belong, and is none. */
  nonsense: unknown;
  /** End marker of a stream. `second line`: in the event before it. */
  marker: 'own event' | 'second line' | 'none';
  error: 'none' | 'before the finish' | 'after the finish';
}

/** The form of a reply and the end of its bytes. */
export interface Delivery {
  isStream: boolean;
  end: 'closes' | 'breaks' | 'stays open' | 'stays open with heartbeats';
}

const words: fc.Arbitrary<Word> = fc.oneof(
  {
    weight: 1,
    arbitrary: fc.constantFrom(null, '', 'null', 'FINISH_REASON_UNSPECIFIED').map((said) => ({ meaning: 'none', said }) as const),
  },
  {
    weight: 5,
    arbitrary: fc
      .tuple(fc.constantFrom(...MEANINGS.slice(1)), fc.nat(), fc.constantFrom('', 'upper', 'camel', 'dashes', 'prefix'))
      .map(([meaning, nth, spelling]) => {
        const all = WORDS[meaning as keyof typeof WORDS];
        return { meaning, said: spell(all[nth % all.length] as string, spelling) };
      }),
  },
);

function spell(word: string, spelling: string): string {
  if (spelling === 'upper') return word.toUpperCase();
  if (spelling === 'camel') return word.replace(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase());
  if (spelling === 'dashes') return word.replaceAll('_', '-');
  return spelling === 'prefix' ? `FINISH_REASON_${word.toUpperCase()}` : word;
}

const said = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 });
const pieces: fc.Arbitrary<Piece[]> = fc
  .array(
    fc.oneof(
      fc.record({ type: fc.constantFrom('text' as const, 'thinking' as const), text: said }),
      fc.record({ type: fc.constant('call' as const), value: fc.nat() }),
    ),
    { maxLength: 4 },
  )
  .map((all) =>
    all.map((piece, n) =>
      piece.type === 'call' ? { type: 'call', id: `call_${n}`, name: 'run', text: JSON.stringify({ n: piece.value }) } : piece,
    ),
  );

const counts: fc.Arbitrary<Counts> = fc
  .record({
    prompt: fc.integer({ min: 1, max: 500 }),
    cached: fc.nat(500),
    output: fc.integer({ min: 2, max: 400 }),
    thinking: fc.nat(400),
  })
  .map(({ prompt, cached, output, thinking }) => ({ prompt, output, cached: cached % prompt, thinking: thinking % output }));

const replies: fc.Arbitrary<VendorReply> = fc
  .record({
    pieces,
    early: fc.oneof({ weight: 4, arbitrary: fc.constant<Word>({ meaning: 'none', said: null }) }, { weight: 1, arbitrary: words }),
    word: words,
    counts,
    usage: fc.constantFrom(...USAGE_SHAPES),
    usageAt: fc.constantFrom(...USAGE_PLACES),
    nonsense: fc.jsonValue({ maxDepth: 1 }).filter((value) => typeof value === 'object' || !(Number(value) > 0)),
    marker: fc.constantFrom('own event' as const, 'second line' as const, 'none' as const),
    error: fc.oneof(
      { weight: 6, arbitrary: fc.constant('none' as const) },
      { weight: 1, arbitrary: fc.constantFrom('before the finish' as const, 'after the finish' as const) },
    ),
  })
  .map((reply) => (reply.word.meaning === 'none' ? { ...reply, early: { meaning: 'none', said: null } } : reply));

const deliveries: fc.Arbitrary<Delivery> = fc.record({
  isStream: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
  end: fc.constantFrom('closes', 'breaks', 'stays open', 'stays open with heartbeats'),
});

/** Replies in every form, with cuts of their bytes. Without replies that stay open before their end: the idle timeouts are for those. */
export function vendorReplies(
  kind: Upstream['kind'],
): fc.Arbitrary<{ reply: VendorReply; delivery: Delivery; cuts: number[]; stream: boolean }> {
  return fc
    .record({ reply: replies, delivery: deliveries, cuts: fc.array(fc.nat(), { maxLength: 3 }), stream: fc.boolean() })
    .filter(({ reply, delivery }) => !delivery.end.startsWith('stays open') || isOver(kind, reply, delivery));
}

/**
 * True when nothing is missing from a reply. A natural finish in chat that comes without content and usage is none: some servers send one
 * on their first chunk.
 */
function isOver(kind: Upstream['kind'], reply: VendorReply, { isStream }: Delivery): boolean {
  if (!isStream || reply.error === 'before the finish') return true;
  if (kind !== 'openai-responses' && (reply.marker !== 'none' || reply.error !== 'none')) return true;
  if (reply.word.meaning === 'none') return false;
  const isNatural = MEANINGS.indexOf(reply.word.meaning) <= MEANINGS.indexOf('tool-calls');
  return kind !== 'openai-chat' || reply.pieces.length > 0 || !isNatural || hasCounts(reply);
}

/** The end that the client must get. */
export type ExpectedEnd = { failed: true } | { reason: FinishReason; usage: Usage };

const FAILED = { failed: true } as const;

/** Returns the end that a reply must have. The client gets a good end only where the vendor's words say so. */
export function expectedEnd(kind: Upstream['kind'], reply: VendorReply, { isStream, end }: Delivery): ExpectedEnd {
  const isResponses = kind === 'openai-responses';
  const isMarked = !isStream || (reply.marker !== 'none' && !isResponses);
  if (reply.error !== 'none' && !(isStream && isResponses && reply.error === 'after the finish' && reply.word.meaning !== 'none'))
    return FAILED;
  const hasEarly = isStream && !isResponses && reply.pieces.length > 0;
  const meaning = worst(hasEarly ? reply.early.meaning : 'none', reply.word.meaning);
  if (meaning === 'failure') return FAILED;
  if (meaning === 'none' && (isResponses || !isMarked || reply.pieces.length === 0)) return FAILED;
  // Broken after its finish, a stream has all that it was to have when its usage has come too.
  if (end === 'breaks' && isStream && !isResponses && !isMarked && !hasCounts(reply)) return FAILED;
  const reason = findReason(
    kind,
    meaning,
    reply.pieces.some(({ type }) => type === 'call'),
  );
  if (reason === 'stop' && reply.pieces.length === 0) return FAILED;
  return { reason, usage: expectedUsage(kind, reply) };
}

function worst(one: Meaning, other: Meaning): Meaning {
  return MEANINGS.indexOf(one) > MEANINGS.indexOf(other) ? one : other;
}

function findReason(kind: Upstream['kind'], meaning: Meaning, hasCalls: boolean): FinishReason {
  if (meaning === 'length' || meaning === 'content-filter') return meaning;
  // An incomplete response is cut, whatever its reason is called.
  if (meaning === 'unknown' && kind === 'openai-responses') return 'length';
  if (hasCalls) return 'tool-calls';
  return meaning === 'stop-sequence' && kind !== 'openai-responses' ? meaning : 'stop';
}

/** True when the report of a reply counts something. */
function hasCounts({ usage }: VendorReply): boolean {
  return !['zeros', 'nulls', 'null', 'absent', 'nonsense'].includes(usage);
}

/** Returns the bill of a good reply: what its vendor has counted, within the cap, and estimates of what it has not. */
function expectedUsage(kind: Upstream['kind'], { pieces: all, counts: { prompt, cached, output, thinking }, usage }: VendorReply): Usage {
  const bytes = all.reduce((sum, piece) => sum + Buffer.byteLength(piece.text) + (piece.type === 'call' ? piece.name.length : 0), 0);
  const thoughts = all.reduce((sum, piece) => sum + (piece.type === 'thinking' ? Buffer.byteLength(piece.text) : 0), 0);
  const reported: Usage = { promptTokens: prompt, cachedTokens: 0, outputTokens: output, reasoningTokens: 0, ...SOURCES };
  const isEstimated = { outputTokens: Math.ceil(bytes / 4), reasoningTokens: Math.ceil(thoughts / 4), outputSource: 'counted' } as const;
  const hasTotal = kind !== 'anthropic-messages';
  switch (usage) {
    case 'details':
      return { ...reported, cachedTokens: cached, reasoningTokens: saysThinking(kind) ? thinking : 0 };
    case 'bare':
    case 'digits':
    case 'total of something else':
      return reported;
    case 'thinking in the total':
    case 'thinking beside the output':
    case 'details of zero':
      return hasTotal ? { ...reported, reasoningTokens: thinking } : reported;
    case 'cached tokens beside the prompt':
      return hasTotal ? { ...reported, cachedTokens: cached } : reported;
    case 'above the cap':
      return { ...reported, outputTokens: CAPS.outputTokensMax };
    case 'beyond all numbers':
      return { ...reported, promptTokens: 2 ** 31 - 1, outputTokens: CAPS.outputTokensMax };
    case 'without the prompt':
      return { ...reported, promptTokens: CAPS.promptTokensEstimate, promptSource: 'estimated' };
    case 'without the output':
      return bytes > 0 ? { ...reported, ...isEstimated } : { ...reported, outputTokens: 0 };
    case 'zeros':
    case 'nulls':
    case 'null':
    case 'absent':
    case 'nonsense':
      return { ...reported, ...isEstimated, promptTokens: CAPS.promptTokensEstimate, promptSource: 'estimated' };
  }
}

/** True for dialects with a count of thinking; in others it shows only where it stands in the total alone. */
export function saysThinking(kind: Upstream['kind']): boolean {
  return kind !== 'bedrock-converse';
}

const SOURCES = { promptSource: 'reported', outputSource: 'reported' } as const;
