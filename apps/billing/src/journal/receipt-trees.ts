import { hashLeaf, joinRoots, TreeHasher } from '#receipts/merkle-tree.js';
import { FILE_START, type FilePosition, type MonthRows, type Query, readWindows } from './month-files.js';
import { type ReceiptPlace, type ReceiptRow, readReceipts, renderReceipt } from './receipt-rows.js';

/** Receipts of a part: a power of two, so that a part is a node of the tree. A path reads the rows of one part. */
export const PART_RECEIPTS = 1_024;
/** Rows of a page. They are rendered and hashed in a turn of the event loop, which requests wait for. */
const PAGE_ROWS = 500;
/** Accounts whose trees grow at once: each takes about a kilobyte. The rows are read once for each so many accounts. */
const ACCOUNTS_AT_ONCE = 20_000;

interface ReceiptPart {
  first: ReceiptPlace;
  root: Buffer;
}

/** The tree of an account's month, with its sums. */
export interface AccountMonth {
  accountId: string;
  requests: bigint;
  lateSettlements: bigint;
  cost: bigint;
  root: Buffer;
  parts: ReceiptPart[];
}

/** Reads the rows of a month and returns the tree of each account that has some, in the order of the accounts' ids. */
export async function growTrees(query: Query, rows: MonthRows, signal?: AbortSignal, atOnce = ACCOUNTS_AT_ONCE): Promise<AccountMonth[]> {
  const bounds = await query<{ id: string }>(
    `SELECT id::text FROM (SELECT id, row_number() OVER (ORDER BY id) AS number FROM billing.account) a WHERE number % ${atOnce} = 0 ORDER BY id`,
    [],
  );
  const months: AccountMonth[] = [];
  for (let index = 0; index <= bounds.length; index += 1) {
    const [above, upTo] = [bounds[index - 1]?.id, bounds[index]?.id];
    const accounts = `${above ? ` AND account_id > '${above}'` : ''}${upTo ? ` AND account_id <= '${upTo}'` : ''}`;
    const trees = new Map<string, AccountTree>();
    for await (const page of readPages(query, rows, accounts, signal)) {
      for (const row of page) {
        const tree = trees.get(row.accountId) ?? new AccountTree(row.accountId);
        trees.set(row.accountId, tree);
        tree.add(row);
      }
    }
    const ids = [...trees.keys()].sort();
    months.push(...ids.map((id) => (trees.get(id) as AccountTree).finish()));
  }
  return months;
}

async function* readPages(query: Query, rows: MonthRows, accounts: string, signal?: AbortSignal): AsyncGenerator<ReceiptRow[]> {
  let position: FilePosition | undefined = FILE_START;
  let after: ReceiptPlace | undefined;
  while (position) {
    signal?.throwIfAborted();
    const { found, windowMs }: { found: ReceiptRow[]; windowMs: number } = await readWindows(
      { at: 'settled_at', rows, position, limit: PAGE_ROWS },
      (condition, limit) => readReceipts(query, { condition: `${condition}${accounts}`, after, limit }),
    );
    yield found;
    after = found.at(-1);
    position = after && found.length === PAGE_ROWS ? { after: [after.at], windowMs } : undefined;
  }
}

class AccountTree {
  private readonly parts: ReceiptPart[] = [];
  private part = new TreeHasher();
  private first: ReceiptPlace | undefined;
  private inPart = 0;
  private requests = 0n;
  private lateSettlements = 0n;
  private cost = 0n;

  constructor(private readonly accountId: string) {}

  add(row: ReceiptRow): void {
    const { at, holdId, late, amount } = row;
    this.first ??= { at, holdId, late };
    this.part.add(hashLeaf(renderReceipt(row)));
    this.inPart += 1;
    if (late) this.lateSettlements += 1n;
    else this.requests += 1n;
    this.cost += BigInt(amount);
    if (this.inPart === PART_RECEIPTS) this.endPart();
  }

  finish(): AccountMonth {
    this.endPart();
    const { accountId, requests, lateSettlements, cost, parts } = this;
    return { accountId, requests, lateSettlements, cost, root: joinRoots(parts.map(({ root }) => root)), parts };
  }

  private endPart(): void {
    if (!this.first) return;
    this.parts.push({ first: this.first, root: this.part.root() });
    this.part = new TreeHasher();
    this.first = undefined;
    this.inPart = 0;
  }
}
