/** Keys this process has read for its upstreams: whatever they look like, they are known when an upstream repeats one. */
const KEYS = new Set<string>();

/** Shorter ones are no secrets (`none`, `EMPTY`), and their letters may stand in any text. */
const LENGTH_MIN = 8;

export function rememberKey(key: string): void {
  if (key.length >= LENGTH_MIN) KEYS.add(key);
}

/** The text with `…` in place of every key. */
export function withoutKeys(text: string): string {
  let clean = text;
  for (const key of KEYS) clean = clean.replaceAll(key, '…');
  return clean;
}
