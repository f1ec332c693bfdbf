import type { Pool } from 'undici';
import type { Upstream } from '#contracts/catalog.js';
import { createUpstreamPool } from '../transport/upstream-pool.js';

const ANSWER_MS_MAX = 5_000;
/** One lost packet is no illness. */
const FAILURES_MAX = 2;

/**
 * Asks an upstream every so often whether it is well, on a socket of its own. `GET path` without a key: 2xx is well, and so are 401
 * and 403, from a server that wants one.
 */
export class HealthCheck {
  private failures = 0;
  private readonly pool: Pool;
  private readonly timer: NodeJS.Timeout;
  private isAsking = false;

  constructor(
    private readonly upstream: Upstream,
    private readonly onIll: () => void,
  ) {
    this.pool = createUpstreamPool({ ...upstream, connectionsMax: 1 });
    this.timer = setInterval(() => void this.ask(), this.intervalMs);
    this.timer.unref();
    void this.ask();
  }

  get isWell(): boolean {
    return this.failures < FAILURES_MAX;
  }

  async close(): Promise<void> {
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
    const isWell = await this.answersWell();
    this.isAsking = false;
    if (isWell) {
      this.failures = 0;
      return;
    }
    this.failures += 1;
    if (this.failures === FAILURES_MAX) this.onIll();
  }

  private async answersWell(): Promise<boolean> {
    const path = this.upstream.healthCheck?.path ?? '/';
    const signal = AbortSignal.timeout(Math.min(this.intervalMs, ANSWER_MS_MAX));
    try {
      const { statusCode, body } = await this.pool.request({ method: 'GET', path, headers: { 'user-agent': 'tollgate' }, signal });
      await body.dump({ limit: 64 * 1024, signal });
      return (statusCode >= 200 && statusCode < 300) || statusCode === 401 || statusCode === 403;
    } catch {
      return false;
    }
  }
}
