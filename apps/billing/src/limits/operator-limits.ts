import type { ModelLimit, OperatorLimits } from '#contracts/billing/model-limits.js';
import { TOKENS_MAX } from '#contracts/rules/bounds.js';
import { ServiceError } from '#contracts/service-error.js';
import type { Author } from '#database/audit-journal.js';
import type { Limits } from './rate-limit.js';

/** Level of the author of a limit or a budget. For a customer, those of the operator are the most. */
export type Level = 'operator' | 'customer';

/** Limits of a project that names none. */
export interface LimitDefaults {
  requestsPerMinute: number;
  concurrency: number;
}

/** Words of a refusal for each limit. */
const WORDS = {
  requestsPerMinuteMax: 'requests per minute',
  concurrencyMax: 'requests at once',
  tokensPerMinuteMax: 'tokens per minute',
} as const;
const SCALARS = Object.keys(WORDS) as (keyof typeof WORDS)[];

export function findLevel({ caller }: Author): Level {
  return caller.level ?? 'operator';
}

/** Returns limits without those that are not set. */
export function pickSetLimits({ modelLimits, ...limits }: Limits): OperatorLimits {
  const set = Object.entries(limits).filter(([, limit]) => limit !== null);
  return { ...Object.fromEntries(set), ...(modelLimits && modelLimits.length > 0 && { modelLimits: [...modelLimits] }) };
}

/** Limits of a project or a key as contracts show them. */
export type LimitedByOperator = Partial<Limits> & { operatorLimits?: OperatorLimits };

/** Returns the limits that the operator has set, which the customer may have lowered. */
export function pickOperatorLimits({
  operatorLimits,
  requestsPerMinuteMax = null,
  concurrencyMax = null,
  tokensPerMinuteMax = null,
  modelLimits,
}: LimitedByOperator): OperatorLimits {
  return operatorLimits ?? pickSetLimits({ requestsPerMinuteMax, concurrencyMax, tokensPerMinuteMax, ...(modelLimits && { modelLimits }) });
}

/**
 * Demands that limits are at most those of the operator, none of which is missing. Models that the operator does not name may have any.
 * @throws {ServiceError} `permission_denied` with the operator's limit.
 */
export function requireWithin(limits: Limits, operator: OperatorLimits): void {
  for (const name of SCALARS) requireAtMost(limits[name], operator[name], WORDS[name], name);
  for (const { model, ...most } of operator.modelLimits ?? []) {
    const own = limits.modelLimits?.find((limit) => limit.model === model);
    for (const name of ['requestsPerMinuteMax', 'tokensPerMinuteMax'] as const)
      requireAtMost(own?.[name] ?? null, most[name], `${WORDS[name]} for ${model}`, 'modelLimits');
  }
}

function requireAtMost(limit: number | null, most: number | undefined, words: string, param: string): void {
  if (most === undefined || (limit !== null && limit <= most)) return;
  throw new ServiceError(
    'permission_denied',
    `The operator allows at most ${most} ${words}. Only the operator can raise or remove this limit.`,
    param,
  );
}

/** Returns the limits that all of these targets have, in sum: what one gets at most that divides its requests among them. */
export function addLimits(targets: readonly OperatorLimits[]): OperatorLimits {
  const sums = SCALARS.map((name) => [name, addUp(targets.map((target) => target[name]))] as const);
  const models = (targets[0]?.modelLimits ?? []).flatMap(({ model }): ModelLimit[] => {
    const ofModel = targets.map(({ modelLimits }) => modelLimits?.find((limit) => limit.model === model));
    const requestsPerMinuteMax = addUp(ofModel.map((limit) => limit?.requestsPerMinuteMax));
    const tokensPerMinuteMax = addUp(ofModel.map((limit) => limit?.tokensPerMinuteMax));
    if (requestsPerMinuteMax === undefined && tokensPerMinuteMax === undefined) return [];
    return [{ model, ...(requestsPerMinuteMax && { requestsPerMinuteMax }), ...(tokensPerMinuteMax && { tokensPerMinuteMax }) }];
  });
  const scalars = Object.fromEntries(sums.filter(([, sum]) => sum !== undefined));
  return { ...scalars, ...(models.length > 0 && { modelLimits: models }) };
}

/** Undefined when one is not limited, or there is none. */
function addUp(limits: readonly (number | undefined)[]): number | undefined {
  if (limits.length === 0) return undefined;
  return limits.reduce((sum, limit) => (sum === undefined || limit === undefined ? undefined : Math.min(sum + limit, TOKENS_MAX)));
}
