import type { UsageRerateReply, UsageRerateRequest } from '#contracts/billing/rerate.js';
import type { PgConnection } from '#database/pg-connection.js';
import { runGuarded } from '../sql/guard-check.js';
import { rerateMonth } from './rerate-month.js';

/** Re-rates months one after another, each on a connection of its own: a large one may take minutes. Yields to a migration. */
export class Rerater {
  private readonly stopping = new AbortController();
  private last: Promise<unknown> = Promise.resolve();

  /** `connect` opens a connection for statements that take minutes. */
  constructor(private readonly connect: () => Promise<PgConnection>) {}

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.last;
  }

  rerate(request: UsageRerateRequest): Promise<UsageRerateReply> {
    const rerated = this.last.then(() => runGuarded(this.connect, this.stopping.signal, (connection) => rerateMonth(connection, request)));
    this.last = rerated.catch(() => undefined);
    return rerated;
  }
}
