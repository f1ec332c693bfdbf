import type { PrismaClient } from '#database/prisma-client.js';
import { readBalance } from '../ledger/read-balance.js';
import type { Threshold } from './billing-events.js';

/** Returns the balance of an account and its threshold. Undefined when it has none. */
export async function readThreshold(prisma: PrismaClient, accountId: string): Promise<Threshold | undefined> {
  const account = await prisma.account.findUnique({ where: { id: accountId }, select: { lowBalance: true } });
  if (!account?.lowBalance) return undefined;
  const { balance_pico_usd } = await readBalance(prisma, accountId);
  return { balance: BigInt(balance_pico_usd), lowBalance: BigInt(account.lowBalance.toFixed(0)) };
}
