import type { UsageRow } from '../../../../src/shapes/billing.js';
import type { Percentiles, TrafficRow } from '../../../../src/shapes/overview.js';
import { isError } from '../../data/outcomes.js';

/** Figures of how a model served its requests. */
export interface ModelFigures {
  model: string;
  /** All that ended, refused ones included. */
  requests: number;
  /** Share of the requests that were errors. */
  errors: number;
  /** Null: none streamed. */
  firstContentMs: Percentiles | null;
  /** Null: none completed. */
  durationMs: Percentiles | null;
  /** Output tokens a second of completed requests, of their whole time. Null: not known. */
  tokensPerSecond: number | null;
  /** Average cost of a completed request. Null: not known. */
  requestPicoUsd: bigint | null;
}

/**
 * Returns the figures of each model, the most requests first. `traffic` is by model and has times; `completed`, the usage by model of completed
 * requests, has tokens and cost. Tokens a second are the average tokens of a request by its average time, because the two may count
 * requests of slightly different times.
 */
export function compareModels(traffic: readonly TrafficRow[], completed: readonly UsageRow[]): ModelFigures[] {
  const usage = new Map(completed.map((row) => [row.model, row]));
  return traffic.flatMap(({ model, requests, outcomes, firstContentMs, durationMs }) => {
    if (!model) return [];
    const row = usage.get(model);
    const hasUsage = row !== undefined && row.requests > 0;
    const errors = outcomes.filter(isError).reduce((sum, outcome) => sum + outcome.requests, 0);
    const seconds = (durationMs?.mean ?? 0) / 1_000;
    return {
      ...{ model, requests, firstContentMs, durationMs },
      errors: requests > 0 ? errors / requests : 0,
      tokensPerSecond: hasUsage && seconds > 0 ? row.outputTokens / row.requests / seconds : null,
      requestPicoUsd: hasUsage ? BigInt(row.costPicoUsd) / BigInt(row.requests) : null,
    };
  });
}
