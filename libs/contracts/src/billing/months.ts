import { IsIn, IsOptional, Matches } from 'class-validator';
import { EmptyRequest } from '../catalog.js';
import { Endpoint } from '../endpoint.js';
import { type Paged, Text } from './fields.js';

/** `2027-01`, a month in UTC. */
export const MONTH = /^2\d{3}-(0[1-9]|1[0-2])$/;
export const MONTH_MESSAGE = '$property must be a month such as 2027-01';

/**
 * Form of a column: `amount` is pico-USD within 64 bits, `sum` pico-USD of up to 38 digits, `count` a whole number within 64 bits, `time` has
 * microseconds and is UTC, `json` is a value as Postgres writes `jsonb`.
 */
export type MonthColumn = 'id' | 'text' | 'time' | 'count' | 'amount' | 'sum' | 'flag' | 'json';

const COUNTS = { prompt_tokens: 'count', cached_tokens: 'count', output_tokens: 'count', reasoning_tokens: 'count' } as const;
const WRITES = { cache_write_tokens: 'count', cache_write_1h_tokens: 'count' } as const;
const SOURCES = { usage_source: 'text', prompt_source: 'text', output_source: 'text', settled_by: 'text' } as const;

/** Files of a month with their columns. Never changed: the digests of closed months cover them. Months closed before a file was added lack it. */
export const MONTH_FILES = {
  settlements: {
    ...{ hold_id: 'id', account_id: 'id', project_id: 'id', key_id: 'id', request_id: 'text', model: 'text', upstream: 'text' },
    ...{ reason: 'text', held: 'amount', cost: 'amount', plan_cost: 'amount', live_grant_id: 'id', ended_cost: 'amount' },
    ...{ forfeit: 'amount', grant_id: 'id', topup_cost: 'amount', over: 'sum', ...COUNTS, ...SOURCES, price_version: 'count' },
    ...{ input_price: 'amount', cached_input_price: 'amount', output_price: 'amount', reserved_at: 'time', settled_at: 'time' },
  },
  'late-settlements': {
    ...{ hold_id: 'id', account_id: 'id', reason: 'text', upstream: 'text', held: 'amount', billed: 'amount', due: 'amount' },
    ...{ plan_cost: 'amount', live_grant_id: 'id', topup_cost: 'amount', writeoff: 'amount', forfeit: 'amount', over: 'sum' },
    ...{ ...COUNTS, ...SOURCES, settled_at: 'time' },
  },
  /** Settlements whose price has more than token prices: the rest of it. */
  'unit-prices': {
    ...{ hold_id: 'id', account_id: 'id', request_price: 'amount', image_price: 'amount', images: 'count', settled_at: 'time' },
  },
  /** Settlements of requests that wrote to a cache of their upstream, or whose price has a part for it. */
  'cache-writes': {
    ...{ hold_id: 'id', account_id: 'id', ...WRITES, cache_write_price: 'amount', cache_write_1h_price: 'amount', settled_at: 'time' },
  },
  /** Late settlements of requests that wrote to a cache of their upstream. */
  'late-cache-writes': { hold_id: 'id', account_id: 'id', ...WRITES, settled_at: 'time' },
  /** Settlements whose price has steps, tiers or image classes, with what of it applied, and those in a tier. */
  'price-rules': {
    ...{ hold_id: 'id', account_id: 'id', tier: 'text', price_step: 'count', price_rules: 'json', settled_at: 'time' },
  },
  /** Late settlements in a tier, or with a prompt that reached a step. */
  'late-price-rules': { hold_id: 'id', account_id: 'id', tier: 'text', price_step: 'count', settled_at: 'time' },
  /** Settlements of items of services; the price of a unit is in `unit-prices`. */
  'item-quantities': { hold_id: 'id', account_id: 'id', quantity: 'count', settled_at: 'time' },
  'late-item-quantities': { hold_id: 'id', account_id: 'id', quantity: 'count', settled_at: 'time' },
  movements: {
    ...{ id: 'id', account_id: 'id', kind: 'text', amount: 'sum', grant_id: 'id', grant_ends_at: 'time' },
    ...{ idempotency_key: 'text', reason: 'text', refund_of: 'id', created_at: 'time' },
  },
  statements: {
    ...{ account_id: 'id', requests: 'count', opening: 'sum', topups: 'sum', grants: 'sum', credits: 'sum', refunds: 'sum' },
    ...{ debits: 'sum', forfeited: 'sum', cost: 'sum', closing: 'sum', topup_closing: 'sum', refundable: 'sum' },
  },
  grants: { grant_id: 'id', account_id: 'id', amount: 'sum', gone: 'sum', ended: 'flag' },
  /** Accounts with settlements: the root of the tree over their receipts. */
  receipts: { account_id: 'id', requests: 'count', late_settlements: 'count', cost: 'sum', root: 'text' },
} as const satisfies Record<string, Record<string, MonthColumn>>;

