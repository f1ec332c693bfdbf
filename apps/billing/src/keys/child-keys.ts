import type { ChildKeyMintRequest, ChildKeyRevokeRequest, MintedChildKey, RevokedChildKeys } from '#contracts/billing/child-keys.js';
import { REVOKED_CHILDREN_MAX } from '#contracts/billing/child-keys.js';
import { type ChildLevel, readEnd } from '#contracts/child-keys/child-key.js';
import { mintChild, WiderChildError } from '#contracts/child-keys/narrow-child.js';
import { isBelowChild, readChildEnd } from '#contracts/rules/child-path.js';
import { ServiceError } from '#contracts/service-error.js';
import { type Author, audited } from '#database/audit-journal.js';
import { Prisma, type PrismaClient } from '#database/prisma-client.js';
import { OWN_AUTHOR } from '../audit/own-author.js';
import { KEY_IS_ACTIVE } from '../payer/key-status.js';
import { type ChildBudget, findDelegation, SELECT_CHILD_BUDGET } from './delegation.js';

/**
 * Makes a child key of a key. Nothing but the journal keeps that it was made: see `mintChild`.
 * @throws {ServiceError} `not_found` for an unknown key, `conflict` for one that may have no child keys, `invalid_request` for a field that is
 * wider than the key's.
 */
export async function mintChildKey(
  prisma: PrismaClient,
  { keyId, ...wanted }: ChildKeyMintRequest,
  pepper: string,
  author: Author = OWN_AUTHOR,
): Promise<MintedChildKey> {
  return audited(prisma, 'billing', author, async (tx) => {
    const { accountId, isActive, models, networks, expiresAt, ...budget } = await readParent(tx, keyId);
    const delegation = findDelegation({ keyId, revokedChildren: null, ...budget }, pepper);
    if (!isActive) throw new ServiceError('conflict', 'The key is not active.', 'keyId');
    if (!delegation) {
      const message =
        'No budget lets the key have child keys. Set one with the dimension child and the period total, of the key, its project or account.';
      throw new ServiceError('conflict', message, 'keyId');
    }
    const endsAt = expiresAt?.getTime() ?? Number.POSITIVE_INFINITY;
    const signingKey = Buffer.from(delegation.signingKey, 'base64');
    const parent = { keyId, signingKey, levels: [], limit: BigInt(delegation.limitPicoUsd), endsAt, models, networks };
    const { key, levels } = mintWithin(() => mintChild(parent, wanted));
    const { path: childId, limitPicoUsd, ...narrowed } = levels.at(-1) as ChildLevel;
    const result = { childId, keyId, key, expiresAt: new Date(readEnd(levels)).toISOString(), limitPicoUsd };
    const after = { childId, expiresAt: result.expiresAt, limitPicoUsd, ...narrowed };
    return { result, change: { action: 'child-key.create', accountId, target: `key/${keyId}`, reason: null, before: null, after } };
  });
}

/**
 * Revokes a child key and all below it, at once. It stays in the list of its key until it would have ended.
 * @throws {ServiceError} `not_found` for an unknown key, `conflict` when the list is full.
 */
export async function revokeChildKey(
  prisma: PrismaClient,
  { keyId, childId }: ChildKeyRevokeRequest,
  author: Author = OWN_AUTHOR,
): Promise<RevokedChildKeys & { projectId: string }> {
  return audited(prisma, 'billing', author, async (tx) => {
    const [key] = await tx.$queryRaw<{ accountId: string; projectId: string; revoked: string[] }[]>`
      SELECT p.account_id::text AS "accountId", p.id::text AS "projectId", k.revoked_children AS revoked
      FROM billing.api_key k JOIN billing.project p ON p.id = k.project_id WHERE k.id = ${keyId}::uuid FOR NO KEY UPDATE OF k`;
    if (!key) throw noSuchKey();
    const { accountId, projectId, revoked: before } = key;
    const isRevoked = before.some((revoked) => isBelowChild(childId, revoked));
    const rest = before.filter((revoked) => Date.now() < readChildEnd(revoked) && !isBelowChild(revoked, childId));
    if (isRevoked || readChildEnd(childId) <= Date.now()) return { result: { keyId, projectId, revoked: before }, change: null };
    if (rest.length >= REVOKED_CHILDREN_MAX) {
      const message = `The key has ${REVOKED_CHILDREN_MAX} revoked child keys, which is the most. Revoke one that is above several of them, or the key.`;
      throw new ServiceError('conflict', message, 'childId');
    }
    const revoked = [...rest, childId];
    await tx.apiKey.update({ where: { id: keyId }, data: { revokedChildren: revoked } });
    const change = { action: 'child-key.revoke', accountId, target: `key/${keyId}`, reason: null, before: null, after: { childId } };
    return { result: { keyId, projectId, revoked }, change };
  });
}

interface Parent extends ChildBudget {
  accountId: string;
  isActive: boolean;
  models: string[];
  networks: string[];
  expiresAt: Date | null;
}

async function readParent(tx: Prisma.TransactionClient, keyId: string): Promise<Parent> {
  const [parent] = await tx.$queryRaw<
    Parent[]
  >`SELECT p.account_id::text AS "accountId", ${Prisma.raw(KEY_IS_ACTIVE)} AND p.enabled AS "isActive",
      k.models, k.networks, k.expires_at AS "expiresAt", c.*
    FROM billing.api_key k JOIN billing.project p ON p.id = k.project_id LEFT JOIN LATERAL (${Prisma.raw(SELECT_CHILD_BUDGET)}) c ON true
    WHERE k.id = ${keyId}::uuid`;
  if (!parent) throw noSuchKey();
  return parent;
}

function noSuchKey(): ServiceError {
  return new ServiceError('not_found', 'There is no such key.', 'keyId');
}

function mintWithin<Minted>(mint: () => Minted): Minted {
  try {
    return mint();
  } catch (error) {
    if (!(error instanceof WiderChildError)) throw error;
    throw new ServiceError('invalid_request', `${error.message}.`, error.field, { cause: error });
  }
}
