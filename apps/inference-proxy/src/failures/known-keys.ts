/** Upstream keys that this process has read. An upstream may repeat one in any text. */
const KEYS = new Set<string>();

/** Shorter ones (`none`, `EMPTY`) are placeholders, and may be part of any text. */
const LENGTH_MIN = 8;

export function rememberKey(key: string): void {
  if (key.length >= LENGTH_MIN) KEYS.add(key);
}

/** Returns the text with `…` in place of every known key. */
export function withoutKeys(text: string): string {
  let clean = text;
  for (const key of KEYS) clean = clean.replaceAll(key, '…');
  return clean;
}
