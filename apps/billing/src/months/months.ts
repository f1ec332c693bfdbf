import type {
  MonthAttachReply,
  MonthCloseReply,
  MonthDetachReply,
  MonthListReply,
  MonthReadReply,
  MonthReadRequest,
} from '#contracts/billing/months.js';
import { ServiceError } from '#contracts/service-error.js';
import type { Author } from '#database/audit-journal.js';
import type { PgConnection } from '#database/pg-connection.js';
import type { PrismaClient } from '#database/prisma-client.js';
import { findMonthRows, nextMonth, readMonths, renderMonth } from '../journal/closed-months.js';
import { digestNow, readDetached, renderDetached } from '../journal/detached-months.js';
import { monthAfter, monthStart } from '../journal/journal-rows.js';
import { FILE_START, listKeyColumns, type Query, readPage } from '../journal/month-files.js';
import { isId, isMoment, parseCursor, renderCursor } from '../paging/page-cursor.js';
import { runGuarded } from '../sql/guard-check.js';
import { closeMonth } from './close-month.js';
import { attachMonth, detachMonth } from './detach-month.js';

/** Lines on a page: some 700 kB of settlements. */
const PAGE_LINES = 2_000;

/** Milliseconds after its end at which a month is closed without a request. */
const CLOSE_AFTER_MS = 3 * 86_400_000;

const isWindow = (value: string): boolean => /^[1-9]\d{0,11}$/.test(value);

export interface MonthsOptions {
  /** Opens a connection for each month that is closed, detached or attached: it reads the month, for minutes perhaps. */
  connect: () => Promise<PgConnection>;
  prisma: PrismaClient;
}

/** Closes, detaches and attaches months, which yields to a migration, and reads closed ones. */
export class Months {
  private readonly stopping = new AbortController();
  private readonly running = new Map<string, Promise<unknown>>();
  private readonly query: Query;

  constructor(private readonly options: MonthsOptions) {
    this.query = queryOn(options.prisma);
  }

  async stop(): Promise<void> {
    // A month that is not closed, detached or attached yet stays as it was.
    this.stopping.abort();
    await Promise.allSettled(this.running.values());
  }

  close(month: string, author: Author): Promise<MonthCloseReply> {
    return this.once(`close ${month}`, (connection, signal) => closeMonth(connection, month, { author, signal }));
  }

  /**
   * Closes the next month if it ended some days ago. Until then a row that the ledger check finds wrong can be repaired; the digest of a closed
   * month would tell of the repair for ever. Returns undefined when none is due.
   */
  async closeDue(author: Author, now = Date.now()): Promise<MonthCloseReply | undefined> {
    const month = await nextMonth(this.query, await readMonths(this.query));
    const isDue = month !== undefined && now >= monthStart(monthAfter(month)) + CLOSE_AFTER_MS;
    return isDue ? this.close(month, author) : undefined;
  }

  detach(month: string, author: Author): Promise<MonthDetachReply> {
    return this.once(`detach ${month}`, (connection, signal) => detachMonth(connection, month, { author, signal }));
  }

  attach(month: string, author: Author): Promise<MonthAttachReply> {
    return this.once(`attach ${month}`, (connection, signal) => attachMonth(connection, month, { author, signal }));
  }

  async list(prisma = this.options.prisma): Promise<MonthListReply> {
    const query = queryOn(prisma);
    const months = await readMonths(query);
    const detached = await readDetached(query);
    return { months: months.map(renderMonth).reverse(), detached: detached.map(renderDetached).reverse() };
  }

  /** @throws {ServiceError} `not_found` for a month that is not closed, `conflict` for a file that lacks rows of a detached month. */
  async read({ month, file, cursor }: MonthReadRequest, prisma = this.options.prisma): Promise<MonthReadReply> {
    const query = queryOn(prisma);
    const months = await readMonths(query);
    const position = months.findIndex(({ id }) => id === month);
    const [closed, rows] = [months[position], findMonthRows(months, position)];
    if (!closed || !rows) throw new ServiceError('not_found', 'The month is not closed.', 'month');
    const detached = await readDetached(query);
    if (digestNow(closed, file, detached) !== digestNow(closed, file, [])) {
      throw new ServiceError('conflict', `Rows of the month are detached: attach ${detached.at(-1)?.id} first.`, 'month');
    }
    const forms = [...listKeyColumns(file).map((column) => (column === 'time' ? isMoment : isId)), isWindow];
    const values = cursor ? parseCursor({ month, file }, cursor, forms) : [];
    const from = cursor ? { after: values.slice(0, -1), windowMs: Number(values.at(-1)) } : FILE_START;
    const { lines, next } = await readPage(query, file, rows, from, PAGE_LINES);
    const nextCursor = next ? renderCursor({ month, file }, [...(next.after ?? []), String(next.windowMs)]) : null;
    return { lines: lines.join(''), nextCursor };
  }

  /** Runs `work` on a connection of its own. A caller that repeats its call meanwhile gets the same reply. */
  private once<Reply>(call: string, work: (connection: PgConnection, signal: AbortSignal) => Promise<Reply>): Promise<Reply> {
    const running = this.running.get(call) as Promise<Reply> | undefined;
    if (running) return running;
    const started = runGuarded(this.options.connect, this.stopping.signal, work).finally(() => this.running.delete(call));
    this.running.set(call, started);
    return started;
  }
}

function queryOn(prisma: PrismaClient): Query {
  return (sql, values) => prisma.$queryRawUnsafe(sql, ...values);
}
