import { type UsageQueryRequest, type UsageRow, usageQuery } from '#contracts/billing/usage.js';
import { type AskServices, collectRows, readPages } from '../../services/services.js';

const PAGE_ROWS = 1_000;

/** Reads all rows that answer a question, page by page. */
export function readUsage(services: AskServices, question: UsageQueryRequest): Promise<UsageRow[]> {
  return collectRows(readPages((cursor) => services.ask(usageQuery, { limit: PAGE_ROWS, ...question, cursor })));
}
