import { randomUUIDv7 } from 'node:crypto';
import type { Prisma, PrismaClient } from '#database/prisma-client.js';
import { PanelError } from '../http/panel-error.js';
import { digestOf } from './secret.js';

/** Milliseconds for which a failed sign-in counts. */
const WINDOW_MS = 15 * 60_000;
/** Failures of one e-mail in the window. */
const BY_EMAIL_MAX = 10;
/** Failures of one address in the window: many people may share it. */
const BY_ADDRESS_MAX = 50;

/**
 * Counts failed passwords in the database, for all replicas. An attempt is written before the password is checked and removed when it was
 * right, so that parallel guesses cannot pass the limit together.
 */
export class Throttle {
  constructor(private readonly prisma: PrismaClient) {}

  /** Returns the function that forgets the attempts of this e-mail, or of the text in its place. @throws {PanelError} `rate_limit_exceeded` */
  async attempt(email: string, address: string): Promise<() => Promise<void>> {
    const emailDigest = digestOf(email);
    const freeAt = await this.prisma.$transaction(async (tx) => {
      // Attempts of one e-mail or address take turns, so that each counts those before it. In a fixed order, against deadlocks.
      for (const key of [`email ${email}`, `address ${address}`])
        await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${key}, 0))`;
      const since = new Date(Date.now() - WINDOW_MS);
      await tx.panelLoginFailure.deleteMany({ where: { at: { lt: since } } });
      const [byEmail, byAddress] = [await freeFrom(tx, { emailDigest }, BY_EMAIL_MAX), await freeFrom(tx, { address }, BY_ADDRESS_MAX)];
      const latest = Math.max(byEmail, byAddress);
      if (latest === 0) await tx.panelLoginFailure.create({ data: { id: randomUUIDv7(), emailDigest, address, at: new Date() } });
      return latest;
    });
    if (freeAt > 0) {
      const retryAfterSeconds = Math.max(1, Math.ceil((freeAt - Date.now()) / 1000));
      throw new PanelError('rate_limit_exceeded', 'Too many failed sign-ins. Try again later.', { retryAfterSeconds });
    }
    return async () => {
      await this.prisma.panelLoginFailure.deleteMany({ where: { emailDigest } });
    };
  }
}

/** Returns the moment at which another attempt may be made, in milliseconds since 1970; 0 when it may be made now. */
async function freeFrom(tx: Prisma.TransactionClient, where: Prisma.PanelLoginFailureWhereInput, max: number): Promise<number> {
  const latest = await tx.panelLoginFailure.findMany({ where, orderBy: { at: 'desc' }, take: max, select: { at: true } });
  const oldest = latest[max - 1];
  return oldest ? oldest.at.getTime() + WINDOW_MS : 0;
}
