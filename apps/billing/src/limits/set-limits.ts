import type { ModelLimit } from '#contracts/billing/model-limits.js';
import { ServiceError } from '#contracts/service-error.js';
import { Prisma } from '#database/prisma-client.js';
import { readKeysOfRoot } from '../keys/key-roots.js';
import type { Limits } from './rate-limit.js';

/** The first key of rotations, or a project where `keyId` is null. */
interface Target {
  accountId: string;
  projectId: string;
  keyId: string | null;
}

export const NO_LIMITS: Limits = { requestsPerMinuteMax: null, concurrencyMax: null, tokensPerMinuteMax: null };

/** True when a request names a limit, null included. */
export function namesLimits(changes: Partial<Limits>): boolean {
  return Object.values(changes).some((limit) => limit !== undefined);
}

/**
 * Sets the given limits of a target, of which null removes one and an empty list those by model, and returns all of them. Requests see the change from their next reserve on.
 * Open holds count towards a new limit on concurrency; windows start empty. Locks the account: call it before the project's row is locked,
 * since batches lock in this order.
 * @throws {ServiceError} `invalid_request` for a pattern of models twice or without a limit.
 */
export async function setLimits(tx: Prisma.TransactionClient, target: Target, changes: Partial<Limits>): Promise<Limits> {
  const { accountId, projectId, keyId } = target;
  const id = keyId ?? projectId;
  checkModelLimits(changes.modelLimits ?? []);
  if (namesLimits(changes)) await lockAccount(tx, accountId);
  const row = await tx.rateLimit.findUnique({ where: { id } });
  const limits = limitsOfRow(row);
  for (const [name, limit] of Object.entries(changes)) if (limit !== undefined) Object.assign(limits, { [name]: limit });
  if (limits.modelLimits?.length === 0) delete limits.modelLimits;
  if (!namesLimits(changes)) return limits;
  const isLimited = Object.values(limits).some((limit) => limit !== null);
  if (row && !isLimited) await tx.rateLimit.delete({ where: { id } });
  else if (row) await tx.rateLimit.update({ where: { id }, data: { ...columnsOf(limits), modelWindows: windowsLeft(row, limits) } });
  else if (isLimited) {
    const openHolds = await tx.hold.count({
      where: { accountId, projectId, ...(keyId !== null && { keyId: { in: await readKeysOfRoot(tx, keyId) } }) },
    });
    await tx.rateLimit.create({ data: { id, ...target, ...columnsOf(limits), openHolds } });
  }
  return limits;
}

function checkModelLimits(modelLimits: readonly ModelLimit[]): void {
  const patterns = new Set(modelLimits.map(({ model }) => model));
  const isEmpty = modelLimits.some(({ requestsPerMinuteMax, tokensPerMinuteMax }) => !requestsPerMinuteMax && !tokensPerMinuteMax);
  if (isEmpty) throw new ServiceError('invalid_request', 'each pattern of models needs a limit', 'modelLimits');
  if (patterns.size < modelLimits.length) throw new ServiceError('invalid_request', 'a pattern of models is there twice', 'modelLimits');
}

function columnsOf({ modelLimits, ...limits }: Limits) {
  return { ...limits, modelLimits: modelLimits ? (modelLimits as unknown as Prisma.InputJsonValue) : Prisma.DbNull };
}

/** Returns the windows of the patterns that stay. Those of a new one start empty. */
function windowsLeft({ modelWindows }: Prisma.RateLimitModel, { modelLimits = [] }: Limits): Prisma.InputJsonObject {
  const stays = (pattern: string): boolean => modelLimits.some(({ model }) => model === pattern);
  return Object.fromEntries(Object.entries(modelWindows as Prisma.InputJsonObject).filter(([pattern]) => stays(pattern)));
}

/** Locks the account, for which batches wait. */
export async function lockAccount(tx: Prisma.TransactionClient, accountId: string): Promise<void> {
  await tx.$queryRaw`SELECT FROM billing.account WHERE id = ${accountId}::uuid FOR NO KEY UPDATE`;
}

/** Returns the limits of a row; none where there is no row. */
export function limitsOfRow(row: (Omit<Limits, 'modelLimits'> & { modelLimits?: unknown }) | null | undefined): Limits {
  const { requestsPerMinuteMax, concurrencyMax, tokensPerMinuteMax, modelLimits } = row ?? NO_LIMITS;
  return { requestsPerMinuteMax, concurrencyMax, tokensPerMinuteMax, ...(modelLimits ? { modelLimits: modelLimits as ModelLimit[] } : {}) };
}
