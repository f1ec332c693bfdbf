import { digestApiKey, isWellFormedApiKey } from '#contracts/api-key.js';
import { childKeyResolve } from '#contracts/billing/child-keys.js';
import { keyChanged } from '#contracts/billing/events.js';
import { keyResolve, type ResolvedKey } from '#contracts/billing/keys.js';
import {
  CHILD_KEY_PREFIX,
  isSignedBy,
  parseChildKey,
  proveSignature,
  readEnd,
  type SentChildKey,
} from '#contracts/child-keys/child-key.js';
import type { ChildParent } from '#contracts/child-keys/narrow-child.js';
import { isBelowChild } from '#contracts/rules/child-path.js';
import { ServiceError } from '#contracts/service-error.js';
import { GatewayError } from '#inference/errors.js';
import type { Messaging } from '#messaging/messaging.js';
import { billingError } from './billing.js';
import { type Caller, toCaller, toChildCaller } from './caller.js';
import { LookupQueue } from './lookup-queue.js';

/** Limits of look-ups of unknown keys. Billing joins concurrent look-ups into one query; more than these would only wait there. */
const LOOKUPS = { inFlightMax: 64, suspectsInFlightMax: 16, waitingMax: 1_000 };

interface Entry<Value> {
  value: Value;
  until: number;
}

/** The key of child keys. */
interface Parent {
  caller: Caller;
  delegate: ChildParent;
  revoked: readonly string[];
}

interface Child {
  caller: Caller;
  parent: Entry<Parent>;
  endsAt: number;
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
  private readonly resolvingParents = new Map<string, Promise<Entry<Parent>>>();
  /** Keys of child keys, by id. */
  private readonly parents = new Map<string, Entry<Parent>>();
  /** Child keys that were checked against the answer about their key. Cleared as `digests`. */
  private readonly children = new Map<string, Child>();
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
    if (key.startsWith(CHILD_KEY_PREFIX)) return this.resolveChild(key, isSuspect, now);
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

  /** Checks a child key against the answer about its key, which is asked for once for all its child keys. */
  private resolveChild(key: string, isSuspect: () => boolean, now: number): Caller | Promise<Caller> {
    this.clearOld(now);
    const known = this.children.get(key);
    if (known && known.parent.until > now && this.parents.get(known.parent.value.caller.keyId) === known.parent) {
      if (Date.now() < known.endsAt) return known.caller;
      throw invalidKey();
    }
    const sent = parseChildKey(key);
    if (!sent || readEnd(sent.levels) <= Date.now()) throw invalidKey();
    const parent = this.parents.get(sent.keyId);
    if (parent && parent.until > now) return this.admitChild(key, sent, parent);
    const digest = digestApiKey(key);
    const refused = this.refused.get(digest);
    if (refused && refused.until > now) throw invalidKey();
    const ask = (): Promise<Entry<Parent>> => this.askParent(sent, digest);
    const look = (): Promise<Entry<Parent>> => (parent ? ask() : this.lookups.run(isSuspect(), ask));
    return this.joinParent(sent.keyId, look).then((answer) => this.admitChild(key, sent, answer));
  }

  /** Waits for a look-up of the same key that is under way, and makes another only if that one was refused: its child key may be forged. */
  private joinParent(keyId: string, look: () => Promise<Entry<Parent>>): Promise<Entry<Parent>> {
    const joined = this.resolvingParents.get(keyId);
    if (joined) return joined.catch(look);
    const answer = look().finally(() => {
      if (this.resolvingParents.get(keyId) === answer) this.resolvingParents.delete(keyId);
    });
    this.resolvingParents.set(keyId, answer);
    return answer;
  }

  private admitChild(key: string, sent: SentChildKey, parent: Entry<Parent>): Caller {
    const { caller, delegate, revoked } = parent.value;
    const path = sent.levels.at(-1)?.path ?? '';
    if (!isSignedBy(sent, delegate.signingKey) || revoked.some((one) => isBelowChild(path, one))) throw invalidKey();
    const child = toChildCaller(caller, delegate, sent.levels);
    if (this.parents.get(sent.keyId) === parent) this.children.set(key, { caller: child, parent, endsAt: readEnd(sent.levels) });
    return child;
  }

  /** Clears what was computed of the texts of keys, so that none stays in memory. */
  private clearOld(now: number): void {
    if (now < this.digestsUntil && this.digests.size + this.children.size < this.entriesMax) return;
    this.digests.clear();
    this.children.clear();
    this.digestsUntil = now + this.cacheMs;
  }

  private computeDigest(key: string, now: number): string {
    this.clearOld(now);
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
    const { key, until, epoch } = await this.request(digest, () => this.messaging.request(keyResolve, { keyDigest: digest }));
    const value = toCaller(key);
    if (epoch === this.epoch) this.keep(this.known, digest, { value, until });
    return value;
  }

  /** Billing answers only for a child key that the key has signed, so that no answer is about a key that no one uses. */
  private async askParent({ keyId, signed, signature }: SentChildKey, digest: string): Promise<Entry<Parent>> {
    const proof = proveSignature(signature);
    const { key, until, epoch } = await this.request(digest, () => this.messaging.request(childKeyResolve, { signed, proof }));
    const caller = toCaller(key);
    if (!caller.parent) throw invalidKey();
    const entry = { value: { caller, delegate: caller.parent, revoked: key.delegation?.revoked ?? [] }, until };
    if (epoch === this.epoch) this.keep(this.parents, keyId, entry);
    return entry;
  }

  /** Returns an answer, until when it is used, and the epoch of its question. */
  private async request(digest: string, ask: () => Promise<ResolvedKey>): Promise<{ key: ResolvedKey; until: number; epoch: number }> {
    const { epoch } = this;
    const askedAt = this.now();
    try {
      const key = await ask();
      return { key, until: askedAt + Math.min(this.cacheMs, key.validForMs ?? Number.POSITIVE_INFINITY), epoch };
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
    for (const [keyId, { value }] of this.parents) if (concerns(value.caller)) this.parents.delete(keyId);
    // Later callers must not join a look-up that was sent before the invalidation.
    this.resolving.clear();
    this.resolvingParents.clear();
  }
}

function invalidKey(): GatewayError {
  return new GatewayError('invalid_api_key', 'The API key is not valid or has been revoked.');
}
