import type { Prisma } from '#database/prisma-client.js';
import { ROWS_MAX, type WriteEntry } from '../audit/journaled.js';
import { PanelError } from '../errors/panel-error.js';
import { describeRole, toAccess } from './grants.js';

/** A person's open invites: a withdrawal writes a row for each. */
const INVITES_MAX = 100;

/**
 * Withdraws open invites that are not over, with a row for each, which says who had made it; beyond `ROWS_MAX`, one row has the number of
 * the others. Call after `lockRoles`, as their acceptance does.
 */
export async function withdrawOpen(
  tx: Prisma.TransactionClient,
  record: WriteEntry,
  where: Prisma.PanelInviteWhereInput,
  reason: string,
): Promise<void> {
  const open = { ...where, acceptedAt: null, expiresAt: { gt: new Date() } };
  const named = await tx.panelInvite.findMany({ where: open, orderBy: { id: 'asc' }, take: ROWS_MAX });
  const { count } = await tx.panelInvite.deleteMany({ where: open });
  const action = 'invite.withdraw';
  for (const { id, accountId, email, role, invitedBy, ...place } of named)
    await record({ action, accountId, target: `invite/${id}`, reason, before: { email, ...describeRole(role, place), invitedBy } });
  const others = count - named.length;
  if (others > 0) await record({ action, target: 'invite/others', reason, before: { invites: others, invitedBy: named[0]?.invitedBy } });
}

/** Withdraws all open invites that a person has made. Call after `lockRoles`. */
export function withdrawAll(tx: Prisma.TransactionClient, record: WriteEntry, userId: string, reason: string): Promise<void> {
  return withdrawOpen(tx, record, { invitedBy: `user/${userId}` }, reason);
}

/** Withdraws the open invites that a person has made and could not make with their roles of now. Call after `lockRoles`. */
export async function withdrawBeyondRights(tx: Prisma.TransactionClient, record: WriteEntry, userId: string): Promise<void> {
  const accounts = toAccess(await tx.panelGrant.findMany({ where: { userId } })).accountsWith('members');
  if (accounts === 'all') return;
  const elsewhere = { OR: [{ accountId: null }, { accountId: { notIn: accounts } }] };
  await withdrawOpen(tx, record, { invitedBy: `user/${userId}`, ...elsewhere }, 'its maker may no longer invite people there');
}

/** Demands that a person may make one more invite. Deletes those of theirs that are over. Call after `lockRoles`. @throws {PanelError} `conflict` */
export async function demandFewerInvites(tx: Prisma.TransactionClient, userId: string): Promise<void> {
  const open = { invitedBy: `user/${userId}`, acceptedAt: null };
  await tx.panelInvite.deleteMany({ where: { ...open, expiresAt: { lte: new Date() } } });
  if ((await tx.panelInvite.count({ where: open })) < INVITES_MAX) return;
  throw new PanelError(
    'conflict',
    `You have ${INVITES_MAX} open invites, which is the most. Withdraw some, or wait until they are used or over.`,
  );
}
