import type { Pool } from 'undici';
import type { Upstream, UpstreamHealthCheck } from '#contracts/catalog.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import type { HeaderReader } from '../transport/static-headers.js';
import { createUpstreamPool } from '../transport/upstream-pool.js';

/** Milliseconds to the answer, where the interval is not shorter. */
const ANSWER_MS_MAX = 5_000;
/** Failures in a row that make an upstream unhealthy: one lost packet does not. */
const FAILURES_MAX = 2;

/**
 * Asks an upstream at an interval whether it is healthy, on a socket of its own, with `GET path`, the headers of the catalog and no key. 2xx is healthy, and so are
 * 401 and 403, which come from a server that requires a key.
 */
export class HealthCheck {
  private failures = 0;
  private readonly pool: Pool;
  private readonly timer: NodeJS.Timeout;
  private isAsking = false;
  private isClosed = false;

  constructor(
    upstream: Upstream,
    private readonly headers: HeaderReader,
    private readonly options: UpstreamHealthCheck,
    /** Called with the reason when the upstream becomes unhealthy, and with undefined when it is healthy again. */
    private readonly onChange: (failure: string | undefined) => void,
  ) {
    this.pool = createUpstreamPool({ ...upstream, connectionsMax: 1 });
    this.timer = setInterval(() => void this.ask(), options.intervalMs);
    this.timer.unref();
    void this.ask();
  }

  get isHealthy(): boolean {
    return this.failures < FAILURES_MAX;
  }

  /** Ends the check; `onChange` is not called any more. */
  async close(): Promise<void> {
    this.isClosed = true;
    clearInterval(this.timer);
    await this.pool.destroy();
  }

  /** Asks once. Does nothing while an answer is awaited. */
  async ask(): Promise<void> {
    if (this.isAsking) return;
    this.isAsking = true;
    const failure = await this.findFailure();
    this.isAsking = false;
    if (this.isClosed) return;
    const wasHealthy = this.isHealthy;
    this.failures = failure === undefined ? 0 : this.failures + 1;
    if (this.isHealthy !== wasHealthy) this.onChange(failure);
  }

  /** Returns undefined when the upstream answers as a healthy one does. */
  private async findFailure(): Promise<string | undefined> {
    const { path, intervalMs } = this.options;
    const answerMs = Math.min(intervalMs, ANSWER_MS_MAX);
    const signal = AbortSignal.timeout(answerMs);
    try {
      const headers = { 'user-agent': 'tollgate', ...this.headers() };
      const { statusCode, body } = await this.pool.request({ method: 'GET', path, headers, signal });
      await body.dump({ limit: 64 * 1024, signal });
      const isHealthy = (statusCode >= 200 && statusCode < 300) || statusCode === 401 || statusCode === 403;
      return isHealthy ? undefined : `${path} answers ${statusCode}`;
    } catch (error) {
      return signal.aborted
        ? `${path} does not answer within ${answerMs} ms`
        : `${path} cannot be asked: ${error instanceof UpstreamFailure ? error.detail : (error as Error).message}`;
    }
  }
}
