import { randomUUIDv7 } from 'node:crypto';
import type { Prisma } from '#database/prisma-client.js';
import { PanelError } from '../errors/panel-error.js';
import { Access, isPlatformRole, listPermissions } from '../permissions/permissions.js';
import type { Grant, Role } from '../shapes/identity.js';

/** Columns of `panel.grant`. A CHECK of the database limits the roles. */
export interface GrantRow {
  accountId: string | null;
  role: string;
}

/** Role that a scope always keeps: without it, people could no longer manage it. */
const KEEPER = { platform: 'admin', account: 'owner' } as const;

/** Advisory lock of changes of roles: each sees those before it, so that two cannot remove the last two admins. */
const ROLES_LOCK = 7_243_020;

export function toAccess(grants: readonly GrantRow[]): Access {
  return new Access(grants.map(({ accountId, role }) => ({ accountId, permissions: new Set(listPermissions(role as Role)) })));
}

export function renderGrant({ accountId, role }: GrantRow): Grant {
  return { accountId, role: role as Role, permissions: [...listPermissions(role as Role)] };
}

/** @throws {PanelError} `invalid_request` for a role of an account without one, or a platform role with one */
export function checkRoleFits(role: Role, accountId: string | null): void {
  if (isPlatformRole(role) === (accountId === null)) return;
  const message = accountId === null ? `the role ${role} needs accountId` : `the role ${role} is for the platform, without accountId`;
  throw new PanelError('invalid_request', message, { param: 'role' });
}

export async function lockRoles(tx: Prisma.TransactionClient): Promise<void> {
  await tx.$executeRaw`SELECT pg_advisory_xact_lock(${ROLES_LOCK})`;
}

/** Sets a person's role in a scope; null removes it. Call after `lockRoles`. Returns the role before. @throws {PanelError} `conflict` */
export async function setRole(
  tx: Prisma.TransactionClient,
  userId: string,
  accountId: string | null,
  role: Role | null,
): Promise<Role | null> {
  const current = await tx.panelGrant.findFirst({ where: { userId, accountId } });
  if (current?.role === role) return role;
  if (current) await demandAnotherKeeper(tx, userId, accountId, current.role);
  if (!current && role !== null) await tx.panelGrant.create({ data: { id: randomUUIDv7(), userId, accountId, role } });
  if (current && role !== null) await tx.panelGrant.update({ where: { id: current.id }, data: { role, issuer: null } });
  if (current && role === null) await tx.panelGrant.delete({ where: { id: current.id } });
  return (current?.role as Role | undefined) ?? null;
}

/** A change of a role in a scope. */
interface RoleChange {
  accountId: string | null;
  before: string | null;
  after: string | null;
}

/**
 * Makes the roles that the groups of an issuer give equal to `wanted`, at most one in a scope. A role that a person gave stays, and so does
 * its scope. The last admin or owner loses the role too: the issuer decides who is in its groups. Call after `lockRoles`.
 */
export async function setGroupRoles(
  tx: Prisma.TransactionClient,
  userId: string,
  issuer: string,
  wanted: readonly GrantRow[],
): Promise<RoleChange[]> {
  const current = await tx.panelGrant.findMany({ where: { userId } });
  const changes: RoleChange[] = [];
  for (const { id, accountId, role } of current.filter((grant) => grant.issuer === issuer)) {
    const after = wanted.find((grant) => grant.accountId === accountId)?.role ?? null;
    if (after === role) continue;
    if (after === null) await tx.panelGrant.delete({ where: { id } });
    else await tx.panelGrant.update({ where: { id }, data: { role: after } });
    changes.push({ accountId, before: role, after });
  }
  for (const { accountId, role } of wanted.filter((grant) => !current.some((one) => one.accountId === grant.accountId))) {
    await tx.panelGrant.create({ data: { id: randomUUIDv7(), userId, accountId, role, issuer } });
    changes.push({ accountId, before: null, after: role });
  }
  return changes;
}

/** Throws when the person is the last admin of the platform, or the last owner of the account, who can sign in. */
export async function demandAnotherKeeper(
  tx: Prisma.TransactionClient,
  userId: string,
  accountId: string | null,
  role: string,
): Promise<void> {
  const keeper = accountId === null ? KEEPER.platform : KEEPER.account;
  if (role !== keeper) return;
  const others = await tx.panelGrant.count({ where: { accountId, role, userId: { not: userId }, user: { disabledAt: null } } });
  if (others === 0) throw new PanelError('conflict', `This is the last ${keeper}. Give the role to another person first.`);
}
