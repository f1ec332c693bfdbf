import { IsOptional, Matches } from 'class-validator';
import { EmptyRequest } from '../catalog.js';
import { Endpoint } from '../endpoint.js';
import { CHILD_PATH } from '../rules/child-path.js';
import { Id, type Paged, Text } from './fields.js';
import { MONTH, MONTH_MESSAGE } from './months.js';
import { RequestShowRequest } from './requests.js';

/** Receipts of closed months, for whoever checks them without the installation. A file of receipts is lines of JSON; docs/receipts.md has its form. */

/** As the gateway publishes it: the names are those of the file. */
export interface ReceiptKeys {
  /** Id of the installation. */
  installation: string;
  /** Public keys of Ed25519 in hexadecimal digits, the first one first. Keys that were replaced stay. */
  keys: { id: string; ed25519: string; since: string }[];
  /** Closed months with receipts, the first one first: the line that is signed, and its signatures. */
  months: { month: string; line: string; signatures: { key: string; ed25519: string }[] }[];
}

export const receiptKeys = new Endpoint<EmptyRequest, ReceiptKeys>('billing.v1.receipt.keys', EmptyRequest, {
  about: 'Public keys of receipts, and the signed line of each closed month',
  isRepeatable: true,
});

export class ReceiptShowRequest extends RequestShowRequest {}

export interface ReceiptFile {
  requestId: string;
  accountId: string;
  projectId: string;
  keyId: string;
  /** Closed months of its receipts: a late settlement may be in a later month than its settlement. */
  months: string[];
  /** The file: lines of JSON. */
  file: string;
}

/** Replies `conflict` until the month of the request is closed. */
export const receiptShow = new Endpoint<ReceiptShowRequest, ReceiptFile>('billing.v1.receipt.show', ReceiptShowRequest, {
  about: 'Receipt of one request, with its proof',
  isRepeatable: true,
});

export class ReceiptListRequest {
  @Id() accountId!: string;
  @Matches(MONTH, { message: MONTH_MESSAGE }) month!: string;
  /** `nextCursor` of the page before. */
  @IsOptional() @Text(2_000) cursor?: string;
}

export interface ReceiptListReply extends Paged {
  /** Lines of the file, each with its line end. */
  lines: string;
}

export const receiptList = new Endpoint<ReceiptListRequest, ReceiptListReply>('billing.v1.receipt.list', ReceiptListRequest, {
  about: 'All receipts of an account for a closed month, page by page',
  isRepeatable: true,
});

export class ReceiptMonthRequest {
  @Id() accountId!: string;
  @Matches(MONTH, { message: MONTH_MESSAGE }) month!: string;
}

/** Number, sum and root of the receipts of an account's month. */
export interface AccountReceipts {
  requests: number;
  lateSettlements: number;
  /** Sum of all receipts, which is the cost of the statement. */
  costPicoUsd: string;
  /** Root of the tree over the receipts. */
  root: string;
  /** Digest of the closed month. */
  digest: string;
}

export interface ReceiptMonthReply {
  /** Null: the month is not closed, or has no settlement of the account. */
  receipts: AccountReceipts | null;
}

export const receiptMonth = new Endpoint<ReceiptMonthRequest, ReceiptMonthReply>('billing.v1.receipt.month', ReceiptMonthRequest, {
  about: 'Number, sum and root of the receipts of an account for a closed month',
  isRepeatable: true,
});

export class OwnKeyReceiptRequest extends RequestShowRequest {
  @Id() keyId!: string;
  /** Only a request of this child key or one below it. Absent: any of the key. */
  @IsOptional() @Matches(CHILD_PATH) child?: string;
}

/** Replies `not_found` for the request of another key, `conflict` until the month of the request is closed. */
export const ownKeyReceipt = new Endpoint<OwnKeyReceiptRequest, ReceiptFile>('billing.v1.own-key.receipt', OwnKeyReceiptRequest, {
  about: 'Receipt of one request of a key, with its proof',
  isRepeatable: true,
});
