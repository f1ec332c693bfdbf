import { randomUUID } from 'node:crypto';
import { digestApiKey } from '#contracts/api-key.js';
import type {
  ApiKey,
  CreatedKey,
  KeyCreateRequest,
  KeyListReply,
  KeyListRequest,
  KeyRotateRequest,
  KeyUpdateRequest,
  RotatedKey,
} from '#contracts/billing/keys.js';
import { makeApiKey } from '#contracts/make-api-key.js';
import { ServiceError } from '#contracts/service-error.js';
import { type Author, audited, changedFields } from '#database/audit-journal.js';
import type { Prisma, PrismaClient } from '#database/prisma-client.js';
import { isDuplicate, isMissing } from '../accounts/prisma-errors.js';
import { OWN_AUTHOR } from '../audit/own-author.js';
import { refuseTooManyKeys } from '../limits/maxima.js';
import { findLevel } from '../limits/operator-limits.js';
import { demandOwnId } from '../limits/own-id.js';
import type { Limits } from '../limits/rate-limit.js';
import { namesLimits, type ShownLimits, setLimits, toLimits } from '../limits/set-limits.js';
import { addMarks } from '../managed/marks.js';
import { oldestFirst, readPage } from '../paging/read-page.js';
import { searchIn } from '../paging/search.js';
import { findStatus } from '../payer/key-status.js';
import { lockAccount } from '../sql/lock-account.js';
import { readLastUses } from '../usage/read-last-uses.js';
import { storedDigest } from './key-digest.js';

/**
 * Makes a key. The reply is the only place that has the whole key.
 * @throws {ServiceError} `not_found` for an unknown project, `conflict` when the id was used before or the account has as many active keys as
 * it may, `invalid_request` for an end that has passed.
 */
export async function createKey(
  prisma: PrismaClient,
  request: KeyCreateRequest,
  pepper: string,
  author: Author = OWN_AUTHOR,
): Promise<CreatedKey> {
  const { key, ...secret } = newSecret(pepper);
  return { ...(await addKey(prisma, request, secret, author)), key };
}

/** As `createKey`, for a secret that the caller has made. */
export async function addKey(
  prisma: PrismaClient,
  request: KeyCreateRequest,
  secret: StoredSecret,
  author: Author = OWN_AUTHOR,
): Promise<ApiKey> {
  const { keyId: id = randomUUID(), projectId, name, note, models, networks } = request;
  const expiresAt = parseEnd(request.expiresAt);
  return onlyOnce('keyId', () =>
    audited(prisma, 'billing', author, async (tx) => {
      const data = { id, projectId, name, note, expiresAt, models, networks, createdBy: describeActor(author), ...secret };
      const { project, ...row } = await tx.apiKey.create({ data, include: { project: true } });
      await demandOwnId(tx, id, 'keyId');
      const made = renderKey(row, await setLimits(tx, auditTarget(row, project), limitsIn(request), findLevel(author)));
      await refuseTooManyKeys(tx, project.accountId, 'projectId');
      return { result: made, change: { ...describeChange('key.create', made, project), before: null, after: { ...made } } };
    }),
  );
}

/**
 * Changes the given fields; null clears one. Requests see the change from their next reserve on.
 * @throws {ServiceError} `not_found`; `conflict` when the key is revoked, or was replaced and would end later, or had expired and the account has
 * as many active keys as it may; `permission_denied` for a customer's limit above the operator's; `invalid_request` for an end that has passed.
 */
export async function updateKey(prisma: PrismaClient, request: KeyUpdateRequest, author = OWN_AUTHOR): Promise<ApiKey> {
  const { keyId: id, name, note, disabled, models, networks } = request;
  const expiresAt = parseEnd(request.expiresAt);
  return audited(prisma, 'billing', author, async (tx) => {
    const { row, project, now } = await lockKey(tx, id);
    if (row.revokedAt) throw new ServiceError('conflict', 'The key is revoked, and stays so. Create another.', 'keyId');
    if (row.replacedBy && wouldEndLater(row, expiresAt))
      throw new ServiceError('conflict', 'The key was replaced: its end may only move to an earlier time.', 'expiresAt');
    if (namesLimits(limitsIn(request))) await lockAccount(tx, project.accountId); // batches lock it before the project, which the update locks
    const before = renderKey(row, await readKeyLimits(tx, row));
    const changedRow = await tx.apiKey.update({ where: { id }, data: { name, note, disabled, expiresAt, models, networks } });
    const key = renderKey(changedRow, await setLimits(tx, auditTarget(row, project), limitsIn(request), findLevel(author)));
    const hadExpired = row.expiresAt !== null && row.expiresAt <= now;
    if (hadExpired && expiresAt !== undefined) await refuseTooManyKeys(tx, project.accountId, 'expiresAt');
    const changed = changedFields({ modelLimits: undefined, operatorLimits: undefined, ...before }, key);
    return { result: key, change: changed && { ...describeChange('key.update', key, project), ...changed } };
  });
}

