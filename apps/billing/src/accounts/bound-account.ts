import type { AuditedChange } from '#database/audit-journal.js';
import type { Prisma } from '#database/prisma-client.js';
import { addLimits, type LimitDefaults, pickSetLimits } from '../limits/operator-limits.js';
import { type ShownLimits, setLimits, toLimits, toOperatorLimits } from '../limits/set-limits.js';

/**
 * Gives an account the limits that it does not have and all of its projects do, in sum; one without a project those of a new one. What the
 * operator has allowed the account so far is then the most, however many projects its customer adds. Call it with the lock of the account.
 * Returns the changes for the journal.
 */
export async function boundAccount(tx: Prisma.TransactionClient, accountId: string, defaults: LimitDefaults): Promise<AuditedChange[]> {
  const before = toLimits(await tx.rateLimit.findUnique({ where: { id: accountId } }));
  const projects = await tx.project.findMany({ where: { accountId }, include: { limits: { where: { keyId: null } } } });
  const allowed = projects.map(({ requestsPerMinuteMax, concurrencyMax, limits: [row] }) => ({
    ...toOperatorLimits(row),
    ...{ requestsPerMinuteMax, concurrencyMax },
  }));
  const ofNew = { requestsPerMinuteMax: defaults.requestsPerMinute, concurrencyMax: defaults.concurrency };
  const sum = addLimits(allowed.length > 0 ? allowed : [ofNew]);
  const missing = Object.fromEntries(Object.entries(sum).filter(([name]) => !(name in pickSetLimits(before))));
  if (Object.keys(missing).length === 0) return [];
  const after = await setLimits(tx, { accountId, projectId: null, keyId: null }, missing, 'operator');
  const pickFields = (limits: ShownLimits) =>
    Object.fromEntries(Object.keys(missing).map((name) => [name, limits[name as keyof ShownLimits]]));
  const target = `account/${accountId}`;
  const reason = 'the customer added a project';
  return [{ action: 'account.update', accountId, target, reason, before: pickFields(before), after: pickFields(after) }];
}
