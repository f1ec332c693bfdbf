import type { AccountReceipts, ReceiptFile, ReceiptKeys, ReceiptListReply, ReceiptListRequest } from '#contracts/billing/receipts.js';
import type { BilledRequest } from '#contracts/billing/requests.js';
import { ServiceError } from '#contracts/service-error.js';
import type { PrismaClient } from '#database/prisma-client.js';
import { hashLeaf, joinRoots, makePath } from '#receipts/merkle-tree.js';
import { type MonthLine, type PathLine, renderLine, type SignatureLine } from '#receipts/receipt-lines.js';
import type { SigningKey } from '#receipts/signing-key.js';
import { findMonthRows, readMonths, type StoredMonth } from '../journal/closed-months.js';
import { readDetached } from '../journal/detached-months.js';
import type { MonthRows, Query } from '../journal/month-files.js';
import { readMonthLines, renderAccount } from '../journal/receipt-roots.js';
import { accountCondition, type ReceiptPlace, type ReceiptRow, readReceipts, renderReceipt } from '../journal/receipt-rows.js';
import { PART_RECEIPTS } from '../journal/receipt-trees.js';
import { isId, isMoment, parseCursor, renderCursor } from '../paging/page-cursor.js';

/** Receipts on a page: some 700 kB. */
const PAGE_RECEIPTS = 1_000;
/** A settlement and its late one. */
const ROWS_MAX = 2;

const isFlag = (value: string): boolean => value === 'true' || value === 'false';

/** Signs closed months, and makes files of receipts. Reads of journals get the connection of `JournalReads`. */
export class Receipts {
  constructor(
    private readonly prisma: PrismaClient,
    /** Undefined: no month is signed. */
    private readonly key: SigningKey | undefined,
  ) {}

  /** Signs what this key has not signed, and returns all keys and signed months. */
  async listKeys(): Promise<ReceiptKeys> {
    await this.sign();
    const query = queryOn(this.prisma);
    const [installation] = await query<{ id: string }>('SELECT id::text FROM billing.installation', []);
    const keys = await this.prisma.receiptKey.findMany({ orderBy: [{ addedAt: 'asc' }, { id: 'asc' }] });
    const signatures = await this.prisma.monthSignature.findMany({ orderBy: [{ month: 'asc' }, { keyId: 'asc' }] });
    const byMonth = Map.groupBy(signatures, ({ month }) => month);
    return {
      installation: installation?.id ?? '',
      keys: keys.map(({ id, publicKey, addedAt }) => ({ id, ed25519: publicKey, since: addedAt.toISOString() })),
      months: (await readMonthLines(query)).map(({ month, line }) => ({
        month,
        line,
        signatures: (byMonth.get(month) ?? []).map(({ keyId, signature }) => ({ key: keyId, ed25519: signature })),
      })),
    };
  }

  /**
   * Returns the file of a request: a section for each closed month with a receipt of it.
   * @throws {ServiceError} `conflict` before its month is closed
   */
  async show(prisma: PrismaClient, request: BilledRequest): Promise<ReceiptFile> {
    const query = queryOn(prisma);
    const { requestId, accountId, projectId, keyId, holdId } = request;
    const lines: string[] = [];
    const months: string[] = [];
    for (const row of await readReceipts(query, { condition: `hold_id = '${holdId}'`, limit: ROWS_MAX })) {
      const month = await findMonth(query, row);
      if (!month) continue;
      lines.push(...(await this.renderHead(query, month.month, accountId)), renderReceipt(row), await renderPath(query, month, row));
      months.push(month.month);
    }
    if (months.length === 0) {
      throw new ServiceError('conflict', 'The month of this request is not closed: its receipt is made then.', 'requestId');
    }
    return { requestId, accountId, projectId, keyId, months, file: lines.map((line) => `${line}\n`).join('') };
  }

  /** Returns a page of the file with all receipts of an account's month. */
  async list(prisma: PrismaClient, { accountId, month, cursor }: ReceiptListRequest): Promise<ReceiptListReply> {
    const query = queryOn(prisma);
    const rows = await requireMonth(query, month);
    const head = cursor ? [] : await this.renderHead(query, month, accountId);
    const [first] = await readParts(query, month, accountId);
    if (!first) throw noReceipts();
    const question = { accountId, month };
    const [at = '', holdId = '', late] = cursor ? parseCursor(question, cursor, [isMoment, isId, isFlag]) : [];
    const after = cursor ? { at, holdId, late: late === 'true' } : undefined;
    const condition = accountCondition(rows, accountId, first.at);
    const found = await readReceipts(query, { condition, after, limit: PAGE_RECEIPTS });
    const lines = [...head, ...found.map(renderReceipt)].map((line) => `${line}\n`).join('');
    const last = found.length === PAGE_RECEIPTS ? found.at(-1) : undefined;
    return { lines, nextCursor: last ? renderCursor(question, [last.at, last.holdId, String(last.late)]) : null };
  }

  /** Returns what the receipts of an account's month prove; null when it has none. */
  async sumUp(accountId: string, month: string): Promise<AccountReceipts | null> {
    const [account, signed] = await Promise.all([
      this.prisma.monthReceipt.findUnique({ where: { month_accountId: { month, accountId } } }),
      this.prisma.monthLine.findUnique({ where: { month } }),
    ]);
    if (!account || !signed) return null;
    const { requests, lateSettlements, cost, root } = account;
    const { digest } = JSON.parse(signed.line) as MonthLine;
    const sums = { requests: Number(requests), lateSettlements: Number(lateSettlements), costPicoUsd: cost.toFixed(0) };
    return { ...sums, root, digest };
  }

