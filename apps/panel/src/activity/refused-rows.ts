import type { EndedRequest } from '#contracts/gateway.js';

/** Rows that refusals of one key with one status and code have in a minute. */
export const REFUSED_ROWS_MAX = 10;
/** Keys and codes of a minute in memory, some 15 MB. Refusals beyond are only counted. */
const KINDS_MAX = 50_000;
const MINUTE_MS = 60_000;

/**
 * Decides which requests have a row of their own. A refused request costs its sender nothing, so a key without money could fill the disk:
 * the first of a key and code in a minute have a row, the others only count in the traffic. So does every request without a valid key,
 * because anyone can send it.
 */
export class RefusedRows {
  private readonly rows = new Map<string, number>();
  private minute = 0;

  constructor(private readonly now: () => number = Date.now) {}

  admits(request: EndedRequest): boolean {
    const { accountId, keyId, status, code, outcome, holdId } = request;
    if (accountId === undefined) return false;
    if (outcome !== undefined || holdId !== undefined) return true;
    const minute = Math.floor(this.now() / MINUTE_MS);
    if (minute !== this.minute) this.rows.clear();
    this.minute = minute;
    const kind = `${keyId} ${status} ${code}`;
    const rows = this.rows.get(kind) ?? 0;
    if (rows >= REFUSED_ROWS_MAX || (rows === 0 && this.rows.size >= KINDS_MAX)) return false;
    this.rows.set(kind, rows + 1);
    return true;
  }
}
