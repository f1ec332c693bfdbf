import type { ReceiptKeys } from '#contracts/billing/receipts.js';
import { described, type JsonSchema, list, replyObject, text } from '../protocols/json-schema/json-schema.js';

const MONTH_LINE =
  '{"type":"month","format":"tollgate-receipts-1","installation":"0190a6f0-7c1e-7000-8000-00000000000f","month":"2026-11","digest":"5f0c…","before":"","root":"9b31…"}';

/** Hashes are shortened. */
export const RECEIPT_EXAMPLE = [
  MONTH_LINE,
  '{"type":"signature","key":"56475aa75463474c","ed25519":"71d4…"}',
  '{"type":"account","account_id":"0190a6f0-7c1e-7000-8000-00000000000a","month":"2026-11","requests":"1200","late_settlements":"1","cost_pico_usd":"399600000000","root":"c4e8…"}',
  '{"type":"path","steps":["R13f0…","L77aa…"]}',
  '{"type":"receipt","kind":"settlement","request_id":"req_0190a6f07c1e70008000000000000001",…,"amount_pico_usd":"333000000"}',
  '{"type":"path","steps":["L0c2d…"]}',
  '',
].join('\n');

export const RECEIPT_KEYS_EXAMPLE: ReceiptKeys = {
  installation: '0190a6f0-7c1e-7000-8000-00000000000f',
  keys: [
    {
      id: '56475aa75463474c',
      ed25519: 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
      since: '2026-11-01T09:00:00.000Z',
    },
  ],
  months: [{ month: '2026-11', line: MONTH_LINE, signatures: [{ key: '56475aa75463474c', ed25519: '71d4…' }] }],
};

type Fields<Shape> = Record<keyof Shape, JsonSchema>;

const key: Fields<ReceiptKeys['keys'][number]> = {
  id: described(text, 'First 16 digits of the SHA-256 of the key.'),
  ed25519: described(text, 'The public key, in hexadecimal digits.'),
  since: described(text, 'When it was first used.'),
};

const signature: Fields<ReceiptKeys['months'][number]['signatures'][number]> = {
  key: text,
  ed25519: described(text, 'Signature of the line, in hexadecimal digits.'),
};

const month: Fields<ReceiptKeys['months'][number]> = {
  month: text,
  line: described(text, 'What is signed: the first line of each file of receipts for the month.'),
  signatures: list(replyObject(signature)),
};

const receiptKeys: Fields<ReceiptKeys> = {
  installation: described(text, 'Id of the installation.'),
  keys: described(list(replyObject(key)), 'The first one first. Keys that were replaced stay.'),
  months: described(list(replyObject(month)), 'Closed months with receipts, the first one first.'),
};

export const RECEIPT_SCHEMAS: Record<string, JsonSchema> = { ReceiptKeys: replyObject(receiptKeys) };
