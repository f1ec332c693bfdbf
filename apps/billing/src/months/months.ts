import type { MonthCloseReply, MonthListReply, MonthReadReply, MonthReadRequest } from '#contracts/billing/months.js';
import { ServiceError } from '#contracts/service-error.js';
import type { Author } from '#database/audit-journal.js';
import type { PgConnection } from '#database/pg-connection.js';
import type { PrismaClient } from '#database/prisma-client.js';
import { guardCheck } from '../ledger/guard-check.js';
import { isId, isMoment, parseCursor, renderCursor } from '../paging/page-cursor.js';
import { closeMonth } from './close-month.js';
import { readMonths, renderMonth, rowsOfMonth } from './closed-months.js';
import { FILE_START, keyColumnsOf, type Query, readPage } from './month-files.js';

/** Lines on a page: some 700 kB of settlements. */
const PAGE_LINES = 2_000;

const isWindow = (value: string): boolean => /^[1-9]\d{0,11}$/.test(value);

export interface MonthsOptions {
  /** Opens a connection for each month that is closed: it reads the month, for minutes perhaps. */
  connect: () => Promise<PgConnection>;
  prisma: PrismaClient;
}

/** Closes months on request, and reads closed ones. Closing yields to a migration. */
export class Months {
  private readonly stopping = new AbortController();
  private readonly closing = new Map<string, Promise<MonthCloseReply>>();
  private readonly query: Query;

  constructor(private readonly options: MonthsOptions) {
    this.query = (sql, values) => options.prisma.$queryRawUnsafe(sql, ...values);
  }

  async stop(): Promise<void> {
    // A month that is not closed yet stays as it was.
    this.stopping.abort();
    await Promise.allSettled(this.closing.values());
  }

  /** Closes a month. A caller that repeats its call meanwhile gets the same reply. */
  close(month: string, author: Author): Promise<MonthCloseReply> {
    const running = this.closing.get(month);
    if (running) return running;
    const closing = this.closeOnce(month, author).finally(() => this.closing.delete(month));
    this.closing.set(month, closing);
    return closing;
  }

  async list(): Promise<MonthListReply> {
    const months = await readMonths(this.query);
    return { months: months.map(renderMonth).reverse() };
  }

  /** @throws {ServiceError} `not_found` for a month that is not closed. */
  async read({ month, file, cursor }: MonthReadRequest): Promise<MonthReadReply> {
    const months = await readMonths(this.query);
    const rows = rowsOfMonth(
      months,
      months.findIndex(({ id }) => id === month),
    );
    if (!rows) throw new ServiceError('not_found', 'The month is not closed.', 'month');
    const forms = [...keyColumnsOf(file).map((column) => (column === 'time' ? isMoment : isId)), isWindow];
    const values = cursor ? parseCursor({ month, file }, cursor, forms) : [];
    const position = cursor ? { after: values.slice(0, -1), windowMs: Number(values.at(-1)) } : FILE_START;
    const { lines, next } = await readPage(this.query, file, rows, position, PAGE_LINES);
    const nextCursor = next ? renderCursor({ month, file }, [...(next.after ?? []), String(next.windowMs)]) : null;
    return { lines: lines.join(''), nextCursor };
  }

  private async closeOnce(month: string, author: Author): Promise<MonthCloseReply> {
    this.stopping.signal.throwIfAborted();
    const { connect } = this.options;
    const connection = await connect();
    try {
      const guard = { connection, connect, stopping: this.stopping.signal };
      return await guardCheck(guard, (signal) => closeMonth(connection, month, { author, signal }));
    } finally {
      await connection.end().catch(() => undefined);
    }
  }
}
