/** Upstream keys and secrets of headers that this process has read, and their parts, longest first. An upstream may repeat one in any text. */
let known: ReadonlySet<string> = new Set();

/** The last tokens that were issued, oldest first: an upstream gets a new one each hour. */
const tokens = new Set<string>();
const TOKENS_MAX = 400;

/** Shorter ones (`none`, `EMPTY`) are placeholders, and may be part of any text. */
const LENGTH_MIN = 8;

/** Separates the secret of a header from the words around it: `Token abc`, `user:abc`, `session=abc; id=def`. */
const SEPARATORS = /[\s:,;=]+/;

export function rememberKey(key: string): void {
  if (key.length < LENGTH_MIN || known.has(key)) return;
  const parts = key.split(SEPARATORS).filter(({ length }) => length >= LENGTH_MIN);
  // Longest first: a key that is the beginning of another would leave the end of that one.
  known = new Set([...known, key, ...parts].sort((one, other) => other.length - one.length));
}

/** Remembers a token, in place of the oldest one when there are many. */
export function rememberToken(token: string): void {
  if (token.length < LENGTH_MIN) return;
  tokens.delete(token);
  tokens.add(token);
  for (const oldest of tokens) {
    if (tokens.size <= TOKENS_MAX) break;
    tokens.delete(oldest);
  }
}

/** Returns the text with `…` in place of every known key and part of one. */
export function withoutKeys(text: string): string {
  let clean = text;
  for (const token of tokens) clean = clean.replaceAll(token, '…');
  for (const key of known) clean = clean.replaceAll(key, '…');
  return clean;
}
