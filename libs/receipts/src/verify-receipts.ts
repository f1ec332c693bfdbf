import { climb, hashLeaf, STEP, STEPS_MAX, TreeHasher } from './merkle-tree.js';
import { type PublishedKeys, requireSignature } from './published-keys.js';
import { ReceiptFault } from './receipt-fault.js';
import { type AccountLine, type AnyLine, FORMAT, type MonthLine, type ReceiptLine } from './receipt-lines.js';

/** The receipts of one account and month in a file. */
export interface VerifiedMonth {
  month: string;
  installation: string;
  /** Id of the key that signed it. */
  key: string;
  accountId: string;
  /** Digest of the closed month. */
  digest: string;
  /** Root of the account's receipts. */
  root: string;
  requests: bigint;
  lateSettlements: bigint;
  costPicoUsd: bigint;
  receipts: number;
  /** Sum of the receipts in the file. */
  amountPicoUsd: bigint;
  /** True when the file has all receipts of the account's month; false when each has a path of its own. */
  isWhole: boolean;
  /** False when the published keys were read before the month was. */
  isPublished: boolean;
}

const AMOUNT = /^-?\d{1,38}$/;

interface Section {
  line: Buffer;
  month: MonthLine;
  account?: AccountLine;
  accountLeaf?: Buffer;
  tree: TreeHasher;
  /** Hash of the last receipt, which its path may follow. */
  receipt?: Buffer | undefined;
  isPath?: boolean;
  counts: Record<ReceiptLine['kind'], bigint>;
  verified: VerifiedMonth;
  /** Time, hold and kind of the receipt before: they ascend. */
  before: string;
}

/**
 * Checks a file of receipts line by line, against the keys that its installation publishes. Keeps one hash for each level of a tree, whatever
 * the length of the file.
 *
 * A section is a month line, its signature, an account line, its path, and receipts: either all of the account's month, or some with a path
 * after each. A month has one line in all sections, and in the published keys.
 */
export class ReceiptVerifier {
  private readonly found: VerifiedMonth[] = [];
  private readonly months = new Map<string, string>();
  private section: Section | undefined;
  private number = 0;

  constructor(private readonly published: PublishedKeys) {
    for (const { month, line } of published.months) this.months.set(month, line);
  }

  /** Takes one line without its line end. @throws {ReceiptFault} */
  add(line: Buffer): void {
    this.number += 1;
    try {
      this.addParsed(line, parseLine(line));
    } catch (error) {
      throw error instanceof ReceiptFault ? new ReceiptFault(`Line ${this.number}: ${error.message}`, { cause: error }) : error;
    }
  }

  /** Returns what the file proves. @throws {ReceiptFault} */
  finish(): VerifiedMonth[] {
    this.endSection();
    if (this.found.length === 0) throw new ReceiptFault('The file has no receipts.');
    return this.found;
  }

  private addParsed(line: Buffer, parsed: AnyLine): void {
    if (parsed.type === 'month') {
      this.endSection();
      this.section = this.beginSection(line, parsed);
      return;
    }
    const { section } = this;
    if (!section) throw new ReceiptFault('A file of receipts begins with the line of a month.');
    if (parsed.type === 'signature') this.addSignature(section, line, parsed);
    else if (parsed.type === 'account') addAccount(section, line, parsed);
    else if (parsed.type === 'path') addPath(section, line, parsed);
    else addReceipt(section, line, parsed);
  }

  private beginSection(line: Buffer, month: MonthLine): Section {
    const { installation, digest } = month;
    if (month.format !== FORMAT) throw new ReceiptFault('The format of the receipts is not known: use a newer verifier.');
    if (installation !== this.published.installation) throw new ReceiptFault('The receipts are of another installation than the keys.');
    const text = line.toString();
    if ((this.months.get(month.month) ?? text) !== text)
      throw new ReceiptFault(`${month.month} was closed twice: another line was signed.`);
    this.months.set(month.month, text);
    const isPublished = this.published.months.some((one) => one.month === month.month);
    const verified = {
      month: month.month,
      installation,
      digest,
      key: '',
      accountId: '',
      root: '',
      receipts: 0,
      isWhole: false,
      isPublished,
    };
    const sums = { requests: 0n, lateSettlements: 0n, costPicoUsd: 0n, amountPicoUsd: 0n };
    const counts = { settlement: 0n, 'late-settlement': 0n };
    return { line, month, tree: new TreeHasher(), counts, verified: { ...verified, ...sums }, before: '' };
  }

  private addSignature(section: Section, line: Buffer, { key, ed25519 }: Extract<AnyLine, { type: 'signature' }>): void {
    if (section.verified.key !== '') throw new ReceiptFault('The month has two signatures.');
    requireForm(line, { type: 'signature', key, ed25519 });
    requireSignature(this.published, section.line, String(key), String(ed25519));
    section.verified.key = key;
  }

