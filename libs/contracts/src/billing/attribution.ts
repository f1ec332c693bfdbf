import { ValidateBy } from 'class-validator';

/**
 * Who a request was for, by dimension: `user`, `client`, `session`, and `tag:<name>` for each tag. Dimensions that a request does not name
 * are absent.
 */
export type Attribution = Record<string, string>;

/** Most characters of each value. Longer ones would make the journal grow with what clients send. */
export const ATTRIBUTION_LENGTHS = { user: 256, client: 64, session: 256, tag: 128 } as const;
/** Tags of one request. */
export const TAGS_MAX = 16;
/** Letters and digits first, so that a name is never empty, a sign or an option of a command. */
export const TAG_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
/** A dimension that users of an account can be told apart by: the end user, or a tag. */
export const BUDGET_DIMENSION = /^(user|tag:[A-Za-z0-9][A-Za-z0-9._-]{0,63})$/;

const DIMENSION = /^(user|client|session|tag:[A-Za-z0-9][A-Za-z0-9._-]{0,63})$/;
/** No control characters and no halves of surrogate pairs: Postgres stores neither NUL nor a half. */
const VALUE = /^[^\p{Cc}\p{Cs}]{1,256}$/u;
const ENTRIES_MAX = 3 + TAGS_MAX;

/** An `Attribution` with known dimensions, at most 16 tags, and values of 1 to 256 characters. */
export function AttributionOf(): PropertyDecorator {
  const message = `$property must have up to ${TAGS_MAX} tags and texts of 1 to 256 characters`;
  return ValidateBy({ name: 'isAttribution', validator: { validate: isAttribution } }, { message });
}

/** The value of a dimension. */
export function AttributionValue(): PropertyDecorator {
  const message = '$property must be a text of 1 to 256 characters without control characters';
  return ValidateBy({ name: 'isAttributionValue', validator: { validate: isValue } }, { message });
}

/** True for a list of at most 16 names of tags. */
export function isTagNames(value: unknown): boolean {
  return Array.isArray(value) && value.length <= TAGS_MAX && value.every((name) => typeof name === 'string' && TAG_NAME.test(name));
}

/** Names of tags. */
export function TagNames(): PropertyDecorator {
  const message = `$property must be up to ${TAGS_MAX} names of letters, digits, points, hyphens and underscores`;
  return ValidateBy({ name: 'isTagNames', validator: { validate: isTagNames } }, { message });
}

function isAttribution(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const entries = Object.entries(value);
  return entries.length <= ENTRIES_MAX && entries.every(([dimension, text]) => DIMENSION.test(dimension) && isValue(text));
}

function isValue(text: unknown): boolean {
  return typeof text === 'string' && VALUE.test(text);
}
