import { randomUUIDv7 } from 'node:crypto';
import type { Prisma } from '#database/prisma-client.js';
import { PanelError } from '../errors/panel-error.js';
import { Access, isPlatformRole, isProjectRole, listPermissions } from '../permissions/permissions.js';
import type { Grant, Role } from '../shapes/identity.js';

/** Place of a role: the platform when `accountId` is null, the whole account when `projectId` is, else one project. */
export interface Place {
  accountId: string | null;
  projectId: string | null;
}

/** Columns of `panel.grant`. A CHECK of the database limits the roles. */
export interface GrantRow extends Place {
  role: string;
}

/** Role that the platform and each account always keep: without it, people could no longer manage it. */
const KEEPER = { platform: 'admin', account: 'owner' } as const;

/** Advisory lock of changes of roles: each sees those before it, so that two cannot remove the last two admins. */
const ROLES_LOCK = 7_243_020;

export function toAccess(grants: readonly GrantRow[]): Access {
  return new Access(
    grants.map(({ accountId, projectId, role }) => ({ accountId, projectId, permissions: new Set(listPermissions(role as Role)) })),
  );
}

export function renderGrant({ accountId, projectId, role }: GrantRow): Grant {
  return { accountId, projectId, role: role as Role, permissions: [...listPermissions(role as Role)] };
}

/** Returns the place of columns or fields. */
export function toPlace({ accountId = null, projectId = null }: { accountId?: string | null; projectId?: string | null }): Place {
  return { accountId, projectId };
}

export function isSamePlace(one: Place, other: Place): boolean {
  return one.accountId === other.accountId && one.projectId === other.projectId;
}

/** Returns the role as a row of the journal has it, whose account is a column of its own. */
export function describeRole(role: string | null, { projectId }: Pick<Place, 'projectId'>): { role: string | null; projectId?: string } {
  return { role, ...(projectId !== null && { projectId }) };
}

/** @throws {PanelError} `invalid_request` for a role that is not one of the place */
export function checkRoleFits(role: Role, { accountId, projectId }: Place): void {
  const wanted = isPlatformRole(role) ? 'for the platform' : isProjectRole(role) ? 'for a project' : 'for a whole account';
  const given = accountId === null ? 'for the platform' : projectId === null ? 'for a whole account' : 'for a project';
  if (wanted === given && (accountId !== null || projectId === null)) return;
  const fields = isPlatformRole(role) ? 'without accountId' : `and needs accountId, ${isProjectRole(role) ? 'with' : 'without'} projectId`;
  throw new PanelError('invalid_request', `the role ${role} is ${wanted}, ${fields}`, { param: 'role' });
}

export async function lockRoles(tx: Prisma.TransactionClient): Promise<void> {
  await tx.$executeRaw`SELECT pg_advisory_xact_lock(${ROLES_LOCK})`;
}

/** Sets a person's role in a place; null removes it. Call after `lockRoles`. Returns the role before. @throws {PanelError} `conflict` */
export async function setRole(tx: Prisma.TransactionClient, userId: string, place: Place, role: Role | null): Promise<Role | null> {
  const { accountId, projectId } = place;
  const current = await tx.panelGrant.findFirst({ where: { userId, accountId, projectId } });
  if (current?.role === role) return role;
  if (current) await demandAnotherKeeper(tx, userId, accountId, current.role);
  if (!current && role !== null) await tx.panelGrant.create({ data: { id: randomUUIDv7(), userId, accountId, projectId, role } });
  if (current && role !== null) await tx.panelGrant.update({ where: { id: current.id }, data: { role, issuer: null } });
  if (current && role === null) await tx.panelGrant.delete({ where: { id: current.id } });
  return (current?.role as Role | undefined) ?? null;
}

/** A change of a role in a place. */
interface RoleChange extends Place {
  before: string | null;
  after: string | null;
}

/**
 * Makes the roles that the groups of an issuer give equal to `wanted`, at most one in a place. A role that a person gave stays, and so does
 * its place. The last admin or owner loses the role too: the issuer decides who is in its groups. Call after `lockRoles`.
 */
export async function setGroupRoles(
  tx: Prisma.TransactionClient,
  userId: string,
  issuer: string,
  wanted: readonly GrantRow[],
): Promise<RoleChange[]> {
  const current = await tx.panelGrant.findMany({ where: { userId } });
  const changes: RoleChange[] = [];
  for (const { id, role, ...row } of current.filter((grant) => grant.issuer === issuer)) {
    const after = wanted.find((grant) => isSamePlace(grant, row))?.role ?? null;
    if (after === role) continue;
    if (after === null) await tx.panelGrant.delete({ where: { id } });
    else await tx.panelGrant.update({ where: { id }, data: { role: after } });
    changes.push({ ...toPlace(row), before: role, after });
  }
  for (const { role, ...place } of wanted.filter((grant) => !current.some((one) => isSamePlace(one, grant)))) {
    await tx.panelGrant.create({ data: { id: randomUUIDv7(), userId, ...place, role, issuer } });
    changes.push({ ...place, before: null, after: role });
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