  /** Returns the lines before the receipts of an account. */
  private async renderHead(query: Query, month: string, accountId: string): Promise<string[]> {
    const account = await this.prisma.monthReceipt.findUnique({ where: { month_accountId: { month, accountId } } });
    if (!account) throw noReceipts();
    await this.sign();
    const [signed] = await query<{ line: string; key: string; signature: string }>(
      `SELECT l.line, s.key_id AS key, s.signature FROM billing.month_line l JOIN billing.month_signature s ON s.month = l.month
       JOIN billing.receipt_key k ON k.id = s.key_id WHERE l.month = $1 ORDER BY (k.id = $2) DESC, k.added_at DESC LIMIT 1`,
      [month, this.key?.id ?? ''],
    );
    if (!signed) throw new ServiceError('conflict', 'This installation signs no receipts: RECEIPT_SIGNING_KEY of billing is not set.');
    return [
      signed.line,
      renderLine<SignatureLine>({ type: 'signature', key: signed.key, ed25519: signed.signature }),
      renderAccount(month, { ...account, cost: BigInt(account.cost.toFixed(0)) }),
      renderLine<PathLine>({ type: 'path', steps: account.path }),
    ];
  }

  /** Ed25519 gives one signature for a key and a text, so that replicas write the same. */
  private async sign(): Promise<void> {
    const { key, prisma } = this;
    if (!key) return;
    const unsigned = await queryOn(prisma)<{ month: string; line: string }>(
      `SELECT month, line FROM billing.month_line l
       WHERE NOT EXISTS (SELECT FROM billing.month_signature s WHERE s.month = l.month AND s.key_id = $1) ORDER BY month`,
      [key.id],
    );
    if (!(await prisma.receiptKey.findUnique({ where: { id: key.id } }))) {
      await prisma.receiptKey.createMany({ data: [{ id: key.id, publicKey: key.publicKey }], skipDuplicates: true });
    }
    if (unsigned.length === 0) return;
    const data = unsigned.map(({ month, line }) => ({ month, keyId: key.id, signature: key.sign(line) }));
    await prisma.monthSignature.createMany({ data, skipDuplicates: true });
  }
}

/** Returns the closed month that a row counts in; undefined while it is open. */
async function findMonth(query: Query, { at, transactionId }: ReceiptRow): Promise<MonthRows | undefined> {
  const months = await readMonths(query);
  const position = months.findIndex((_, index) => {
    const to = findMonthRows(months, index)?.range.to;
    return to && Date.parse(at) < to.at && BigInt(transactionId) < BigInt(to.transactionEnd);
  });
  return position === -1 ? undefined : requireRows(query, months, position);
}

/** @throws {ServiceError} as `requireRows` does */
async function requireMonth(query: Query, id: string): Promise<MonthRows> {
  const months = await readMonths(query);
  const position = months.findIndex((month) => month.id === id);
  return requireRows(query, months, position);
}

/** @throws {ServiceError} `not_found` for a month that is not closed, `conflict` for one without receipts, or with detached rows. */
async function requireRows(query: Query, months: readonly StoredMonth[], position: number): Promise<MonthRows> {
  const [month, rows] = [months[position], findMonthRows(months, position)];
  if (!month || !rows) throw new ServiceError('not_found', 'The month is not closed.', 'month');
  if (!month.manifest?.files.some(({ file }) => file === 'receipts')) {
    throw new ServiceError('conflict', 'The month was closed by a version without receipts.', 'month');
  }
  const detached = (await readDetached(query)).at(-1);
  if (detached?.rests[month.id])
    throw new ServiceError('conflict', `Rows of the month are detached: attach ${detached.id} first.`, 'month');
  return rows;
}

interface Part extends ReceiptPlace {
  root: string;
}

/** Reads the parts of an account's month in their order, each with its first receipt. */
function readParts(query: Query, month: string, accountId: string): Promise<Part[]> {
  return query<Part>(
    `SELECT to_char(from_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at, from_id::text AS "holdId", from_late AS late, root
     FROM billing.month_receipt_part WHERE month = $1 AND account_id = $2::uuid ORDER BY part`,
    [month, accountId],
  );
}

/** Renders the path of a receipt: within its part, of which all rows are read, and from the part to the account's root. */
async function renderPath(query: Query, rows: MonthRows, { accountId, ...place }: ReceiptRow): Promise<string> {
  const parts = await readParts(query, rows.month, accountId);
  const index = parts.findLastIndex((part) => renderPlace(part) <= renderPlace(place));
  const [first, part] = [parts[0], parts[index]];
  if (!first || !part) throw changed(rows.month);
  const condition = accountCondition(rows, accountId, first.at);
  const receipts = await readReceipts(query, { condition, from: part, limit: PART_RECEIPTS });
  const leaves = receipts.map((receipt) => hashLeaf(renderReceipt(receipt)));
  const at = receipts.findIndex((receipt) => renderPlace(receipt) === renderPlace(place));
  if (at === -1 || joinRoots(leaves).toString('hex') !== part.root) throw changed(rows.month);
  const roots = parts.map(({ root }) => Buffer.from(root, 'hex'));
  return renderLine<PathLine>({ type: 'path', steps: [...makePath(leaves, at), ...makePath(roots, index)] });
}

function renderPlace({ at, holdId, late }: ReceiptPlace): string {
  return `${at} ${holdId} ${late ? 1 : 0}`;
}

function noReceipts(): ServiceError {
  return new ServiceError('not_found', 'The account has no receipts for this month.', 'month');
}

function changed(month: string): ServiceError {
  return new ServiceError('conflict', `${month} is not what was closed: run the full ledger check.`, 'month');
}

function queryOn(prisma: PrismaClient): Query {
  return (sql, values) => prisma.$queryRawUnsafe(sql, ...values);
}