/**
 * Makes a key with the settings of another, which ends after the grace, by the database's clock. Both are valid during it. They share budgets
 * and limits.
 * @throws {ServiceError} `not_found`; `conflict` when the key is not active or was replaced before, the new id was used, or for a grace when
 * the account has as many active keys as it may; `invalid_request` for an end that has passed.
 */
export async function rotateKey(
  prisma: PrismaClient,
  request: KeyRotateRequest,
  pepper: string,
  author: Author = OWN_AUTHOR,
): Promise<RotatedKey> {
  const { keyId, newKeyId: id = randomUUID(), graceSeconds } = request;
  const newEnd = parseEnd(request.expiresAt);
  const { key, ...secret } = newSecret(pepper);
  return onlyOnce('newKeyId', () =>
    audited(prisma, 'billing', author, async (tx) => {
      const { row, project, now } = await lockKey(tx, keyId);
      const limits = await readKeyLimits(tx, row);
      const old = renderKey(row, limits);
      if (row.replacedBy)
        throw new ServiceError('conflict', `The key was replaced before, by ${row.replacedBy}. Rotate that one.`, 'keyId');
      const status = findStatus(old, now.getTime());
      if (status !== 'active') throw new ServiceError('conflict', `The key is ${status}. Only an active key can be rotated.`, 'keyId');
      const { projectId, name, note, models, networks } = row;
      const expiresAt = newEnd === undefined ? row.expiresAt : newEnd;
      const settings = { projectId, name, note, expiresAt, models, networks };
      const data = { id, ...settings, rootKeyId: findRoot(row), createdBy: describeActor(author), ...secret };
      const made = renderKey(await tx.apiKey.create({ data }), limits);
      await demandOwnId(tx, id, 'newKeyId');
      const graceEnd = new Date(now.getTime() + graceSeconds * 1_000);
      const end = row.expiresAt && row.expiresAt < graceEnd ? row.expiresAt : graceEnd;
      const replaced = renderKey(await tx.apiKey.update({ where: { id: keyId }, data: { expiresAt: end, replacedBy: id } }), limits);
      // Without a grace no key is added: a rotation is then always possible.
      if (graceSeconds > 0) await refuseTooManyKeys(tx, project.accountId, 'graceSeconds');
      const changed = (one: ApiKey) => ({ expiresAt: one.expiresAt, replacedBy: one.replacedBy });
      return {
        result: { ...made, key, replaced },
        change: [
          { ...describeChange('key.create', made, project), before: null, after: { ...made } },
          { ...describeChange('key.rotate', replaced, project), before: changed(old), after: changed(replaced) },
        ],
      };
    }),
  );
}

/**
 * Revokes a key permanently. Repeating it changes nothing.
 * @throws {ServiceError} `not_found`.
 */
export async function revokeKey(prisma: PrismaClient, keyId: string, author = OWN_AUTHOR): Promise<ApiKey> {
  return audited(prisma, 'billing', author, async (tx) => {
    const { row, project } = await lockKey(tx, keyId);
    const limits = await readKeyLimits(tx, row);
    if (row.revokedAt) return { result: renderKey(row, limits), change: null };
    const key = renderKey(await tx.apiKey.update({ where: { id: keyId }, data: { revokedAt: new Date() } }), limits);
    const [before, after] = [{ revokedAt: null }, { revokedAt: key.revokedAt }];
    return { result: key, change: { ...describeChange('key.revoke', key, project), before, after } };
  });
}

/** Lists keys, oldest first, those that are not active included. */
export async function listKeys(prisma: PrismaClient, request: KeyListRequest): Promise<KeyListReply> {
  const { keyId: id, projectId, accountId, endsBefore, search } = request;
  const now = Date.now();
  const where = {
    id,
    projectId,
    ...(accountId && { project: { accountId } }),
    ...(endsBefore && { expiresAt: { gt: new Date(now), lt: new Date(endsBefore) }, disabled: false, revokedAt: null }),
    ...searchIn(search, ['name', 'note', 'lastFour']),
  };
  const { rows, nextCursor } = await readPage(['keys', id, projectId, accountId, endsBefore, search], request, (page) =>
    prisma.apiKey.findMany({ where, include: { limits: true, root: { include: { limits: true } } }, orderBy: [...oldestFirst], ...page }),
  );
  const lastUses = await readLastUses(
    prisma,
    rows.map(({ id }) => id),
  );
  const keys = rows.map((row) => {
    const key = renderKey(row, toLimits((row.root ?? row).limits[0]));
    return { ...key, status: findStatus(key, now), lastUsedAt: lastUses.get(row.id)?.toISOString() ?? null };
  });
  return { keys: await addMarks(prisma, 'key', keys, ({ rootKeyId }) => rootKeyId), nextCursor };
}

