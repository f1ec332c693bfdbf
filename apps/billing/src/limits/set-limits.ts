import { isDeepStrictEqual } from 'node:util';
import type { ModelLimit, OperatorLimits } from '#contracts/billing/model-limits.js';
import { ServiceError } from '#contracts/service-error.js';
import { Prisma } from '#database/prisma-client.js';
import { readRootKeys } from '../payer/key-roots.js';
import { lockAccount } from '../sql/lock-account.js';
import { type Level, pickSetLimits, requireWithin } from './operator-limits.js';
import type { Limits } from './rate-limit.js';

/** The first key of rotations; a project where `keyId` is null; an account where `projectId` is null too. */
interface Target {
  accountId: string;
  projectId: string | null;
  keyId: string | null;
}

/** Limits as contracts show them. */
export interface ShownLimits extends Limits {
  /** The most that the operator allows. Absent: all limits are the operator's. */
  operatorLimits?: OperatorLimits;
}

export const NO_LIMITS: Limits = { requestsPerMinuteMax: null, concurrencyMax: null, tokensPerMinuteMax: null };

/** True when a request names a limit, null included. */
export function namesLimits(changes: Partial<Limits>): boolean {
  return Object.values(changes).some((limit) => limit !== undefined);
}

/**
 * Sets the given limits of a target, of which null removes one and an empty list those by model, and returns all of them. Requests see the change from their next reserve on.
 * Open holds count towards a new limit on concurrency; windows start empty. What the operator sets replaces the customer's, and is the most
 * that a customer may set. Locks the account: call it before the project's row is locked, since batches lock in this order.
 * @throws {ServiceError} `invalid_request` for a pattern of models twice or without a limit, `permission_denied` for a customer's limit above
 * the operator's, `conflict` when the limits of this id are another target's.
 */
export async function setLimits(
  tx: Prisma.TransactionClient,
  target: Target,
  changes: Partial<Limits>,
  level: Level,
): Promise<ShownLimits> {
  const { accountId, projectId, keyId } = target;
  const id = keyId ?? projectId ?? accountId;
  checkModelLimits(changes.modelLimits ?? []);
  if (namesLimits(changes)) await lockAccount(tx, accountId);
  const row = await tx.rateLimit.findUnique({ where: { id } });
  if (row && (row.accountId !== accountId || row.projectId !== projectId || row.keyId !== keyId))
    throw new ServiceError('conflict', 'This id belongs to another account, project or key.');
  if (!namesLimits(changes)) return toLimits(row);
  const { operatorLimits: _, ...old } = toLimits(row);
  const before = toOperatorLimits(row);
  const limits = changed(old, changes);
  const operator = level === 'operator' ? pickSetLimits(changed({ ...NO_LIMITS, ...before }, changes)) : before;
  if (level === 'customer') requireWithin(limits, operator);
  const isAllOperators = isDeepStrictEqual(operator, pickSetLimits(limits));
  const after = { ...limits, ...(!isAllOperators && { operatorLimits: operator }) };
  const isLimited = Object.keys(pickSetLimits(limits)).length > 0;
  if (row && !isLimited) await tx.rateLimit.delete({ where: { id } });
  else if (row) await tx.rateLimit.update({ where: { id }, data: { ...toColumns(after), modelWindows: windowsLeft(row, limits) } });
  else if (isLimited) {
    const openHolds = projectId === null ? 0 : await countHolds(tx, { accountId, projectId, keyId });
    await tx.rateLimit.create({ data: { id, ...target, ...toColumns(after), openHolds } });
  }
  return after;
}

function changed(limits: Limits, changes: Partial<Limits>): Limits {
  const given = Object.fromEntries(Object.entries(changes).filter(([, limit]) => limit !== undefined));
  const { modelLimits, ...all } = { ...limits, ...given };
  return { ...all, ...(modelLimits && modelLimits.length > 0 && { modelLimits }) };
}

async function countHolds(tx: Prisma.TransactionClient, target: { accountId: string; projectId: string; keyId: string | null }) {
  const { keyId, ...where } = target;
  return tx.hold.count({ where: { ...where, ...(keyId !== null && { keyId: { in: await readRootKeys(tx, keyId) } }) } });
}

/** Throws `ServiceError('invalid_request')` for a pattern twice or without a limit. */
export function checkModelLimits(modelLimits: readonly ModelLimit[]): void {
  const patterns = new Set(modelLimits.map(({ model }) => model));
  const isEmpty = modelLimits.some(({ requestsPerMinuteMax, tokensPerMinuteMax }) => !requestsPerMinuteMax && !tokensPerMinuteMax);
  if (isEmpty) throw new ServiceError('invalid_request', 'each pattern of models needs a limit', 'modelLimits');
  if (patterns.size < modelLimits.length) throw new ServiceError('invalid_request', 'a pattern of models is there twice', 'modelLimits');
}

function toColumns({ modelLimits, operatorLimits, ...limits }: ShownLimits) {
  return { ...limits, modelLimits: toJson(modelLimits), operatorLimits: toJson(operatorLimits) };
}

function toJson(value: object | undefined) {
  return value ? (value as Prisma.InputJsonValue) : Prisma.DbNull;
}

/** Returns the windows of the patterns that stay. Those of a new one start empty. */
function windowsLeft({ modelWindows }: Prisma.RateLimitModel, { modelLimits = [] }: Limits): Prisma.InputJsonObject {
  const stays = (pattern: string): boolean => modelLimits.some(({ model }) => model === pattern);
  return Object.fromEntries(Object.entries(modelWindows as Prisma.InputJsonObject).filter(([pattern]) => stays(pattern)));
}

type LimitsRow = Omit<Limits, 'modelLimits'> & { modelLimits?: unknown; operatorLimits?: unknown };

/** Returns the limits of a row; none where there is no row. */
export function toLimits(row: LimitsRow | null | undefined): ShownLimits {
  const { requestsPerMinuteMax, concurrencyMax, tokensPerMinuteMax, modelLimits, operatorLimits } = row ?? (NO_LIMITS as LimitsRow);
  return {
    ...{ requestsPerMinuteMax, concurrencyMax, tokensPerMinuteMax },
    ...(modelLimits ? { modelLimits: modelLimits as ModelLimit[] } : {}),
    ...(operatorLimits ? { operatorLimits: operatorLimits as OperatorLimits } : {}),
  };
}

/** Returns the limits of a row that the operator has set. */
export function toOperatorLimits(row: LimitsRow | null | undefined): OperatorLimits {
  const { operatorLimits, ...limits } = toLimits(row);
  return operatorLimits ?? pickSetLimits(limits);
}
