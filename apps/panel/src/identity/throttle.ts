import { randomUUIDv7 } from 'node:crypto';
import type { PrismaClient } from '#database/prisma-client.js';
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

  /** Returns the function that forgets the attempts of this e-mail. @throws {PanelError} `rate_limit_exceeded` */
  async attempt(email: string, address: string): Promise<() => Promise<void>> {
    const { panelLoginFailure: failures } = this.prisma;
    const since = new Date(Date.now() - WINDOW_MS);
    await failures.deleteMany({ where: { at: { lt: since } } });
    const id = randomUUIDv7();
    const emailDigest = digestOf(email);
    await failures.create({ data: { id, emailDigest, address, at: new Date() } });
    const counted = [
      { where: { emailDigest, at: { gte: since } }, max: BY_EMAIL_MAX },
      { where: { address, at: { gte: since } }, max: BY_ADDRESS_MAX },
    ];
    for (const { where, max } of counted) {
      const rows = await failures.findMany({ where, orderBy: { at: 'desc' }, take: max + 1, select: { at: true } });
      const oldest = rows[max - 1];
      if (rows.length <= max || !oldest) continue;
      // A refused attempt does not count: the limit would never end while a client repeats.
      await failures.delete({ where: { id } });
      const retryAfterSeconds = Math.max(1, Math.ceil((oldest.at.getTime() + WINDOW_MS - Date.now()) / 1000));
      throw new PanelError('rate_limit_exceeded', 'Too many failed sign-ins. Try again later.', { retryAfterSeconds });
    }
    return async () => {
      await failures.deleteMany({ where: { emailDigest } });
    };
  }
}
