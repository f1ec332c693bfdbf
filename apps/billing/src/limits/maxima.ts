import { ServiceError } from '#contracts/service-error.js';
import type { Prisma } from '#database/prisma-client.js';

/** First half of the lock of the keys of an account. Batches do not wait for it, since many keys take long to count. */
const KEYS_LOCK = 0x6b_65_79_73;

/**
 * Demands that an account has at most as many projects as it may. Call it with the lock of the account, after the project was added: those
 * who add one at once count one after another.
 * @throws {ServiceError} `conflict`.
 */
export async function refuseTooManyProjects(tx: Prisma.TransactionClient, accountId: string): Promise<void> {
  const { projectsMax } = await tx.account.findUniqueOrThrow({ where: { id: accountId }, select: { projectsMax: true } });
  if ((await tx.project.count({ where: { accountId } })) <= projectsMax) return;
  throw new ServiceError(
    'conflict',
    `The account has ${projectsMax} projects, which is the most. The operator can allow more.`,
    'accountId',
  );
}

/**
 * Demands that an account has at most as many keys as it may that are neither revoked nor expired. Call it after a key was added or became
 * active again: those who add one at once count one after another.
 * @throws {ServiceError} `conflict`.
 */
export async function refuseTooManyKeys(tx: Prisma.TransactionClient, accountId: string, param: string): Promise<void> {
  await tx.$executeRaw`SELECT pg_advisory_xact_lock(${KEYS_LOCK}::int4, hashtext(${accountId}))`;
  const [found] = await tx.$queryRaw<{ most: number; keys: number }[]>`SELECT active_keys_max AS most,
      (SELECT count(*)::int4 FROM billing.project p JOIN billing.api_key k ON k.project_id = p.id WHERE p.account_id = a.id
        AND k.revoked_at IS NULL AND coalesce(k.expires_at > clock_timestamp(), true)) AS keys
    FROM billing.account a WHERE a.id = ${accountId}::uuid`;
  if (!found || found.keys <= found.most) return;
  throw new ServiceError(
    'conflict',
    `The account has ${found.most} active keys, which is the most. Revoke some; the operator can allow more.`,
    param,
  );
}