  private endSection(): void {
    const { section } = this;
    if (!section) return;
    const { account, verified, counts } = section;
    if (!account || section.accountLeaf) throw new ReceiptFault('The section before has no account with a path.');
    verified.isWhole = !section.isPath;
    if (section.isPath && section.receipt) throw new ReceiptFault('The last receipt has no path.');
    if (verified.isWhole) {
      if (section.tree.root().toString('hex') !== account.root) {
        const { receipts, requests, lateSettlements } = verified;
        const expected = requests + lateSettlements;
        throw new ReceiptFault(
          BigInt(receipts) === expected
            ? `The receipts of ${account.month} are not those of its account.`
            : `The file has ${receipts} receipts of ${account.month}, its account has ${expected}.`,
        );
      }
      if (counts.settlement !== verified.requests || counts['late-settlement'] !== verified.lateSettlements) {
        throw new ReceiptFault(`The account of ${account.month} counts other receipts than it has.`);
      }
      if (verified.amountPicoUsd !== verified.costPicoUsd) {
        throw new ReceiptFault(
          `The receipts of ${account.month} add up to ${verified.amountPicoUsd}, its cost is ${verified.costPicoUsd}.`,
        );
      }
    }
    this.found.push(verified);
    this.section = undefined;
  }
}

function addAccount(section: Section, line: Buffer, account: AccountLine): void {
  if (section.verified.key === '') throw new ReceiptFault('The month has no signature.');
  if (section.account) throw new ReceiptFault('The month has two accounts.');
  if (account.month !== section.month.month) throw new ReceiptFault('The account is of another month.');
  section.account = account;
  section.accountLeaf = hashLeaf(line);
  const { account_id: accountId, root, requests, late_settlements: lateSettlements, cost_pico_usd: cost } = account;
  const sums = { requests: toAmount(requests), lateSettlements: toAmount(lateSettlements), costPicoUsd: toAmount(cost) };
  Object.assign(section.verified, { accountId, root, ...sums });
}

function addPath(section: Section, line: Buffer, { steps }: Extract<AnyLine, { type: 'path' }>): void {
  if (!Array.isArray(steps) || steps.length > STEPS_MAX || !steps.every((step) => STEP.test(step)))
    throw new ReceiptFault('The path has no form.');
  requireForm(line, { type: 'path', steps });
  const { accountLeaf, account, receipt, month } = section;
  const leaf = accountLeaf ?? receipt;
  if (!leaf || !account) throw new ReceiptFault('There is no line that the path begins with.');
  const root = climb(leaf, steps).toString('hex');
  if (accountLeaf) {
    if (root !== month.root) throw new ReceiptFault('The account is not in the signed month.');
    delete section.accountLeaf;
    return;
  }
  if (root !== account.root) throw new ReceiptFault('The receipt is not among those of its account.');
  if (section.verified.receipts > 1 && !section.isPath) throw new ReceiptFault('The receipt before has no path.');
  section.isPath = true;
  section.receipt = undefined;
}

function addReceipt(section: Section, line: Buffer, receipt: ReceiptLine): void {
  const { account, verified } = section;
  if (!account || section.accountLeaf) throw new ReceiptFault('There is no account with a path before the receipt.');
  if (section.isPath && section.receipt) throw new ReceiptFault('The receipt before has no path.');
  if (receipt.account_id !== account.account_id) throw new ReceiptFault('The receipt is of another account.');
  if (!Object.hasOwn(section.counts, receipt.kind)) throw new ReceiptFault('The kind of the receipt is not known.');
  const place = `${receipt.settled_at} ${receipt.hold_id} ${receipt.kind === 'settlement' ? 0 : 1}`;
  if (place <= section.before) throw new ReceiptFault('The receipt stands twice, or out of order.');
  section.before = place;
  section.receipt = hashLeaf(line);
  if (!section.isPath) section.tree.add(section.receipt);
  section.counts[receipt.kind] += 1n;
  verified.receipts += 1;
  verified.amountPicoUsd += toAmount(receipt.amount_pico_usd);
}

const TYPES = ['month', 'signature', 'account', 'path', 'receipt'];

function parseLine(line: Buffer): AnyLine {
  try {
    const parsed = JSON.parse(line.toString()) as AnyLine | null;
    if (parsed !== null && TYPES.includes(parsed.type)) return parsed;
  } catch {
    // no JSON: as below
  }
  throw new ReceiptFault('This is no line of a file of receipts.');
}

/** A line that is neither hashed nor signed has one form only, so that none of its bytes can change. */
function requireForm(line: Buffer, parsed: AnyLine): void {
  if (JSON.stringify(parsed) !== line.toString()) throw new ReceiptFault('The line has another form.');
}

function toAmount(text: string): bigint {
  if (typeof text !== 'string' || !AMOUNT.test(text)) throw new ReceiptFault('An amount or a count is no whole number.');
  return BigInt(text);
}
