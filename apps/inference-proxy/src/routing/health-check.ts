import type { Pool } from 'undici';
import type { Upstream } from '#contracts/catalog.js';
import { createUpstreamPool } from '../transport/upstream-pool.js';

const ANSWER_MS_MAX = 5_000;
/** One lost packet is no illness. */
const FAILURES_MAX = 2;

export interface HealthObserver {
  /** Once an illness, with what came instead of a good answer. */
  isIll(why: string): void;
  /** One good answer after that. */
  isWellAgain(): void;
}

/**
 * Asks an upstream every so often whether it is well, on a socket of its own. `GET path` without a key: 2xx is well, and so are 401
 * and 403, from a server that wants one.
 */
export class HealthCheck {
  private failures: number;
  private readonly pool: Pool;
  private readonly timer: NodeJS.Timeout;
  private isAsking = false;
  private isClosed = false;

  constructor(
    private readonly upstream: Upstream,
    private readonly observer: HealthObserver,
    /** Found to be so by the check before this one. */
    isIll = false,
  ) {
    this.failures = isIll ? FAILURES_MAX : 0;
    this.pool = createUpstreamPool({ ...upstream, connectionsMax: 1 });
    this.timer = setInterval(() => void this.ask(), this.intervalMs);
    this.timer.unref();
    void this.ask();
  }

  get isWell(): boolean {
    return this.failures < FAILURES_MAX;
  }

  /** From now on nothing is told. */
  async close(): Promise<void> {
    this.isClosed = true;
    clearInterval(this.timer);
    await this.pool.destroy();
  }

  private get intervalMs(): number {
    return this.upstream.healthCheck?.intervalMs ?? ANSWER_MS_MAX;
  }

  /** One look at it; while one is under way, none. */
  async ask(): Promise<void> {
    if (this.isAsking) return;
    this.isAsking = true;
    const why = await this.whatIsWrong();
    this.isAsking = false;
    if (this.isClosed) return;
    const wasWell = this.isWell;
    this.failures = why === undefined ? 0 : this.failures + 1;
    if (this.isWell === wasWell) return;
    if (why === undefined) this.observer.isWellAgain();
    else this.observer.isIll(why);
  }

  /** Undefined: nothing is. */
  private async whatIsWrong(): Promise<string | undefined> {
    const path = this.upstream.healthCheck?.path ?? '/';
    const answerMs = Math.min(this.intervalMs, ANSWER_MS_MAX);
    const signal = AbortSignal.timeout(answerMs);
    try {
      const { statusCode, body } = await this.pool.request({ method: 'GET', path, headers: { 'user-agent': 'tollgate' }, signal });
      await body.dump({ limit: 64 * 1024, signal });
      const isWell = (statusCode >= 200 && statusCode < 300) || statusCode === 401 || statusCode === 403;
      return isWell ? undefined : `${path} answers ${statusCode}`;
    } catch (error) {
      return signal.aborted ? `${path} does not answer within ${answerMs} ms` : `${path} cannot be asked: ${(error as Error).message}`;
    }
  }
}
