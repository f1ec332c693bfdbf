import { sha256 } from './merkle-tree.js';
import { ReceiptFault } from './receipt-fault.js';
import type { MonthLine } from './receipt-lines.js';
import { computeKeyId, isSignedBy } from './signing-key.js';

/** Public keys of an installation and the months that it has signed, as it publishes them. */
export interface PublishedKeys {
  installation: string;
  /** The first one first. Keys that were replaced stay. */
  keys: { id: string; ed25519: string; since: string }[];
  /** Closed months with receipts, the first one first. */
  months: { month: string; line: string; signatures: { key: string; ed25519: string }[] }[];
}

const HEX_32 = /^[0-9a-f]{64}$/;
const SIGNATURE = /^[0-9a-f]{128}$/;

/**
 * Parses a file of published keys, and checks that its months are signed and follow one another.
 * @throws {ReceiptFault}
 */
export function parsePublishedKeys(text: string): PublishedKeys {
  const published = parseObject(text) as unknown as PublishedKeys;
  const { installation, keys, months } = published;
  if (typeof installation !== 'string' || !Array.isArray(keys) || !Array.isArray(months)) throw noKeys();
  for (const { id, ed25519 } of keys) {
    if (!HEX_32.test(ed25519) || computeKeyId(ed25519) !== id) throw new ReceiptFault(`The key ${String(id)} is not what its id says.`);
  }
  let before: { id: string; digest: string } | undefined;
  for (const { month, line, signatures } of months) {
    if (typeof line !== 'string' || !Array.isArray(signatures)) throw noKeys();
    const signed = parseObject(line) as unknown as MonthLine;
    if (signed.month !== month || signed.installation !== installation) throw new ReceiptFault(`The line of ${month} is of another month.`);
    if (before && before.id >= month) throw new ReceiptFault(`${month} is published twice, or out of order.`);
    if (before && signed.before !== before.digest) throw new ReceiptFault(`${month} does not follow the month before it.`);
    for (const { key, ed25519 } of signatures) requireSignature(published, line, key, ed25519);
    before = { id: month, digest: digestLine(line) };
  }
  return published;
}

/** @throws {ReceiptFault} when the key is not published or did not sign the line. */
export function requireSignature({ keys }: PublishedKeys, line: string | Uint8Array, key: string, signature: string): void {
  const published = keys.find(({ id }) => id === key);
  if (!published) throw new ReceiptFault(`The key ${key} is not among the published keys: get them again.`);
  if (!SIGNATURE.test(signature) || !isSignedBy(published.ed25519, line, signature)) throw new ReceiptFault('The signature is wrong.');
}

export function digestLine(line: string): string {
  return sha256(Buffer.from(line)).toString('hex');
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // no JSON: as below
  }
  throw noKeys();
}

function noKeys(): ReceiptFault {
  return new ReceiptFault('This is no file of published keys.');
}
