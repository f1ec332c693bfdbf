import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { receiptKeys, receiptList, receiptShow } from '#contracts/billing/receipts.js';
import type { Messaging } from '#messaging/messaging.js';
import { parsePublishedKeys } from '#receipts/published-keys.js';
import { readLines } from '#receipts/read-lines.js';
import { ReceiptFault } from '#receipts/receipt-fault.js';
import { ReceiptVerifier, type VerifiedMonth } from '#receipts/verify-receipts.js';
import { type CliCommand, command } from '../command.js';
import { completeIds } from '../complete-ids.js';
import { account, argument, month, required, text } from '../parameters.js';
import { readTextFile } from '../read-file.js';
import { renderDollars, renderTable } from '../render.js';
import { UsageError } from '../usage-error.js';

const PAGE_MS = 60_000;
/** Keys and signed months of a century. */
const KEYS_LENGTH_MAX = 4_000_000;

const file = text(4_096, 'file');

const exportCommand: CliCommand = {
  name: 'receipt export',
  summary: 'Write all receipts of an account for a closed month into a file, which anybody can verify',
  parameters: { month: argument(month, 'closed month'), account, out: required(file, 'file to write') },
  examples: ['receipt export 2027-01 --account acme --out receipts-2027-01.jsonl'],
  async run(values, json, connect) {
    const messaging = await connect();
    const { month, account, out } = await completeIds(this.parameters, values, messaging);
    const receipts = await writeReceipts(messaging, String(account), String(month), String(out));
    return { text: json ? JSON.stringify({ file: out, receipts }, null, 2) : `${out}: ${receipts} receipts`, failed: false };
  },
};

/** Lines before the receipts: the month, its signature, the account and its path. */
const HEAD_LINES = 4;

/** Writes the file page by page, and returns the number of receipts. */
async function writeReceipts(messaging: Messaging, accountId: string, month: string, out: string): Promise<number> {
  const written = await open(out, 'w').catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`cannot write ${out}: ${error.code}`);
  });
  let lineCount = 0;
  try {
    let cursor: string | undefined;
    do {
      const page = await messaging.request(receiptList, { accountId, month, ...(cursor && { cursor }) }, { timeoutMs: PAGE_MS });
      await written.appendFile(page.lines);
      lineCount += page.lines.split('\n').length - 1;
      cursor = page.nextCursor ?? undefined;
    } while (cursor);
  } finally {
    await written.close();
  }
  return lineCount - HEAD_LINES;
}

const verifyCommand: CliCommand = {
  name: 'verify',
  summary: 'Check a file of receipts without a network, against the published keys of its installation; exit code 1 if it is wrong',
  parameters: {
    file: argument(file, 'file of receipts'),
    keys: required(file, 'published keys: what /.well-known/tollgate-receipt-keys of the gateway serves, or tollgate receipt keys prints'),
  },
  examples: ['verify receipts-2027-01.jsonl --keys receipt-keys.json'],
  async run({ file, keys }, json) {
    const published = await readTextFile(String(keys), KEYS_LENGTH_MAX);
    try {
      const months = await verifyFile(String(file), published);
      return { text: json ? JSON.stringify({ valid: true, months: months.map(toJson) }, null, 2) : renderVerified(months), failed: false };
    } catch (error) {
      if (!(error instanceof ReceiptFault)) throw error;
      const fault = error.message;
      return { text: json ? JSON.stringify({ valid: false, fault }, null, 2) : `NOT VALID. ${fault}`, failed: true };
    }
  },
};

async function verifyFile(file: string, published: string): Promise<VerifiedMonth[]> {
  const verifier = new ReceiptVerifier(parsePublishedKeys(published));
  const stream = createReadStream(file, { highWaterMark: 1 << 20 });
  try {
    for await (const lines of readLines(stream)) for (const line of lines) verifier.add(line);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw code === 'ENOENT' ? new UsageError(`cannot read ${file}: no such file`) : error;
  }
  return verifier.finish();
}

function toJson({ requests, lateSettlements, costPicoUsd, amountPicoUsd, ...rest }: VerifiedMonth) {
  const sums = { requests: String(requests), lateSettlements: String(lateSettlements) };
  return { ...rest, ...sums, costPicoUsd: String(costPicoUsd), amountPicoUsd: String(amountPicoUsd) };
}

function renderVerified(months: readonly VerifiedMonth[]): string {
  const table = renderTable(months, '', {
    MONTH: (row) => row.month,
    ACCOUNT: (row) => row.accountId,
    RECEIPTS: (row) => (row.isWhole ? `all ${row.receipts}` : `${row.receipts} of ${row.requests + row.lateSettlements}`),
    AMOUNT: (row) => renderDollars(String(row.amountPicoUsd)),
    'COST OF THE MONTH': (row) => renderDollars(String(row.costPicoUsd)),
    'SIGNED BY': (row) => (row.isPublished ? row.key : `${row.key}, not yet among the published months`),
    ROOT: (row) => row.root,
  });
  return `${table}\n\nvalid`;
}

export const receiptCommands: readonly CliCommand[] = [
  command({
    name: 'receipt show',
    summary: 'Print the receipt of a request with its proof, once its month is closed',
    parameters: { requestId: argument(text(128, 'request-id'), 'id of the request, of its reply or of its hold') },
    examples: ['receipt show req_0190a6f07c1e70008000000000000001 > receipt.jsonl'],
    endpoint: receiptShow,
    request: ({ requestId }) => ({ requestId }),
    render: ({ file }) => file.trimEnd(),
  }),
  exportCommand,
  command({
    name: 'receipt keys',
    summary: 'Print the public keys of receipts and the signed months, as the gateway publishes them',
    parameters: {},
    examples: ['receipt keys > receipt-keys.json'],
    endpoint: receiptKeys,
    request: () => ({}),
    render: (keys) => JSON.stringify(keys, null, 2),
  }),
  verifyCommand,
];
