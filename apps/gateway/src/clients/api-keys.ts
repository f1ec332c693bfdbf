import { digestApiKey, isWellFormedApiKey } from '#contracts/api-key.js';
import { keyChanged } from '#contracts/billing/events.js';
import { keyResolve } from '#contracts/billing/keys.js';
import { ServiceError } from '#contracts/service-error.js';
import { GatewayError } from '#inference/errors.js';
import type { Messaging } from '#messaging/messaging.js';
import { billingError } from './billing.js';
import { type Caller, toCaller } from './caller.js';
import { LookupQueue } from './lookup-queue.js';

/** Limits of look-ups of unknown keys. Billing joins concurrent look-ups into one query; more than these would only wait there. */
const LOOKUPS = { inFlightMax: 64, suspectsInFlightMax: 16, waitingMax: 1_000 };

interface Entry<Value> {
  value: Value;
  until: number;
}

/**
 * Resolves API keys to their project. Keys leave this class as SHA-256 digests only. Answers are used for `cacheMs` from their question, and
 * no longer than the key is valid: so a change is in force then, also if its announcement, which removes them at once, was lost. Billing
 * checks the key again in every reserve.
 */
export class ApiKeys {
  private readonly known = new Map<string, Entry<Caller>>();
  /** Separate from the known keys, so that a flood of wrong keys cannot evict them. */
  private readonly refused = new Map<string, Entry<true>>();
  private readonly resolving = new Map<string, Promise<Caller>>();
  /** Digests of recent keys: hashing is the most expensive step here. Cleared every `cacheMs`, so that no key stays in memory. */
  private readonly digests = new Map<string, string>();
  private digestsUntil = 0;
  private readonly lookups = new LookupQueue(LOOKUPS);
  /** Counts invalidations. An answer requested before an invalidation is not cached after it. */
  private epoch = 0;
  private unsubscribe: (() => void) | undefined;

  constructor(
    private readonly messaging: Messaging,
    private readonly cacheMs: number,
    private readonly entriesMax: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Nest lifecycle hook: subscribes to changes of keys. */
  onModuleInit(): void {
    this.messaging.onReconnect(() => this.forget(() => true));
    this.unsubscribe = this.messaging.subscribe(keyChanged, ({ keyId, projectId }) =>
      this.forget((key) => (keyId === undefined ? key.projectId === projectId : key.keyId === keyId)),
    );
  }

  /** Nest lifecycle hook. */
  onApplicationShutdown(): void {
    this.unsubscribe?.();
  }

  /**
   * Resolves a key, at once when the answer is cached. Throws `invalid_api_key`, or `model_unavailable` when billing does not answer. A key
   * whose cached answer has expired is looked up at once. An unknown key queues, after all others when `isSuspect` returns true.
   */
  resolve(key: string, isSuspect: () => boolean = () => false): Caller | Promise<Caller> {
    const now = this.now();
    const digest = this.computeDigest(key, now);
    const known = this.known.get(digest);
    if (known && known.until > now) return known.value;
    const refused = this.refused.get(digest);
    if (refused && refused.until > now) throw invalidKey();
    let answer = this.resolving.get(digest);
    if (!answer) {
      const asked = known ? this.ask(digest) : this.lookups.run(isSuspect(), () => this.ask(digest));
      answer = asked.finally(() => {
        if (this.resolving.get(digest) === answer) this.resolving.delete(digest);
      });
      this.resolving.set(digest, answer);
    }
    return answer;
  }

  private computeDigest(key: string, now: number): string {
    if (now >= this.digestsUntil || this.digests.size >= this.entriesMax) {
      this.digests.clear();
      this.digestsUntil = now + this.cacheMs;
    }
    let digest = this.digests.get(key);
    if (digest === undefined) {
      // The key's checksum detects typos without a request to billing.
      if (!isWellFormedApiKey(key)) throw invalidKey();
      digest = digestApiKey(key);
      this.digests.set(key, digest);
    }
    return digest;
  }

  private async ask(digest: string): Promise<Caller> {
    const { epoch } = this;
    const askedAt = this.now();
    try {
      const { validForMs = Number.POSITIVE_INFINITY, ...key } = await this.messaging.request(keyResolve, { keyDigest: digest });
      const value = toCaller(key);
      if (epoch === this.epoch) this.keep(this.known, digest, { value, until: askedAt + Math.min(this.cacheMs, validForMs) });
      return value;
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'invalid_api_key')) throw billingError(error);
      if (epoch === this.epoch) this.keep(this.refused, digest, { value: true, until: askedAt + this.cacheMs });
      throw invalidKey();
    }
  }

  private keep<Value>(entries: Map<string, Entry<Value>>, digest: string, entry: Entry<Value>): void {
    entries.delete(digest);
    if (entries.size >= this.entriesMax) {
      // A map iterates in insertion order: the first entry is the oldest.
      const oldest = entries.keys().next();
      if (!oldest.done) entries.delete(oldest.value);
    }
    entries.set(digest, entry);
  }

  private forget(concerns: (key: Caller) => boolean): void {
    this.epoch++;
    this.refused.clear();
    for (const [digest, { value }] of this.known) if (concerns(value)) this.known.delete(digest);
    // Later callers must not join a look-up that was sent before the invalidation.
    this.resolving.clear();
  }
}

function invalidKey(): GatewayError {
  return new GatewayError('invalid_api_key', 'The API key is not valid or has been revoked.');
}
