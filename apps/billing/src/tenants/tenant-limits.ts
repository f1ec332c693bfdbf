import type { ModelLimit } from '#contracts/billing/model-limits.js';
import { type LimitedByOperator, pickOperatorLimits } from '../limits/operator-limits.js';
import type { Fields } from './compare-fields.js';

/** The limits that accounts, projects and keys have alike. */
interface TenantLimits {
  requestsPerMinuteMax?: number | null;
  concurrencyMax?: number | null;
  tokensPerMinuteMax?: number | null;
  modelLimits?: ModelLimit[];
}

/** Returns the limits of the operator: a customer may have lowered them. */
export function storedLimits(limited: LimitedByOperator): TenantLimits & { modelLimits: ModelLimit[] } {
  const limits = pickOperatorLimits(limited);
  const { requestsPerMinuteMax = null, concurrencyMax = null, tokensPerMinuteMax = null, modelLimits = [] } = limits;
  return { requestsPerMinuteMax, concurrencyMax, tokensPerMinuteMax, modelLimits: sortLimits(modelLimits) };
}

export function wantedLimits({ requestsPerMinuteMax, concurrencyMax, tokensPerMinuteMax, modelLimits }: TenantLimits): Fields {
  return { requestsPerMinuteMax, concurrencyMax, tokensPerMinuteMax, modelLimits: modelLimits && sortLimits(modelLimits) };
}

/** Also makes plain objects of instances, which compare as different. */
export function sortLimits(limits: readonly ModelLimit[]): ModelLimit[] {
  const plain = limits.map(
    ({ model, requestsPerMinuteMax, tokensPerMinuteMax }): ModelLimit => ({
      model,
      ...(requestsPerMinuteMax !== undefined && { requestsPerMinuteMax }),
      ...(tokensPerMinuteMax !== undefined && { tokensPerMinuteMax }),
    }),
  );
  return plain.sort((a, b) => (a.model < b.model ? -1 : 1));
}
