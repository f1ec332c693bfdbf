import type { UsageMarginReply, UsageMarginRequest } from '#contracts/billing/margin.js';
import type { UsageRerateReply, UsageRerateRequest } from '#contracts/billing/rerate.js';
import type { PgConnection } from '#database/pg-connection.js';
import { runGuarded } from '../sql/guard-check.js';
import { marginMonth } from './margin-month.js';
import { rerateMonth } from './rerate-month.js';

/** Prices the usage of months, one after another, each on a connection of its own: a large one may take minutes. Yields to a migration. */
export class MonthReports {
  private readonly stopping = new AbortController();
  private last: Promise<unknown> = Promise.resolve();

  /** `connect` opens a connection for statements that take minutes. */
  constructor(private readonly connect: () => Promise<PgConnection>) {}

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.last;
  }

  rerate(request: UsageRerateRequest): Promise<UsageRerateReply> {
    return this.read((connection) => rerateMonth(connection, request));
  }

  margin(request: UsageMarginRequest): Promise<UsageMarginReply> {
    return this.read((connection) => marginMonth(connection, request));
  }

  private read<Report>(report: (connection: PgConnection) => Promise<Report>): Promise<Report> {
    const read = this.last.then(() => runGuarded(this.connect, this.stopping.signal, report));
    this.last = read.catch(() => undefined);
    return read;
  }
}
