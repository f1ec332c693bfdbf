import type { Prisma } from '#database/prisma-client.js';
import type { WriteEntry } from '../audit/journaled.js';
import { accessOf } from './grants.js';

type Invite = Prisma.PanelInviteModel;

/** Withdraws open invites. Those that still work get a row each, which says who had made them. Call after `lockRoles`, as their acceptance does. */
export async function withdrawOpen(
  tx: Prisma.TransactionClient,
  record: WriteEntry,
  where: Prisma.PanelInviteWhereInput,
  reason: string,
  ends: (invite: Invite) => boolean = () => true,
): Promise<void> {
  const open = (await tx.panelInvite.findMany({ where: { ...where, acceptedAt: null } })).filter(ends);
  if (open.length === 0) return;
  await tx.panelInvite.deleteMany({ where: { id: { in: open.map(({ id }) => id) } } });
  for (const { id, accountId, email, role, invitedBy, expiresAt } of open)
    if (expiresAt > new Date())
      await record({ action: 'invite.withdraw', accountId, target: `invite/${id}`, reason, before: { email, role, invitedBy } });
}

/** Withdraws all open invites that a person has made. Call after `lockRoles`. */
export function withdrawAll(tx: Prisma.TransactionClient, record: WriteEntry, userId: string, reason: string): Promise<void> {
  return withdrawOpen(tx, record, { invitedBy: `user/${userId}` }, reason);
}

/** Withdraws the open invites that a person has made and could not make with their roles of now. Call after `lockRoles`. */
export async function withdrawBeyondRights(tx: Prisma.TransactionClient, record: WriteEntry, userId: string): Promise<void> {
  const access = accessOf(await tx.panelGrant.findMany({ where: { userId } }));
  const reason = 'its maker may no longer invite people there';
  await withdrawOpen(tx, record, { invitedBy: `user/${userId}` }, reason, ({ accountId }) => !access.may('members', accountId));
}
