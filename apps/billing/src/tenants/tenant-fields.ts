import { type Account, pricePlanAt } from '#contracts/billing/accounts.js';
import type { Budget } from '#contracts/billing/budgets.js';
import type { ApiKey } from '#contracts/billing/keys.js';
import type { ModelLimit } from '#contracts/billing/model-limits.js';
import type { PlanSubscription } from '#contracts/billing/plans.js';
import type { Project } from '#contracts/billing/projects.js';
import type { TenantAccount, TenantBudget, TenantCredit, TenantKey, TenantProject, TenantWebhook } from '#contracts/billing/tenants.js';
import type { Webhook } from '#contracts/billing/webhooks.js';
import { parsePicoUsd, parseUsd, renderUsd } from '#money/pico-usd.js';
import { type LimitedByOperator, pickOperatorLimits } from '../limits/operator-limits.js';

/*
 * The fields of a tenants file in one comparable form: `stored…` of what there is, `wanted…` of what the file says, where an absent field is
 * undefined. Lists without an order are sorted. Limits and budgets are those of the operator: a customer may have lowered them.
 */

export type Fields = Record<string, unknown>;
export type StoredWebhook = Pick<Webhook, 'webhookId' | 'url' | 'format' | 'allowPrivateNetwork'> & { muted: boolean };

export function storedAccount(account: Account, now: number): Fields {
  const { name, status, statusReason, requestsPerMinuteMax, concurrencyMax, tokensPerMinuteMax, projectsMax, activeKeysMax } = account;
  return {
    ...{ name, status, statusReason },
    lowBalanceUsd: renderPico(account.lowBalancePicoUsd),
    creditLineUsd: renderPico(account.creditLinePicoUsd),
    pricePlan: pricePlanAt(account, now),
    ...{ requestsPerMinuteMax, concurrencyMax, tokensPerMinuteMax, modelLimits: sortLimits(account.modelLimits ?? []) },
    ...{ projectsMax, activeKeysMax },
  };
}

export function wantedAccount(wanted: TenantAccount): Fields {
  const { name, status, statusReason, lowBalanceUsd, creditLineUsd, pricePlan, projectsMax, activeKeysMax } = wanted;
  const amounts = { lowBalanceUsd: renderWanted(lowBalanceUsd), creditLineUsd: renderWanted(creditLineUsd) };
  return { name, status, statusReason, ...amounts, pricePlan, ...wantedLimits(wanted), projectsMax, activeKeysMax };
}

export function storedCredit({ amountPicoUsd, period, timeZone }: PlanSubscription): Fields {
  return { usd: renderPico(amountPicoUsd), period, timeZone };
}

export function wantedCredit({ usd, period, timeZone }: TenantCredit): Fields {
  return { usd: renderWanted(usd), period, timeZone };
}

export function storedProject(project: Project): Fields {
  const { name, enabled, requestsPerMinuteMax, concurrencyMax, tags } = project;
  const { tokensPerMinuteMax, modelLimits } = operatorLimits(project);
  return { name, enabled, requestsPerMinuteMax, concurrencyMax, tokensPerMinuteMax, modelLimits, tags: sortTexts(tags) };
}

export function wantedProject(wanted: TenantProject): Fields {
  const { name, enabled, tags } = wanted;
  return { name, enabled, ...wantedLimits(wanted), tags: tags && sortTexts(tags) };
}

export function storedKey(key: ApiKey): Fields {
  const { note, expiresAt, disabled, models, networks } = key;
  return { note, expiresAt, disabled, models: sortTexts(models), networks: sortTexts(networks), ...operatorLimits(key) };
}

export function wantedKey(wanted: TenantKey): Fields {
  const { note, expiresAt, disabled, models, networks } = wanted;
  const end = typeof expiresAt === 'string' ? new Date(expiresAt).toISOString() : expiresAt;
  const lists = { models: models && sortTexts(models), networks: networks && sortTexts(networks) };
  return { note, expiresAt: end, disabled, ...lists, ...wantedLimits(wanted) };
}

