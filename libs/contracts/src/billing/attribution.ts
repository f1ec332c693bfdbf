import { Transform } from 'class-transformer';
import { ValidateBy } from 'class-validator';
import { TAG_NAME, TAGS_MAX } from '../rules/bounds.js';
import { CHILD_PATH } from '../rules/child-path.js';

/**
 * Names that a request is attributed to, by dimension: `user`, `client`, `session`, `agent`, the `parent-agent` that started it, the `child`
 * key that made it (see `CHILD_PATH`), `tag:<name>` for each tag, and the `policy` that was asked about it, with the
 * `policy-verdict`. Dimensions that a request does not name are absent.
 */
export type Attribution = Record<string, string>;

/** Most characters of each value. Longer ones would make the journal grow with what clients send. */
export const ATTRIBUTION_LENGTHS = { user: 256, client: 64, session: 256, agent: 256, tag: 128 } as const;
/** The agent that started the agent of a request. It says where the agent is in the tree, so that no budget is of it. */
export const PARENT_AGENT = 'parent-agent';
/** The child key of a request, with its chain. A budget of it counts a request for each child key of the chain. */
export const CHILD = 'child';
/** The policy that was asked before the hold, and what it said: `allowed`, `changed` or `denied`, or `failed-open` or `failed-closed`. */
export const POLICY = 'policy';
export const POLICY_VERDICT = 'policy-verdict';
/** Dimensions that no budget is of. */
const UNBUDGETED: ReadonlySet<string> = new Set([PARENT_AGENT, POLICY, POLICY_VERDICT]);
/** A dimension: `user`, `client`, `session`, `agent`, `child` or `tag:<name>`. A budget may count each of its values for itself. */
export const DIMENSION = /^(user|client|session|agent|child|tag:[A-Za-z0-9][A-Za-z0-9._-]{0,63})$/;
/** No control characters and no halves of surrogate pairs: Postgres stores neither NUL nor a half. */
const VALUE = /^[^\p{Cc}\p{Cs}]{1,256}$/u;
const ENTRIES_MAX = 8 + TAGS_MAX;
/** Printable ASCII without outer spaces, which is its own normal form. */
const PLAIN = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu;

/**
 * Returns the one form of a value, so that texts that look the same are one user of a budget: without invisible characters, in Unicode's
 * normal form NFKC, and trimmed. Nothing may be left. Upper and lower case stay different, because ids use both.
 */
export function normalizeValue(text: string): string {
  return PLAIN.test(text) ? text : text.replace(INVISIBLE, '').normalize('NFKC').trim();
}

/** An `Attribution` with known dimensions, at most 16 tags, and values of 1 to 256 characters. A value of which nothing is left is absent. */
export function AttributionOf(): PropertyDecorator {
  const message = `$property must have up to ${TAGS_MAX} tags and texts of 1 to 256 characters`;
  const isValid = ValidateBy({ name: 'isAttribution', validator: { validate: isAttribution } }, { message });
  const normalize = Transform(({ value }: { value: unknown }) => (isMap(value) ? normalizeValues(value) : value));
  return (target, property) => {
    isValid(target, property);
    normalize(target, property);
  };
}

/** Brings the value of a dimension into its one form. */
export function NormalizedValue(): PropertyDecorator {
  return Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? normalizeValue(value) : value));
}

/** The value of a dimension. */
export function AttributionValue(): PropertyDecorator {
  const message = '$property must be a text of 1 to 256 characters without control characters';
  return ValidateBy({ name: 'isAttributionValue', validator: { validate: isValue } }, { message });
}

/** Returns the dimensions that a request must name. `value` undefined: with any value. */
export function attributionFilters({
  user,
  tag,
}: {
  user?: string | undefined;
  tag?: string | undefined;
}): { dimension: string; value: string | undefined }[] {
  const [name, ...value] = tag?.split('=') ?? [];
  return [
    ...(user === undefined ? [] : [{ dimension: 'user', value: user }]),
    ...(name === undefined ? [] : [{ dimension: `tag:${name}`, value: value.length > 0 ? value.join('=') : undefined }]),
  ];
}

/** True for a list of at most 16 names of tags. */
function isTagNames(value: unknown): boolean {
  return Array.isArray(value) && value.length <= TAGS_MAX && value.every((name) => typeof name === 'string' && TAG_NAME.test(name));
}

/** Names of tags. */
export function TagNames(): PropertyDecorator {
  const message = `$property must be up to ${TAGS_MAX} names of letters, digits, points, hyphens and underscores`;
  return ValidateBy({ name: 'isTagNames', validator: { validate: isTagNames } }, { message });
}

/** Tags by their names, as a child key has them. */
export function TagValues(): PropertyDecorator {
  const message = `$property must have up to ${TAGS_MAX} names of tags, with texts of 1 to ${ATTRIBUTION_LENGTHS.tag} printable ASCII characters`;
  return ValidateBy({ name: 'isTagValues', validator: { validate: isTagValues } }, { message });
}

/** True for values as `x-tollgate-tags` may have them. */
function isTagValues(value: unknown): value is Record<string, string> {
  if (!isMap(value)) return false;
  const entries = Object.entries(value);
  return entries.length <= TAGS_MAX && entries.every(([name, text]) => TAG_NAME.test(name) && isTagValue(text));
}

function isTagValue(text: unknown): boolean {
  return typeof text === 'string' && text.length <= ATTRIBUTION_LENGTHS.tag && PLAIN.test(text);
}

/** Returns the same object when all values have their form already, as those of the gateway do. */
function normalizeValues(values: Record<string, unknown>): Record<string, unknown> {
  for (const value of Object.values(values)) {
    if (typeof value === 'string' && normalizeValue(value) !== value) {
      const normalized = Object.entries(values).map(([name, one]) => [name, typeof one === 'string' ? normalizeValue(one) : one]);
      return Object.fromEntries(normalized.filter(([, one]) => one !== ''));
    }
  }
  return values;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isAttribution(value: unknown): boolean {
  if (!isMap(value)) return false;
  const entries = Object.entries(value);
  return (
    entries.length <= ENTRIES_MAX &&
    entries.every(([dimension, text]) => isDimension(dimension) && isValue(text) && (dimension !== CHILD || isChildPath(text)))
  );
}

function isDimension(name: string): boolean {
  return UNBUDGETED.has(name) || DIMENSION.test(name);
}

function isChildPath(text: unknown): boolean {
  return CHILD_PATH.test(String(text));
}

function isValue(text: unknown): boolean {
  return typeof text === 'string' && VALUE.test(text);
}
