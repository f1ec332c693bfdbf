import type { Prisma } from '#database/prisma-client.js';
import { addressGroup } from '#network/address-group.js';
import { UNKNOWN_ADDRESS } from '#observability/client-address.js';

/** Milliseconds after a sign-in for which its address counts as the person's. */
const KNOWN_MS = 90 * 86_400_000;
/** People of one address that are known at once. */
const PEOPLE_MAX = 1_000;

/** Notes that a person has signed in from an address, and forgets those of long ago. Skips an unknown one, which any stranger shares. */
export async function noteAddress(tx: Prisma.TransactionClient, userId: string, clientAddress: string, at: Date): Promise<void> {
  if (clientAddress === UNKNOWN_ADDRESS) return;
  const address = addressGroup(clientAddress);
  await tx.panelSignInAddress.deleteMany({ where: { userId, at: { lt: new Date(at.getTime() - KNOWN_MS) } } });
  await tx.panelSignInAddress.upsert({ where: { userId_address: { userId, address } }, create: { userId, address, at }, update: { at } });
}

/** Returns the e-mails of people who have signed in from an address, a group of `addressGroup`. */
export async function knownPeople(tx: Prisma.TransactionClient, address: string): Promise<string[]> {
  const where = { address, at: { gte: new Date(Date.now() - KNOWN_MS) } };
  const rows = await tx.panelSignInAddress.findMany({ where, orderBy: { at: 'desc' }, take: PEOPLE_MAX, include: { user: true } });
  return rows.map(({ user }) => user.email);
}
