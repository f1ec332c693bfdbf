import type { LookupAddress } from 'node:dns';

/** Names beyond which answers that have ended are dropped. */
const NAMES_MAX = 1_000;

/** Addresses of names, each for `ttlMs`. */
export class ResolvedNames {
  private readonly known = new Map<string, { addresses: LookupAddress[]; until: number }>();

  constructor(private readonly ttlMs: number) {}

  /** Names whose addresses are held, ended ones included. */
  get size(): number {
    return this.known.size;
  }

  get(hostname: string): LookupAddress[] | undefined {
    const entry = this.known.get(hostname);
    return entry !== undefined && entry.until > performance.now() ? entry.addresses : undefined;
  }

  set(hostname: string, addresses: LookupAddress[]): void {
    const now = performance.now();
    this.known.set(hostname, { addresses, until: now + this.ttlMs });
    if (this.known.size <= NAMES_MAX) return;
    for (const [name, { until }] of this.known) if (until <= now) this.known.delete(name);
  }
}