function limitsIn({ requestsPerMinuteMax, concurrencyMax, tokensPerMinuteMax, modelLimits }: Partial<Limits>): Partial<Limits> {
  return { requestsPerMinuteMax, concurrencyMax, tokensPerMinuteMax, modelLimits };
}

/** Returns the target of the key's limits, which it shares with the keys that it replaced. */
function auditTarget(key: Prisma.ApiKeyModel, { accountId }: Prisma.ProjectModel) {
  return { accountId, projectId: key.projectId, keyId: findRoot(key) };
}

function findRoot({ id, rootKeyId }: Prisma.ApiKeyModel): string {
  return rootKeyId ?? id;
}

async function readKeyLimits(tx: Prisma.TransactionClient, key: Prisma.ApiKeyModel): Promise<ShownLimits> {
  return toLimits(await tx.rateLimit.findUnique({ where: { id: findRoot(key) } }));
}

function describeActor({ caller: { actor, actorName } }: Author): string {
  return actorName ?? actor;
}

/** Columns of the secret of a key. */
interface StoredSecret {
  digest: Uint8Array<ArrayBuffer>;
  lastFour: string;
}

function newSecret(pepper: string): StoredSecret & { key: string } {
  const key = makeApiKey();
  return { key, digest: storedDigest(digestApiKey(key), pepper), lastFour: key.slice(-4) };
}

/** Returns the end of a key: null for none, undefined when the request does not name one. */
function parseEnd(expiresAt: string | null | undefined): Date | null | undefined {
  if (expiresAt === undefined || expiresAt === null) return expiresAt;
  const end = new Date(expiresAt);
  if (!(end.getTime() > Date.now())) throw new ServiceError('invalid_request', 'expiresAt must be in the future.', 'expiresAt');
  return end;
}

/** True when the new end is none or later than the present one. The rotation of a key sets the latest end that it may have. */
function wouldEndLater(row: Prisma.ApiKeyModel, newEnd: Date | null | undefined): boolean {
  return newEnd === null || (newEnd !== undefined && row.expiresAt !== null && newEnd > row.expiresAt);
}

/** Locks a key, so that `before` is the row that a change replaces. `now` is the database's clock, in whole milliseconds. */
async function lockKey(
  tx: Prisma.TransactionClient,
  id: string,
): Promise<{ row: Prisma.ApiKeyModel; project: Prisma.ProjectModel; now: Date }> {
  const [clock] = await tx.$queryRaw<{ now: Date }[]>`SELECT date_trunc('milliseconds', clock_timestamp()) AS now
    FROM billing.api_key WHERE id = ${id}::uuid FOR NO KEY UPDATE`;
  const found = clock && (await tx.apiKey.findUnique({ where: { id }, include: { project: true } }));
  if (!found) throw new ServiceError('not_found', 'There is no such key.', 'keyId');
  const { project, ...row } = found;
  return { row, project, now: clock.now };
}

/** Turns the errors of an insert into refusals. `param` is the field with the id of the new key. */
async function onlyOnce<Made>(param: string, make: () => Promise<Made>): Promise<Made> {
  try {
    return await make();
  } catch (error) {
    if (isMissing(error)) throw new ServiceError('not_found', 'There is no such project.', 'projectId', { cause: error });
    if (isDuplicate(error)) {
      throw new ServiceError('conflict', 'This key was made before, and is not shown again: revoke it and make another.', param, {
        cause: error,
      });
    }
    throw error;
  }
}

function describeChange(action: string, { keyId }: ApiKey, { accountId }: { accountId: string }) {
  return { action, accountId, target: `key/${keyId}`, reason: null };
}

export function renderKey(row: Prisma.ApiKeyModel, { modelLimits, ...limits }: ShownLimits): ApiKey {
  return {
    keyId: row.id,
    rootKeyId: findRoot(row),
    projectId: row.projectId,
    name: row.name,
    note: row.note,
    lastFour: row.lastFour,
    createdAt: row.createdAt.toISOString(),
    createdBy: row.createdBy,
    expiresAt: row.expiresAt?.toISOString() ?? null,
    disabled: row.disabled,
    models: row.models,
    networks: row.networks,
    ...limits,
    ...(modelLimits && { modelLimits: [...modelLimits] }),
    replacedBy: row.replacedBy,
    revokedAt: row.revokedAt?.toISOString() ?? null,
  };
}
