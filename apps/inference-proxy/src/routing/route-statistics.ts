import type { UpstreamFailure } from '../failures/upstream-failure.js';
import type { EndedCall } from '../metrics/route-metrics.js';

/** Weight of a new value in a moving average. */
const SHARE = 0.1;
/** Bounds below which a token rate would be noise. */
const TOKENS_MIN = 8;
const STREAM_MS_MIN = 20;

/** The last failure of a call, or of the upstream's health check. */
export interface LastFailure {
  at: number;
  kind: string;
  code: string;
  detail: string;
  isOperatorsFault: boolean;
}

/** Numbers of a route for operators: counts since the start of this replica, and moving averages. */
export class RouteStatistics {
  calls = 0;
  readonly tokens = { prompt: 0, output: 0 };
  /** Counts by the kind of the failure. */
  readonly errors: Record<string, number> = {};
  durationMs: number | undefined;
  firstContentMs: number | undefined;
  tokensPerSecond: number | undefined;
  lastFailure: LastFailure | undefined;

  setLastFailure({ kind, code, detail, isOperatorsFault }: UpstreamFailure, at: number): void {
    this.lastFailure = { at, kind, code, detail, isOperatorsFault };
  }

  ended({ failure, isStream, durationMs, firstContentMs, usage }: EndedCall): void {
    this.calls += 1;
    if (failure !== undefined) this.errors[failure.kind] = (this.errors[failure.kind] ?? 0) + 1;
    this.durationMs = average(this.durationMs, durationMs);
    this.tokens.prompt += usage?.promptTokens ?? 0;
    this.tokens.output += usage?.outputTokens ?? 0;
    if (!isStream || firstContentMs === undefined) return;
    this.firstContentMs = average(this.firstContentMs, firstContentMs);
    const streamMs = durationMs - firstContentMs;
    const tokens = usage?.outputTokens ?? 0;
    if (tokens >= TOKENS_MIN && streamMs >= STREAM_MS_MIN)
      this.tokensPerSecond = average(this.tokensPerSecond, ((tokens - 1) / streamMs) * 1_000);
  }
}

function average(known: number | undefined, value: number): number {
  return known === undefined ? value : known + (value - known) * SHARE;
}