export type MonthFileName = keyof typeof MONTH_FILES;
export const MONTH_FILE_NAMES = Object.keys(MONTH_FILES) as MonthFileName[];

/** First line of a file: the names of its columns. */
export function monthFileHeader(file: MonthFileName): string {
  return `${Object.keys(MONTH_FILES[file]).join(',')}\n`;
}

export interface MonthFile {
  file: MonthFileName;
  rows: number;
  /** SHA-256 of the CSV file, its first line included. */
  sha256: string;
}

export interface ClosedMonth {
  month: string;
  /** SHA-256 of the manifest. It covers all files of this month, and the digest of the month before. */
  digest: string;
  manifest: string;
  files: MonthFile[];
  closedAt: string;
}

export class MonthCloseRequest {
  @Matches(MONTH, { message: MONTH_MESSAGE }) month!: string;
}

export interface MonthCloseReply extends ClosedMonth {
  /** False: it was closed before. */
  closed: boolean;
}

/** Takes seconds for each million settlements: call with a timeout of minutes. A call that is lost may be repeated. */
export const monthClose = new Endpoint<MonthCloseRequest, MonthCloseReply>('billing.v1.month.close', MonthCloseRequest, {
  about: 'Closes a month: seals its journal rows with a digest, and writes the statements of its accounts',
  isRecorded: true,
});

/** A month whose rows are out of the journals. */
export interface DetachedMonth {
  month: string;
  /** Names of its tables, for the operator to dump and drop. */
  tables: string[];
  settlements: number;
  lateSettlements: number;
  detachedAt: string;
}

export interface MonthListReply {
  /** Closed months, the last one first. */
  months: ClosedMonth[];
  /** The last one first: only this one can be attached. */
  detached: DetachedMonth[];
}

export const monthList = new Endpoint<EmptyRequest, MonthListReply>('billing.v1.month.list', EmptyRequest, {
  about: 'Closed months with their digests, the last one first',
});

export class MonthDetachRequest {
  @Matches(MONTH, { message: MONTH_MESSAGE }) month!: string;
}

export interface MonthDetachReply extends DetachedMonth {
  /** False: it was detached before. */
  detached: boolean;
}

/** Takes a minute for some million settlements: call with a timeout of minutes. A call that is lost may be repeated. */
export const monthDetach = new Endpoint<MonthDetachRequest, MonthDetachReply>('billing.v1.month.detach', MonthDetachRequest, {
  about: 'Takes the oldest month, which is closed like the next one, out of the journals, and keeps its sums',
  isRecorded: true,
});

export class MonthAttachRequest {
  @Matches(MONTH, { message: MONTH_MESSAGE }) month!: string;
}

export interface MonthAttachReply {
  month: string;
  settlements: number;
  lateSettlements: number;
}

/** Takes a minute for some million settlements: call with a timeout of minutes. */
export const monthAttach = new Endpoint<MonthAttachRequest, MonthAttachReply>('billing.v1.month.attach', MonthAttachRequest, {
  about: 'Puts the month that was detached last back into the journals, if none of its rows was changed',
  isRecorded: true,
});

export class MonthReadRequest {
  @Matches(MONTH, { message: MONTH_MESSAGE }) month!: string;
  @IsIn(MONTH_FILE_NAMES) file!: MonthFileName;
  /** `nextCursor` of the page before, of the same file. */
  @IsOptional() @Text(2_000) cursor?: string;
}

export interface MonthReadReply extends Paged {
  /** Lines of the CSV file after its first one, each with its line end. */
  lines: string;
}

export const monthRead = new Endpoint<MonthReadRequest, MonthReadReply>('billing.v1.month.read', MonthReadRequest, {
  about: 'A file of a closed month as CSV, page by page',
});
