import type { UpstreamFailure } from '../failures/upstream-failure.js';
import type { CredentialObserver } from './credential.js';

/** A token as an endpoint has issued it. */
export interface Issued<Token> {
  token: Token;
  /** Milliseconds for which it can be used. */
  lifetimeMs: number;
}

/** Milliseconds before its end at which a token is renewed, and a fifth of its lifetime if that is less. */
const AHEAD_MS = 300_000;
/** Milliseconds before its end at which a token is used no more, and a twentieth of its lifetime if that is less: a request takes its time. */
const MARGIN_MS = 30_000;
/** Milliseconds to the next try after a failure. Doubles with each one in a row. */
const RETRY_MS = 1_000;
const RETRY_MS_MAX = 60_000;
/** Milliseconds between two tokens that were asked for because the upstream rejects them: one that rejects all must cause no storm. */
const FORCED_MS = 60_000;

/**
 * Keeps the token of one upstream. It is renewed ahead of its end, in the background, by one request for all callers. While that fails the
 * old token is used to its end; then calls fail at once, and the next try goes on in the background.
 */
export class TokenKeeper<Token> {
  private current: { token: Token; endsAt: number } | undefined;
  private pending: Promise<Token> | undefined;
  private failure: UpstreamFailure | undefined;
  private failures = 0;
  private forcedAt = Number.NEGATIVE_INFINITY;
  private timer: NodeJS.Timeout | undefined;
  private isClosed = false;

  constructor(
    /** Asks for a token. Throws `credential` failures alone. */
    private readonly issue: () => Promise<Issued<Token>>,
    private readonly onChange: CredentialObserver,
  ) {}

  get isUsable(): boolean {
    return this.failure === undefined || this.valid !== undefined;
  }

  /** Returns the token; a promise while there is none yet. Throws the failure of the last try. */
  get(): Token | Promise<Token> {
    const { valid } = this;
    if (valid !== undefined) return valid;
    if (this.pending === undefined && this.failure !== undefined) throw this.failure;
    return this.refresh();
  }

  /**
   * Call when the upstream has rejected a token. Resolves with true when there is another one. Asks for one at most once a minute, and throws
   * when that fails: the rejected token was revoked.
   */
  async renew(rejected: Token): Promise<boolean> {
    if (this.current?.token !== rejected && this.valid !== undefined) return true;
    if (this.pending === undefined) {
      const now = performance.now();
      if (now - this.forcedAt < FORCED_MS) return false;
      this.forcedAt = now;
    }
    try {
      return (await this.refresh()) !== rejected;
    } catch (error) {
      if (this.current?.token === rejected) this.current = undefined;
      throw error;
    }
  }

  /** Asks for a token; the callers of one time share one request. */
  refresh(): Promise<Token> {
    this.pending ??= this.ask().finally(() => {
      this.pending = undefined;
    });
    return this.pending;
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
  }

  private get valid(): Token | undefined {
    return this.current !== undefined && performance.now() < this.current.endsAt ? this.current.token : undefined;
  }

  private async ask(): Promise<Token> {
    try {
      const { token, lifetimeMs } = await this.issue();
      this.current = { token, endsAt: performance.now() + lifetimeMs - Math.min(MARGIN_MS, lifetimeMs / 20) };
      this.failures = 0;
      this.schedule(lifetimeMs - Math.min(AHEAD_MS, lifetimeMs / 5));
      this.report(undefined);
      return token;
    } catch (error) {
      this.failures += 1;
      // Replicas and upstreams that failed together shall not ask together.
      this.schedule(Math.min(RETRY_MS_MAX, RETRY_MS * 2 ** (this.failures - 1)) * (0.5 + Math.random() / 2));
      this.report(error as UpstreamFailure);
      throw error;
    }
  }

  private schedule(ms: number): void {
    clearTimeout(this.timer);
    if (this.isClosed) return;
    this.timer = setTimeout(() => this.refresh().catch(() => {}), ms);
    this.timer.unref();
  }

  /** Tells of each new reason once. */
  private report(failure: UpstreamFailure | undefined): void {
    const isNew = failure?.detail !== this.failure?.detail;
    this.failure = failure;
    if (isNew && !this.isClosed) this.onChange(failure);
  }
}
