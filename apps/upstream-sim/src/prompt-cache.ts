/** Time that an entry lives without being used. */
const TTL_MS = { '5m': 5 * 60_000, '1h': 60 * 60_000 } as const;

export type CacheTtl = keyof typeof TTL_MS;

/** Shorter prefixes are neither written nor read. */
export const CACHED_TOKENS_MIN = 1_024;
/** Positions that are searched for an entry from each marker back, its own included. */
const LOOK_BACK = 20;
/** About 20 MB. Beyond it the least recently used entries go. */
const ENTRIES_MAX = 50_000;

/** The start of a prompt up to the end of a block or step. */
export interface Prefix {
  /** Equal for the same content only. */
  key: string;
  /** The prefix is written to the cache. */
  marker?: { tokens: number; ttl: CacheTtl };
}

/** A prompt as its cache sees it. */
export interface CacheablePrompt {
  /** The shortest first. */
  prefixes: readonly Prefix[];
  /** The usage counts what is written. */
  billsWrites: boolean;
}

/** Tokens of a prompt that come from the cache and go into it. The rest of the prompt does neither. */
export interface CacheUse {
  read: number;
  written: Record<CacheTtl, number>;
}

interface Entry {
  tokens: number;
  ttl: CacheTtl;
  expiresAt: number;
}

/** The prompt cache of all models. It holds no content, only keys. */
export class PromptCache {
  /** The least recently used first. */
  private readonly entries = new Map<string, Entry>();

  /** @param now time in milliseconds, on a clock that never goes back */
  constructor(
    private readonly now: () => number = () => performance.now(),
    private readonly entriesMax = ENTRIES_MAX,
  ) {}

  /** Reads the longest entry that a marker reaches, and writes the prefix of each marker that has none. */
  use(prefixes: readonly Prefix[], promptTokens: number): CacheUse {
    const markers = prefixes.flatMap(({ key, marker }, index) =>
      marker !== undefined && marker.tokens >= CACHED_TOKENS_MIN ? [{ ...marker, key, index }] : [],
    );
    const found = markers.flatMap(({ index }) => this.findBefore(prefixes, index) ?? []);
    const read = found.reduce((longest, key) => Math.max(longest, this.touch(key)), 0);
    for (const { key, tokens, ttl } of markers) {
      if (!this.entries.has(key)) this.entries.set(key, { tokens, ttl, expiresAt: this.now() + TTL_MS[ttl] });
    }
    this.evict();
    return splitPrompt(read, markers, promptTokens);
  }

  clear(): void {
    this.entries.clear();
  }

  private findBefore(prefixes: readonly Prefix[], marker: number): string | undefined {
    return prefixes.slice(Math.max(0, marker + 1 - LOOK_BACK), marker + 1).findLast(({ key }) => this.isLive(key))?.key;
  }

  private isLive(key: string): boolean {
    const entry = this.entries.get(key);
    if (entry === undefined) return false;
    const isLive = entry.expiresAt > this.now();
    if (!isLive) this.entries.delete(key);
    return isLive;
  }

  /** Starts the time of an entry again. Returns its tokens. */
  private touch(key: string): number {
    const entry = this.entries.get(key) as Entry;
    entry.expiresAt = this.now() + TTL_MS[entry.ttl];
    this.entries.delete(key);
    this.entries.set(key, entry);
    return entry.tokens;
  }

  private evict(): void {
    for (const key of this.entries.keys()) {
      if (this.entries.size <= this.entriesMax) return;
      this.entries.delete(key);
    }
  }
}

/**
 * Splits a prompt as Anthropic bills it: read up to the longest entry, written for an hour from there to the last marker of an hour,
 * written for five minutes from there to the last marker.
 */
function splitPrompt(read: number, markers: readonly { tokens: number; ttl: CacheTtl }[], promptTokens: number): CacheUse {
  const end = (from: number, ttl: CacheTtl): number =>
    Math.min(
      promptTokens,
      markers.reduce((last, marker) => (marker.ttl === ttl ? Math.max(last, marker.tokens) : last), from),
    );
  const readEnd = Math.min(promptTokens, read);
  const hourEnd = end(readEnd, '1h');
  return { read: readEnd, written: { '1h': hourEnd - readEnd, '5m': end(hourEnd, '5m') - hourEnd } };
}