export function storedBudget(budget: Budget): Fields {
  const { unit, timeZone, startDay, thresholds, setBy = 'operator' } = budget;
  const limit =
    unit === 'tokens'
      ? { limitTokens: budget.operatorLimitTokens ?? budget.limitTokens }
      : { limitUsd: renderPico(budget.operatorLimitPicoUsd ?? budget.limitPicoUsd) };
  return { ...limit, timeZone, startDay, thresholds: [...thresholds], setBy };
}

export function wantedBudget({ limitUsd, limitTokens, timeZone, startDay, thresholds }: TenantBudget): Fields {
  const sorted = thresholds && [...new Set(thresholds)].sort((a, b) => a - b);
  const limit = limitUsd === undefined ? { limitTokens } : { limitUsd: renderUsd(parseUsd(limitUsd)) };
  return { ...limit, timeZone, startDay, thresholds: sorted, setBy: 'operator' };
}

export function storedWebhook({ format, allowPrivateNetwork, muted }: StoredWebhook): Fields {
  return { format, allowPrivateNetwork, muted };
}

export function wantedWebhook({ format, allowPrivateNetwork, muted }: TenantWebhook): Fields {
  return { format, allowPrivateNetwork, muted };
}

/** Period, unit and value of a budget, of which a target has one. */
export function nameBudget({ period, dimension, value, ...budget }: Pick<Budget, 'period' | 'unit' | 'dimension' | 'value'>): string {
  const of = dimension === null ? '' : value === null ? ` of each ${dimension}` : ` of ${dimension} ${value}`;
  return `${period} ${budget.unit}${of}`;
}

export function nameWantedBudget({ period, limitTokens, dimension, value }: TenantBudget): string {
  const unit = limitTokens === undefined ? 'usd' : 'tokens';
  return nameBudget({ period, unit, dimension: dimension ?? null, value: value ?? null });
}

interface WantedLimits {
  requestsPerMinuteMax?: number | null;
  concurrencyMax?: number | null;
  tokensPerMinuteMax?: number | null;
  modelLimits?: ModelLimit[];
}

function wantedLimits({ requestsPerMinuteMax, concurrencyMax, tokensPerMinuteMax, modelLimits }: WantedLimits): Fields {
  return { requestsPerMinuteMax, concurrencyMax, tokensPerMinuteMax, modelLimits: modelLimits && sortLimits(modelLimits) };
}

function operatorLimits(limited: LimitedByOperator): WantedLimits & { modelLimits: ModelLimit[] } {
  const limits = pickOperatorLimits(limited);
  const { requestsPerMinuteMax = null, concurrencyMax = null, tokensPerMinuteMax = null, modelLimits = [] } = limits;
  return { requestsPerMinuteMax, concurrencyMax, tokensPerMinuteMax, modelLimits: sortLimits(modelLimits) };
}

/** Also makes plain objects of instances, which compare as different. */
function sortLimits(limits: readonly ModelLimit[]): ModelLimit[] {
  const plain = limits.map(
    ({ model, requestsPerMinuteMax, tokensPerMinuteMax }): ModelLimit => ({
      model,
      ...(requestsPerMinuteMax !== undefined && { requestsPerMinuteMax }),
      ...(tokensPerMinuteMax !== undefined && { tokensPerMinuteMax }),
    }),
  );
  return plain.sort((a, b) => (a.model < b.model ? -1 : 1));
}

function sortTexts(texts: readonly string[]): string[] {
  return [...texts].sort();
}

function renderPico(amount: string | null | undefined): string {
  return renderUsd(amount == null ? 0n : parsePicoUsd(amount));
}

function renderWanted(usd: string | undefined): string | undefined {
  return usd === undefined ? undefined : renderUsd(parseUsd(usd));
}
