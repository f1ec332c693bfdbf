import { randomUUID } from 'node:crypto';
import { digestApiKey } from '#contracts/api-key.js';
import type { ApiKey, KeyCreateRequest, KeyListReply, KeyListRequest } from '#contracts/billing/keys.js';
import { ServiceError } from '#contracts/service-error.js';
import { audited } from '#database/audit-journal.js';
import type { Prisma, PrismaClient } from '#database/prisma-client.js';
import { isDuplicate, isMissing } from '../accounts/database-refusal.js';
import { OWN_AUTHOR } from '../audit/own-author.js';
import { oldestFirst, pageOf } from '../paging/page-of.js';
import { readLastUses } from '../usage/read-last-uses.js';
import { storedDigest } from './key-digest.js';
import { makeApiKey } from './make-api-key.js';

/**
 * Makes a key. The reply is the only place that has the whole key.
 * @throws {ServiceError} `not_found` for an unknown project, `conflict` when the id was used before.
 */
export async function createKey(
  prisma: PrismaClient,
  request: KeyCreateRequest,
  pepper: string,
  author = OWN_AUTHOR,
): Promise<ApiKey & { key: string }> {
  const key = makeApiKey();
  const digest = storedDigest(digestApiKey(key), pepper);
  try {
    const data = { id: request.keyId ?? randomUUID(), projectId: request.projectId, name: request.name, digest, lastFour: key.slice(-4) };
    return await audited(prisma, 'billing', author, async (tx) => {
      const { project, ...row } = await tx.apiKey.create({ data, include: { project: true } });
      const made = renderKey(row);
      const change = { action: 'key.create', accountId: project.accountId, target: `key/${made.keyId}`, reason: null };
      return { result: { ...made, key }, change: { ...change, before: null, after: { ...made } } };
    });
  } catch (error) {
    if (isMissing(error)) throw new ServiceError('not_found', 'There is no such project.', 'projectId', { cause: error });
    if (isDuplicate(error)) {
      throw new ServiceError('conflict', 'This key was made before, and is not shown again: revoke it and make another.', 'keyId', {
        cause: error,
      });
    }
    throw error;
  }
}

/**
 * Revokes a key permanently. Repeating it changes nothing.
 * @throws {ServiceError} `not_found`.
 */
export async function revokeKey(prisma: PrismaClient, keyId: string, author = OWN_AUTHOR): Promise<ApiKey> {
  return audited(prisma, 'billing', author, async (tx) => {
    const { count } = await tx.apiKey.updateMany({ where: { id: keyId, revokedAt: null }, data: { revokedAt: new Date() } });
    const row = await tx.apiKey.findUnique({ where: { id: keyId }, include: { project: true } });
    if (!row) throw new ServiceError('not_found', 'There is no such key.', 'keyId');
    const key = renderKey(row);
    const change = { action: 'key.revoke', accountId: row.project.accountId, target: `key/${keyId}`, reason: null };
    const [before, after] = [{ revokedAt: null }, { revokedAt: key.revokedAt }];
    return { result: key, change: count === 0 ? null : { ...change, before, after } };
  });
}

/** Lists keys, oldest first, revoked ones included. */
export async function listKeys(prisma: PrismaClient, request: KeyListRequest): Promise<KeyListReply> {
  const where = {
    id: request.keyId,
    projectId: request.projectId,
    ...(request.accountId && { project: { accountId: request.accountId } }),
  };
  const { rows, nextCursor } = await pageOf(['keys', where], request, (page) =>
    prisma.apiKey.findMany({ where, orderBy: [...oldestFirst], ...page }),
  );
  const lastUses = await readLastUses(
    prisma,
    rows.map(({ id }) => id),
  );
  return { keys: rows.map((row) => ({ ...renderKey(row), lastUsedAt: lastUses.get(row.id)?.toISOString() ?? null })), nextCursor };
}

function renderKey(row: Prisma.ApiKeyModel): ApiKey {
  return {
    keyId: row.id,
    projectId: row.projectId,
    name: row.name,
    lastFour: row.lastFour,
    createdAt: row.createdAt.toISOString(),
    revokedAt: row.revokedAt?.toISOString() ?? null,
  };
}
