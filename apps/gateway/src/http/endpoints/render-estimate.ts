import type { EstimateRefusal } from '#contracts/gateway.js';
import { renderUsd } from '#money/pico-usd.js';
import type { Quote } from '../../pipeline/quote.js';
import { renderPrice } from './render-price.js';

export interface Estimate {
  model: string;
  quote: Quote;
  promptTokens: number;
  availablePicoUsd: string;
  refusals: readonly EstimateRefusal[];
}

/** Estimate of a request for its client. Amounts are strings of integers in 10⁻¹² USD, as in the balance. */
export function renderEstimate({ model, quote, promptTokens, availablePicoUsd, refusals }: Estimate) {
  return {
    object: 'estimate',
    model,
    prompt_tokens: promptTokens,
    prompt_tokens_method: 'four_bytes_a_token',
    prompt_tokens_max: quote.promptTokensMax,
    output_tokens_max: quote.outputTokensMax,
    max_cost_pico_usd: String(quote.amount),
    max_cost_usd: renderUsd(quote.amount),
    price: renderPrice(quote.pinnedPrice),
    available_pico_usd: availablePicoUsd,
    refused_by: refusals.map(renderRefusal),
  };
}

export function renderRefusal({ by, budget, ...missing }: EstimateRefusal) {
  return {
    by,
    ...(budget && {
      scope: budget.keyId === null ? (budget.projectId === null ? 'account' : 'project') : 'key',
      of: budget.dimension === null ? null : `${budget.dimension}=${budget.value}`,
      period: budget.period,
      resets_at: budget.resetsAt,
    }),
    ...(missing.missingTokens === undefined
      ? { left_pico_usd: missing.leftPicoUsd, missing_pico_usd: missing.missingPicoUsd }
      : { left_tokens: missing.leftTokens, missing_tokens: missing.missingTokens }),
  };
}

/** The fields of an estimate that was asked for a quote. */
export function renderSigned({ quote, expiresAt }: { quote: string; expiresAt: number }) {
  return { quote, quote_expires_at: new Date(expiresAt).toISOString() };
}
