import { type Attribution, CHILD, PARENT_AGENT } from '#contracts/billing/attribution.js';
import type { Budget } from '#contracts/billing/budgets.js';
import type { TokenUsage } from '#contracts/billing/holds.js';
import type { ModelLimit } from '#contracts/billing/model-limits.js';
import type { OwnKey } from '#contracts/billing/own-key.js';
import type { BilledRequest, RequestCreditNote } from '#contracts/billing/requests.js';
import type { UsageQueryReply, UsageRow } from '#contracts/billing/usage.js';
import type { ChildLevel } from '#contracts/child-keys/child-key.js';
import { parseAmounts } from '#contracts/rules/budget-amounts.js';
import { renderChild } from './render-child-key.js';
import { renderPrice } from './render-price.js';

/** Renders the replies about a key for its owner. Amounts are strings of integers in 10⁻¹² USD, as in the balance. */

export function renderOwnKey(key: OwnKey, levels?: readonly ChildLevel[]) {
  return {
    object: 'key',
    id: key.keyId,
    name: key.name,
    last_four: key.lastFour,
    created_at: key.createdAt,
    expires_at: key.expiresAt,
    last_used_at: key.lastUsedAt,
    models: key.models,
    networks: key.networks,
    limits: {
      requests_per_minute: key.tightest.requestsPerMinuteMax,
      tokens_per_minute: key.tightest.tokensPerMinuteMax,
      concurrency: key.tightest.concurrencyMax,
      models: [...(key.modelLimits ?? []), ...(key.projectModelLimits ?? []), ...(key.accountModelLimits ?? [])].map(renderModelLimit),
    },
    budgets: key.budgets.map(renderBudget),
    ...(levels?.length && { child: renderChild(levels) }),
  };
}

/** Null: no limit. */
export function renderModelLimit({ model, requestsPerMinuteMax, tokensPerMinuteMax }: ModelLimit) {
  return { model, requests_per_minute: requestsPerMinuteMax ?? null, tokens_per_minute: tokensPerMinuteMax ?? null };
}

export function renderBudget(budget: Budget) {
  return {
    scope: budget.keyId === null ? (budget.projectId === null ? 'account' : 'project') : 'key',
    ...(budget.dimension === CHILD && { child_id: budget.value }),
    period: budget.period,
    time_zone: budget.timeZone,
    start_day: budget.startDay,
    ...renderAmounts(budget),
    window_start: budget.windowStart,
    resets_at: budget.resetsAt,
  };
}

/** Amounts of money are texts of pico-USD, those of tokens numbers. */
export function renderAmounts(budget: Budget): BudgetAmounts {
  const { limit, spent, held } = parseAmounts(budget);
  // A limit that was lowered may be below what is spent.
  const remaining = limit > spent + held ? limit - spent - held : 0n;
  return budget.unit === 'tokens'
    ? { limit_tokens: Number(limit), spent_tokens: Number(spent), held_tokens: Number(held), remaining_tokens: Number(remaining) }
    : {
        limit_pico_usd: String(limit),
        spent_pico_usd: String(spent),
        held_pico_usd: String(held),
        remaining_pico_usd: String(remaining),
      };
}

type AmountName = 'limit' | 'spent' | 'held' | 'remaining';
type BudgetAmounts = { [Field in `${AmountName}_pico_usd`]?: string } & { [Field in `${AmountName}_tokens`]?: number };

export function renderUsage({ from, to, rows, nextCursor }: UsageQueryReply) {
  return { object: 'list', from, to, data: rows.map(renderUsageRow), has_more: nextCursor !== null, next_cursor: nextCursor };
}

/** Fields that the usage is not grouped by are absent. */
export function renderUsageRow(row: UsageRow) {
  return {
    start: row.start,
    model: row.model,
    upstream: row.upstream,
    ending: row.ending,
    user: row.user,
    tag: row.tag,
    client: row.client,
    session: row.session,
    child: row.child,
    agent: row.agent,
    parent_agent: row.agent === undefined ? undefined : (row.parentAgent ?? null),
    requests: row.requests,
    estimated_requests: row.estimatedRequests,
    prompt_tokens: row.promptTokens,
    cached_tokens: row.cachedTokens,
    cache_write_tokens: row.cacheWriteTokens ?? 0,
    cache_write_1h_tokens: row.cacheWrite1hTokens ?? 0,
    output_tokens: row.outputTokens,
    reasoning_tokens: row.reasoningTokens,
    cost_pico_usd: row.costPicoUsd,
  };
}

/** A running request has a null `settlement`. */
export function renderRequest({ price, settlement, creditNotes, ...request }: BilledRequest) {
  return {
    object: 'request',
    id: request.requestId,
    model: request.model,
    upstream: request.upstream,
    ...renderAttribution(request.attribution),
    reserved_at: request.reservedAt,
    held_pico_usd: request.heldPicoUsd,
    price: renderPrice(price),
    settlement: settlement && {
      settled_at: settlement.settledAt,
      ending: settlement.reason,
      usage: renderTokens(settlement.usage),
      tier: settlement.usage.tier ?? null,
      step: settlement.step ?? null,
      cost_pico_usd: settlement.costPicoUsd,
    },
    credit_notes: creditNotes.map(renderCreditNote),
  };
}

const TAG = 'tag:';

/** Null: the request named none. */
export function renderAttribution(attribution: Attribution) {
  const tags = Object.entries(attribution).filter(([dimension]) => dimension.startsWith(TAG));
  return {
    user: attribution.user ?? null,
    client: attribution.client ?? null,
    session: attribution.session ?? null,
    child: attribution[CHILD] ?? null,
    agent: attribution.agent ?? null,
    parent_agent: attribution[PARENT_AGENT] ?? null,
    tags: Object.fromEntries(tags.map(([dimension, value]) => [dimension.slice(TAG.length), value])),
  };
}

export function renderCreditNote({ noteId, amountPicoUsd, reason, createdAt }: RequestCreditNote) {
  return { id: noteId, amount_pico_usd: amountPicoUsd, reason, created_at: createdAt };
}

export function renderTokens(usage: TokenUsage) {
  return {
    prompt_tokens: usage.promptTokens,
    cached_tokens: usage.cachedTokens,
    cache_write_tokens: usage.cacheWriteTokens ?? 0,
    cache_write_1h_tokens: usage.cacheWrite1hTokens ?? 0,
    output_tokens: usage.outputTokens,
    reasoning_tokens: usage.reasoningTokens,
    prompt_source: usage.promptSource,
    output_source: usage.outputSource,
  };
}
