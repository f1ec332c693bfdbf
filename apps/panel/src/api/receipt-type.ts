/** Lines of JSON. */
export const RECEIPT_TYPE = 'application/jsonl';
