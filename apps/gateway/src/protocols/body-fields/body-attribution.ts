import { ATTRIBUTION_LENGTHS, normalizeValue } from '#contracts/billing/attribution.js';
import { TAGS_MAX } from '#contracts/rules/bounds.js';
import type { BodyAttribution } from '../protocol-adapter.js';
import { isObject, type JsonObject } from './body-fields.js';

/** Pairs of `metadata` that may be tags: more are ignored. */
const PAIRS_MAX = TAGS_MAX;
/** Characters of `metadata.user_id` that are read: several ids as JSON. */
const USER_ID_MAX = 1_024;
/** Length of a text before its form is known, in lengths of the value: spaces and invisible characters may surround it. */
const RAW_LENGTHS = 4;
/** `user_<digits>_account_<id>_session_<id>`, as older versions of Claude Code send it. */
const USER_WITH_SESSION = /^(user_.+?)_session_(.+)$/;

/**
 * Returns who a request is for, as its body says in any format. These fields are the clients' own: what is no text is ignored and what is
 * too long is cut, because a client that works elsewhere must work here.
 */
export function parseBodyAttribution(source: JsonObject): BodyAttribution | undefined {
  const { user, safety_identifier: safetyIdentifier, prompt_cache_key: promptCacheKey, metadata } = source;
  const pairs = isObject(metadata) ? metadata : undefined;
  const named = splitUserId(readText(pairs?.user_id, USER_ID_MAX));
  const found = {
    user: readText(safetyIdentifier, ATTRIBUTION_LENGTHS.user) ?? readText(user, ATTRIBUTION_LENGTHS.user) ?? named.user,
    session: named.session ?? readText(promptCacheKey, ATTRIBUTION_LENGTHS.session),
    metadata: pairs && parsePairs(pairs),
  };
  return found.user === undefined && found.session === undefined && found.metadata === undefined ? undefined : found;
}

/**
 * Returns the text in its one form, without control characters and halves of surrogate pairs, cut to `lengthMax`; undefined when nothing is
 * left.
 */
export function readText(value: unknown, lengthMax: number): string | undefined {
  if (typeof value !== 'string') return undefined;
  // Cut first: the form of a body of megabytes would take long.
  const text = value.slice(0, lengthMax * RAW_LENGTHS).replace(/\p{Cc}/gu, '');
  const cut = normalizeValue(text)
    .slice(0, lengthMax)
    .replace(/\p{Cs}/gu, '');
  return cut.trimEnd() || undefined;
}

/** Splits `metadata.user_id`. Claude Code sends its session within it, so that each session would be another user. */
function splitUserId(userId: string | undefined): Pick<BodyAttribution, 'user' | 'session'> {
  if (userId === undefined) return {};
  const [, user = userId, session] = USER_WITH_SESSION.exec(userId) ?? [];
  const named = userId.startsWith('{') ? parseObject(userId) : undefined;
  const of = (first: unknown, ...others: unknown[]): string | undefined =>
    readText(
      [first, ...others].find((one) => one !== undefined && one !== ''),
      ATTRIBUTION_LENGTHS.user,
    );
  return named
    ? { user: of(named.account_uuid, named.device_id), session: of(named.session_id) }
    : { user: of(user), session: of(session) };
}

/** Returns the object that a text contains as JSON. */
function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function parsePairs(metadata: JsonObject): Record<string, string> | undefined {
  const pairs = Object.entries(metadata)
    .filter(([name]) => name !== 'user_id')
    .slice(0, PAIRS_MAX)
    .flatMap(([name, value]) => {
      const text = readText(value, ATTRIBUTION_LENGTHS.tag);
      return text === undefined ? [] : [[name, text]];
    });
  return pairs.length > 0 ? Object.fromEntries(pairs) : undefined;
}
