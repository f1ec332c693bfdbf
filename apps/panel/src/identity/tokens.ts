import { randomUUIDv7 } from 'node:crypto';
import type { Author } from '#database/audit-journal.js';
import type { Prisma, PrismaClient } from '#database/prisma-client.js';
import { journaled, ROWS_MAX, type WriteEntry } from '../audit/journaled.js';
import { PanelError } from '../errors/panel-error.js';
import { Access } from '../permissions/permissions.js';
import { newestFirst, type PageQuery, toPage } from '../requests/page.js';
import type { Caller } from '../requests/panel-request.js';
import {
  type CreatedToken,
  PERMISSIONS,
  type Permission,
  type Token,
  type TokenCreateRequest,
  type TokenListReply,
} from '../shapes/identity.js';
import { toAccess } from './grants.js';
import { lockCaller } from './person-lock.js';
import { computeDigest, isWellFormedToken, makeToken } from './secret.js';

/** `used_at` is written once in this time. */
const USED_MS = 60_000;
const EXPIRY_MAX_MS = 366 * 86_400_000;
/** A person's tokens that work: the end of their access writes a row for each. */
const TOKENS_MAX = 100;

/** Permissions that a token cannot have: a leaked one could make others. */
const NEVER: ReadonlySet<Permission> = new Set(['members', 'tokens']);

/** Tokens of programs. */
export class Tokens {
  constructor(private readonly prisma: PrismaClient) {}

  /**
   * Returns the caller of a token; undefined when it is unknown, expired or revoked, or its maker is disabled. A token never has more
   * permissions than its maker has now.
   */
  async find(token: string): Promise<Caller | undefined> {
    if (!isWellFormedToken(token)) return undefined;
    const now = new Date();
    const row = await this.prisma.panelToken.findUnique({
      where: { digest: computeDigest(token) },
      include: { maker: { include: { grants: true } } },
    });
    if (!row || row.revokedAt !== null || row.expiresAt <= now || row.maker.disabledAt !== null) return undefined;
    const usedBefore = new Date(now.getTime() - USED_MS);
    if (row.usedAt === null || row.usedAt < usedBefore) {
      const isUnwritten = { OR: [{ usedAt: null }, { usedAt: { lt: usedBefore } }] };
      await this.prisma.panelToken.updateMany({ where: { id: row.id, ...isUnwritten }, data: { usedAt: now } });
    }
    const makers = toAccess(row.maker.grants);
    const permissions = PERMISSIONS.filter((one) => row.permissions.includes(one) && makers.may(one, row.accountId));
    return {
      actor: `token/${row.id}`,
      actorName: row.name,
      userId: row.createdBy,
      access: new Access([{ accountId: row.accountId, projectId: null, permissions: new Set(permissions) }]),
      session: undefined,
    };
  }

  /** Tokens of the accounts, or all, newest first. */
  async list(accounts: 'all' | string[], page: PageQuery): Promise<TokenListReply> {
    const where = accounts === 'all' ? {} : { accountId: { in: accounts } };
    const { rows, nextCursor } = toPage(await this.prisma.panelToken.findMany({ where, ...newestFirst(page) }), page);
    return { tokens: rows.map(renderToken), nextCursor };
  }

  /** Makes a token. The reply is the only place that has all of it. @throws {PanelError} `invalid_request`, `permission_denied`, `conflict`, and as `lockCaller` */
  async create(body: TokenCreateRequest, caller: Caller, author: Author): Promise<CreatedToken> {
    const { userId, access } = caller;
    const { name, accountId = null, permissions } = body;
    const createdAt = new Date();
    const expiresAt = new Date(body.expiresAt);
    if (expiresAt <= createdAt || expiresAt.getTime() > createdAt.getTime() + EXPIRY_MAX_MS)
      throw new PanelError('invalid_request', 'expiresAt must be in the future, at most 366 days ahead', { param: 'expiresAt' });
    for (const permission of permissions) {
      if (NEVER.has(permission)) {
        throw new PanelError('invalid_request', `a token cannot have the permission ${permission}`, { param: 'permissions' });
      }
      access.require(permission, accountId);
    }
    const token = makeToken();
    const id = body.tokenId ?? randomUUIDv7();
    const lastFour = token.slice(-4);
    const data = { id, digest: computeDigest(token), name, lastFour, accountId, permissions, createdBy: userId, createdAt, expiresAt };
    const row = await journaled(this.prisma, author, async (tx, record) => {
      await lockCaller(tx, caller);
      if (await tx.panelToken.findUnique({ where: { id } }))
        throw new PanelError('conflict', 'This token was made before, and is not shown again: revoke it and make another.', {
          param: 'tokenId',
        });
      if ((await tx.panelToken.count({ where: whereWorking(userId) })) >= TOKENS_MAX)
        throw new PanelError('conflict', `You have ${TOKENS_MAX} tokens, which is the most. Revoke some first.`);
      const after = { name, lastFour, permissions, expiresAt: expiresAt.toISOString() };
      await record({ action: 'token.create', accountId, target: `token/${id}`, after });
      return tx.panelToken.create({ data });
    });
    return { ...renderToken(row), token };
  }

  /** Revokes a token permanently. Repeating it changes nothing. @throws {PanelError} `not_found` */
  async revoke(tokenId: string, mayRevoke: (accountId: string | null) => void, author: Author): Promise<Token> {
    return journaled(this.prisma, author, async (tx, record) => {
      const row = await tx.panelToken.findUnique({ where: { id: tokenId } });
      if (!row) throw new PanelError('not_found', 'There is no such token.');
      mayRevoke(row.accountId);
      if (row.revokedAt !== null) return renderToken(row);
      const { accountId, name, lastFour } = row;
      await record({ action: 'token.revoke', accountId, target: `token/${tokenId}`, before: { name, lastFour } });
      return renderToken(await tx.panelToken.update({ where: { id: tokenId }, data: { revokedAt: new Date() } }));
    });
  }
}

/**
 * Revokes all tokens that a person has made and that still work, with a row for each; beyond `ROWS_MAX`, one row has the number of the
 * others. Returns their number. Call after `lockPerson`.
 */
export async function revokeTokens(tx: Prisma.TransactionClient, userId: string, record: WriteEntry, reason: string): Promise<number> {
  const where = whereWorking(userId);
  const named = await tx.panelToken.findMany({ where, orderBy: { id: 'asc' }, take: ROWS_MAX });
  const { count } = await tx.panelToken.updateMany({ where, data: { revokedAt: new Date() } });
  const action = 'token.revoke';
  for (const { id, accountId, name, lastFour } of named)
    await record({ action, accountId, target: `token/${id}`, reason, before: { name, lastFour } });
  const others = count - named.length;
  if (others > 0) await record({ action, target: 'token/others', reason, before: { tokens: others, createdBy: `user/${userId}` } });
  return count;
}

/** Selects the tokens of a person that are neither revoked nor expired. */
function whereWorking(userId: string): Prisma.PanelTokenWhereInput {
  return { createdBy: userId, revokedAt: null, expiresAt: { gt: new Date() } };
}

function renderToken(row: Prisma.PanelTokenModel): Token {
  return {
    tokenId: row.id,
    name: row.name,
    lastFour: row.lastFour,
    accountId: row.accountId,
    permissions: PERMISSIONS.filter((permission) => row.permissions.includes(permission)),
    createdBy: row.createdBy,
    createdAt: row.createdAt.toISOString(),
    expiresAt: row.expiresAt.toISOString(),
    revokedAt: row.revokedAt?.toISOString() ?? null,
    usedAt: row.usedAt?.toISOString() ?? null,
  };
}
