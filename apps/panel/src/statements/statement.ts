import { accountList } from '#contracts/billing/accounts.js';
import { type Movement, type MovementKind, movementList } from '#contracts/billing/movements.js';
import { receiptMonth } from '#contracts/billing/receipts.js';
import { type UsageRow, usageQuery } from '#contracts/billing/usage.js';
import { PanelError } from '../errors/panel-error.js';
import { type AskServices, collectRows, readPages } from '../services/services.js';
import type { Statement, StatementLine } from '../shapes/billing.js';

const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/;
const DAY_MS = 24 * 3_600_000;
/** Longest time of one query of usage. */
const QUERY_MS = 366 * DAY_MS;
const PAGE_MOVEMENTS = 200;

/**
 * Reads the statement of a month. The opening amount is the sum of all journal entries before the month, which never change, so a closed
 * month is the same whenever it is read.
 * @throws {PanelError} `invalid_request` for a month that has not begun, `not_found` for an unknown account.
 */
export async function readStatement(services: AskServices, accountId: string, month: string, now = new Date()): Promise<Statement> {
  const { from, end } = parseMonth(month, now);
  const to = end < now ? end : now;
  const [account] = (await services.ask(accountList, { accountId })).accounts;
  if (!account) throw new PanelError('not_found', 'There is no such account.', { param: 'accountId' });
  const isClosed = end <= now;
  const [movements, before, days, { receipts }] = await Promise.all([
    movementsUntil(services, accountId, to),
    usageBetween(services, accountId, toDay(account.createdAt), from),
    collectRows(readPages((cursor) => services.ask(usageQuery, { ...renderRange(from, to), accountId, step: 'day', cursor }))),
    isClosed ? services.ask(receiptMonth, { accountId, month }) : { receipts: null },
  ]);
  const isBefore = ({ createdAt }: Movement): boolean => createdAt < from.toISOString();
  const period = { accountId: account.accountId, month, ...renderRange(from, to), isClosed, receipts };
  const earlier = movements.filter(isBefore).reduce((sum, { amountPicoUsd }) => sum + BigInt(amountPicoUsd), 0n);
  return makeStatement(period, {
    opening: earlier - before.reduce((sum, { costPicoUsd, forfeitedPicoUsd }) => sum + BigInt(costPicoUsd) + BigInt(forfeitedPicoUsd), 0n),
    movements: movements.filter((movement) => !isBefore(movement)).reverse(),
    days,
  });
}

function parseMonth(month: string, now: Date): { from: Date; end: Date } {
  if (!MONTH.test(month)) throw new PanelError('invalid_request', 'month must be a month such as 2027-01', { param: 'month' });
  const from = new Date(`${month}-01T00:00:00Z`);
  if (from >= now) throw new PanelError('invalid_request', 'month has not begun', { param: 'month' });
  return { from, end: new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + 1)) };
}

/** Newest first. An account has few movements: payments, and two for each plan. */
function movementsUntil(services: AskServices, accountId: string, to: Date): Promise<Movement[]> {
  return collectRows(
    readPages(async (cursor) => {
      const page = { accountId, to: to.toISOString(), limit: PAGE_MOVEMENTS, cursor };
      const { movements, nextCursor } = await services.ask(movementList, page);
      return { rows: movements, nextCursor };
    }),
  );
}

/** Returns the sums from `from` to before `to`, one row for each year at most. */
async function usageBetween(services: AskServices, accountId: string, from: Date, to: Date): Promise<UsageRow[]> {
  const years: UsageRow[] = [];
  for (let start = from; start < to; start = new Date(start.getTime() + QUERY_MS)) {
    const end = new Date(Math.min(start.getTime() + QUERY_MS, to.getTime()));
    years.push(...(await services.ask(usageQuery, { ...renderRange(start, end), accountId })).rows);
  }
  return years;
}

function renderRange(from: Date, to: Date): { from: string; to: string } {
  return { from: from.toISOString(), to: to.toISOString() };
}

/** Returns the day before the time, so that a clock that was set hides no entry. */
function toDay(time: string): Date {
  return new Date(Math.floor(Date.parse(time) / DAY_MS) * DAY_MS - DAY_MS);
}

/** Journal entries of a month. */
export interface StatementEntries {
  opening: bigint;
  /** In any order. */
  movements: readonly Movement[];
  /** Usage by day: `start` is midnight UTC. */
  days: readonly UsageRow[];
}

/** Part of the balance that each kind of movement changes. */
const SIDES: Record<MovementKind, 'in' | 'out' | 'forfeited'> = {
  topup: 'in',
  grant: 'in',
  credit: 'in',
  'credit-note': 'in',
  refund: 'out',
  debit: 'out',
  forfeit: 'forfeited',
};

/** Returns the statement whose lines lead from the opening to the closing amount. Integers of pico-USD, nothing is rounded. */
export function makeStatement(
  period: Pick<Statement, 'accountId' | 'month' | 'from' | 'to' | 'isClosed' | 'receipts'>,
  { opening, movements, days }: StatementEntries,
): Statement {
  const sums = { in: 0n, out: 0n, cost: 0n, forfeited: 0n };
  for (const { kind, amountPicoUsd } of movements) sums[SIDES[kind]] += magnitude(BigInt(amountPicoUsd));
  for (const { costPicoUsd, forfeitedPicoUsd } of days) {
    sums.cost += BigInt(costPicoUsd);
    sums.forfeited += BigInt(forfeitedPicoUsd);
  }
  let balance = opening;
  const lines = [...movements.map(movementLine), ...days.flatMap(usageLines)]
    .sort((one, other) => one.order - other.order)
    .map(({ order: _, amount, ...line }): StatementLine => {
      balance += amount;
      return { ...line, amountPicoUsd: String(amount), balancePicoUsd: String(balance) };
    });
  return {
    ...period,
    openingPicoUsd: String(opening),
    inPicoUsd: String(sums.in),
    outPicoUsd: String(sums.out),
    costPicoUsd: String(sums.cost),
    forfeitedPicoUsd: String(sums.forfeited),
    closingPicoUsd: String(opening + sums.in - sums.out - sums.cost - sums.forfeited),
    lines,
  };
}

type UnsummedLine = Omit<StatementLine, 'amountPicoUsd' | 'balancePicoUsd'> & {
  amount: bigint;
  /** Milliseconds since 1970. */
  order: number;
};

function movementLine({ kind, createdAt, amountPicoUsd, reference, reason }: Movement): UnsummedLine {
  return { at: createdAt, kind, reference, reason, requests: null, amount: BigInt(amountPicoUsd), order: Date.parse(createdAt) };
}

/** The requests of a day stand after its movements: the balance between them is then never below the true one, so never negative. */
function usageLines({ start = '', requests, costPicoUsd, forfeitedPicoUsd }: UsageRow): UnsummedLine[] {
  const day = { at: start, reference: null, order: Date.parse(start) + DAY_MS - 0.5 };
  const usage = { ...day, kind: 'usage', reason: null, requests, amount: -BigInt(costPicoUsd) } as const;
  if (BigInt(forfeitedPicoUsd) === 0n) return [usage];
  const reason = 'Plan money that requests held beyond the end of its grant and did not use';
  return [usage, { ...day, kind: 'forfeit', reason, requests: null, amount: -BigInt(forfeitedPicoUsd) }];
}

function magnitude(amount: bigint): bigint {
  return amount < 0n ? -amount : amount;
}
