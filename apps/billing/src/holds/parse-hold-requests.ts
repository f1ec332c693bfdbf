import {
  currentReason,
  type HoldApplyRequest,
  type HoldRenewal,
  type HoldRenewRequest,
  type PinnedPrice,
  type ReserveRequest,
  SETTLE_REASONS,
  SETTLERS,
  type Settler,
  type TokenUsage,
} from '#contracts/billing/holds.js';
import { ServiceError } from '#contracts/service-error.js';
import { OUTPUT_SOURCES, PROMPT_SOURCES } from '#inference/usage.js';
import { HOLD_MAX } from '#money/price.js';
import type { Settle } from './batch.js';
import { sourcesOfFormer, type UsageSources } from './usage-sources.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const PICO_USD = /^\d{1,38}$/;
const INT_MAX = 2 ** 31 - 1;
const ITEMS_MAX = 512;
const RENEWALS_MAX = 4_096;
const ENDED_MAX = 8_192;

/**
 * Checks a `holdApply` by hand: on the hot path class-validator would cost more than the fold. Ids come out in lower case,
 * as the database writes them. `ServiceError('invalid_request')` names the field.
 */
export function parseApply(payload: HoldApplyRequest): { settles: Settle[]; reserves: ReserveRequest[]; partial: boolean } {
  const { settles, reserves, partial } = record(payload, '');
  return {
    settles: items(settles, 'settles').map((item, position) => parseSettle(item, `settles[${position}].`)),
    reserves: items(reserves, 'reserves').map((item, position) => parseReserve(item, `reserves[${position}].`)),
    partial: partial === true,
  };
}

export function parseSettle(item: unknown, path = ''): Settle {
  const { holdId, accountId, reason, usage, upstream, settledBy } = record(item, path);
  const known = SETTLE_REASONS.find((one) => one === currentReason(reason));
  if (!known) throw invalid(`${path}reason`);
  return {
    holdId: uuid(holdId, `${path}holdId`),
    accountId: uuid(accountId, `${path}accountId`),
    reason: known,
    usage: usage === undefined || usage === null ? undefined : tokenUsage(usage, `${path}usage.`),
    upstream: upstream === undefined || upstream === null ? undefined : text(upstream, 256, `${path}upstream`),
    settledBy: settler(settledBy),
  };
}

export function parseReserve(item: unknown, path = ''): ReserveRequest {
  const { holdId, keyId, projectId, accountId, requestId, model, amountPicoUsd, price } = record(item, path);
  return {
    holdId: uuid(holdId, `${path}holdId`),
    keyId: uuid(keyId, `${path}keyId`),
    projectId: uuid(projectId, `${path}projectId`),
    accountId: uuid(accountId, `${path}accountId`),
    requestId: text(requestId, 128, `${path}requestId`),
    model: text(model, 256, `${path}model`),
    amountPicoUsd: amount(amountPicoUsd, `${path}amountPicoUsd`),
    price: pinnedPrice(price, `${path}price.`),
  };
}

/** Likewise: a proxy sends as many renewals as it runs requests, and the id of every request that ends. */
export function parseRenew(payload: HoldRenewRequest): HoldRenewRequest {
  const { renewals, ended } = record(payload, '');
  return {
    renewals: items(renewals, 'renewals', RENEWALS_MAX).map((item, position) => parseRenewal(item, `renewals[${position}].`)),
    ended: ended == null ? [] : items(ended, 'ended', ENDED_MAX).map((id, position) => uuid(id, `ended[${position}]`)),
  };
}

function parseRenewal(item: unknown, path: string): HoldRenewal {
  const { holdId, sequence, usage } = record(item, path);
  return {
    holdId: uuid(holdId, `${path}holdId`),
    sequence: integer(sequence, 1, `${path}sequence`),
    usage: tokenUsage(usage, `${path}usage.`),
  };
}

function pinnedPrice(value: unknown, path: string): PinnedPrice {
  const { version, inputPicoUsd, cachedInputPicoUsd, outputPicoUsd } = record(value, path);
  return {
    version: integer(version, 1, `${path}version`),
    inputPicoUsd: tokenPrice(inputPicoUsd, `${path}inputPicoUsd`),
    cachedInputPicoUsd: tokenPrice(cachedInputPicoUsd, `${path}cachedInputPicoUsd`),
    outputPicoUsd: tokenPrice(outputPicoUsd, `${path}outputPicoUsd`),
  };
}

function tokenUsage(value: unknown, path: string): TokenUsage {
  const usage = record(value, path);
  const { promptTokens, cachedTokens, outputTokens, reasoningTokens } = usage;
  const { promptSource, outputSource } = usageSources(usage, path);
  return {
    promptTokens: integer(promptTokens, 0, `${path}promptTokens`),
    cachedTokens: integer(cachedTokens, 0, `${path}cachedTokens`),
    outputTokens: integer(outputTokens, 0, `${path}outputTokens`),
    reasoningTokens: integer(reasoningTokens, 0, `${path}reasoningTokens`),
    promptSource,
    outputSource,
  };
}

function usageSources({ promptSource, outputSource, source }: Record<string, unknown>, path: string): UsageSources {
  const former = promptSource === undefined && outputSource === undefined ? sourcesOfFormer(source) : undefined;
  if (former) return former;
  const ofPrompt = PROMPT_SOURCES.find((one) => one === promptSource);
  if (!ofPrompt) throw invalid(`${path}promptSource`);
  const ofOutput = OUTPUT_SOURCES.find((one) => one === outputSource);
  if (!ofOutput) throw invalid(`${path}outputSource`);
  return { promptSource: ofPrompt, outputSource: ofOutput };
}

/** Undefined where the caller does not say, or names a service that this version does not know. */
function settler(value: unknown): Settler | undefined {
  return SETTLERS.find((one) => one === value);
}

function record(value: unknown, path: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null) throw invalid(path.slice(0, -1));
  return value as Record<string, unknown>;
}

function items(value: unknown, path: string, max = ITEMS_MAX): unknown[] {
  if (!Array.isArray(value) || value.length > max) throw invalid(path);
  return value;
}

function uuid(value: unknown, path: string): string {
  if (typeof value !== 'string') throw invalid(path);
  const id = value.toLowerCase();
  if (!UUID.test(id)) throw invalid(path);
  return id;
}

function text(value: unknown, lengthMax: number, path: string): string {
  // A NUL is the one character Postgres does not store: it would spoil the whole batch.
  if (typeof value !== 'string' || value.length === 0 || value.length > lengthMax || value.includes('\0')) throw invalid(path);
  return value;
}

function amount(value: unknown, path: string): string {
  if (typeof value !== 'string' || !PICO_USD.test(value)) throw invalid(path);
  return value;
}

function tokenPrice(value: unknown, path: string): string {
  const price = amount(value, path);
  if (price.length > 18 && BigInt(price) > HOLD_MAX) throw invalid(path);
  return price;
}

function integer(value: unknown, min: number, path: string): number {
  if (!Number.isInteger(value) || (value as number) < min || (value as number) > INT_MAX) throw invalid(path);
  return value as number;
}

function invalid(path: string): ServiceError {
  return new ServiceError('invalid_request', `Missing or invalid: ${path || 'payload'}.`, path || undefined);
}
