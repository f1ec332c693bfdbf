import { ATTRIBUTION_LENGTHS, normalizeValue } from '#contracts/billing/attribution.js';
import { POLICY_SENTENCE_LENGTH_MAX, POLICY_SPANS_MAX, type PolicyVerdict, type RedactedSpan } from '#contracts/policy.js';
import { TAG_NAME, TAGS_MAX, TOKENS_MAX } from '#contracts/rules/bounds.js';

type Checked = Record<string, unknown>;

const FIELDS = {
  allow: new Set(['verdict', 'redact', 'outputTokensMax', 'tags']),
  deny: new Set(['verdict', 'message']),
};
const SPAN_FIELDS = new Set(['text', 'start', 'end']);
/** One line, without characters that a client's terminal acts on. */
const SENTENCE = new RegExp(`^[^\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}]{1,${POLICY_SENTENCE_LENGTH_MAX}}$`, 'u');
const TAG_VALUE = new RegExp(`^[^\\p{Cc}\\p{Cs}]{1,${ATTRIBUTION_LENGTHS.tag}}$`, 'u');

/** Returns the reply of a policy if it is a verdict in every field, or else undefined. A program that is not trusted has sent it. */
export function readVerdict(reply: unknown): PolicyVerdict | undefined {
  if (!isObject(reply)) return undefined;
  const { verdict } = reply;
  if (verdict !== 'allow' && verdict !== 'deny') return undefined;
  if (!hasOnly(reply, FIELDS[verdict])) return undefined;
  if (verdict === 'deny') return isSentence(reply.message) ? { verdict, message: reply.message } : undefined;
  const { redact, outputTokensMax, tags } = reply;
  const areTagsValid = tags === undefined || isObject(tags);
  if (!isSpans(redact) || !isCap(outputTokensMax) || !areTagsValid) return undefined;
  const read = tags === undefined ? undefined : readTags(tags);
  if (tags !== undefined && read === undefined) return undefined;
  return { verdict, ...(redact && { redact }), ...(outputTokensMax !== undefined && { outputTokensMax }), ...(read && { tags: read }) };
}

function isObject(value: unknown): value is Checked {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function hasOnly(value: Checked, fields: ReadonlySet<string>): boolean {
  return Object.keys(value).every((name) => fields.has(name));
}

function isSentence(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '' && SENTENCE.test(value);
}

function isSpans(value: unknown): value is RedactedSpan[] | undefined {
  return value === undefined || (Array.isArray(value) && value.length <= POLICY_SPANS_MAX && value.every(isSpan));
}

function isSpan(value: unknown): value is RedactedSpan {
  if (!isObject(value) || !hasOnly(value, SPAN_FIELDS)) return false;
  const { text, start, end } = value;
  return isIndex(text) && isIndex(start) && isIndex(end) && start < end;
}

function isIndex(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isCap(value: unknown): value is number | undefined {
  return value === undefined || (isIndex(value) && value >= 1 && value <= TOKENS_MAX);
}

/** Returns the tags in the form in which budgets compare them; undefined when one is not valid. */
function readTags(tags: Checked): Record<string, string> | undefined {
  const entries = Object.entries(tags).map(([name, value]) => [name, typeof value === 'string' ? normalizeValue(value) : value] as const);
  const isValid = ([name, value]: readonly [string, unknown]): boolean =>
    TAG_NAME.test(name) && typeof value === 'string' && TAG_VALUE.test(value);
  return entries.length <= TAGS_MAX && entries.every(isValid) ? (Object.fromEntries(entries) as Record<string, string>) : undefined;
}
