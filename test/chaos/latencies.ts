import type { Story } from './chaos-client.js';

/** Milliseconds between two tokens of a paced request. */
const GAP_MS = 50;

/** Returns percentiles of the milliseconds that paced requests took beyond the pace of their upstream. */
export function latencies(stories: readonly Story[]): { p50: number; p99: number; max: number } {
  const added = stories.map(({ beganAt, endedAt, outputTokens }) => endedAt - beganAt - GAP_MS * (outputTokens - 1)).sort((a, b) => a - b);
  const at = (share: number): number => Math.round(added[Math.ceil(share * added.length) - 1] ?? 0);
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}
