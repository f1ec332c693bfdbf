/**
 * Lines of a file of receipts. Each is JSON without spaces, and the line as it stands is what is hashed or signed: nothing has to be
 * rendered again to check it. Their form never changes: digests and signatures cover them.
 */

export const FORMAT = 'tollgate-receipts-1';

/** Signed by the installation, and the same for all its accounts. */
export interface MonthLine {
  type: 'month';
  format: typeof FORMAT;
  /** Id that the installation got when its database was made. */
  installation: string;
  month: string;
  /** Digest of the closed month: SHA-256 of its manifest. */
  digest: string;
  /** SHA-256 of the month line before; empty for the first one. */
  before: string;
  /** Root of the tree over the account lines. */
  root: string;
}

export interface SignatureLine {
  type: 'signature';
  key: string;
  ed25519: string;
}

/** Leaf of the month's tree: what an account's month is made of. */
export interface AccountLine {
  type: 'account';
  account_id: string;
  month: string;
  requests: string;
  late_settlements: string;
  /** Sum of the amounts of all receipts: the cost of the statement. */
  cost_pico_usd: string;
  /** Root of the tree over the account's receipts. */
  root: string;
}

/** Leads from the line before it to its root. */
export interface PathLine {
  type: 'path';
  steps: string[];
}

/** Leaf of the account's tree. Fields of a receipt that do not apply are left out. */
export interface ReceiptLine {
  type: 'receipt';
  /** `late-settlement`: the difference that was charged or given back after the settlement. */
  kind: 'settlement' | 'late-settlement';
  request_id: string;
  hold_id: string;
  account_id: string;
  project_id: string;
  key_id: string;
  settled_at: string;
  /** A model, or an item of a service, which has `units`. */
  model: string;
  ending: string;
  prompt_tokens: number;
  cached_tokens: number;
  cache_write_tokens?: number;
  cache_write_1h_tokens?: number;
  output_tokens: number;
  reasoning_tokens: number;
  units?: number;
  images?: number;
  tier?: string;
  price_step?: number;
  price_version: number;
  price_plan?: string;
  price: {
    input_pico_usd: string;
    cached_input_pico_usd: string;
    output_pico_usd: string;
    request_pico_usd?: string;
    image_pico_usd?: string;
    cache_write_pico_usd?: string;
    cache_write_1h_pico_usd?: string;
    rules?: unknown;
  };
  /** Negative where a late settlement gave money back. */
  amount_pico_usd: string;
}

export type AnyLine = MonthLine | SignatureLine | AccountLine | PathLine | ReceiptLine;

/** Returns the line without its line end. */
export function renderLine<Line extends AnyLine>(line: Line): string {
  return JSON.stringify(line);
}
