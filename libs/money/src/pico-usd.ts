declare const brand: unique symbol;

/** An amount in units of 10^-12 USD. Integer arithmetic only; on the wire a decimal integer string. */
export type PicoUsd = bigint & { readonly [brand]: 'PicoUsd' };

export const PICO_PER_USD = 1_000_000_000_000n;
/**
 * The one form of a dollar amount that a person or a program writes: `12.5`, `$12.50`, `1,234.50`. A comma only separates thousands before a
 * point, since `2,50` and `1,234` mean different amounts in different countries.
 */
export const USD = /^\$?(?:\d{1,15}|[1-9]\d{0,2}(?:,\d{3}){1,4}(?=\.))(?:\.\d{1,12})?$/;
/** As `USD`, negative for a debit. */
export const SIGNED_USD = /^-?\$?(?:\d{1,15}|[1-9]\d{0,2}(?:,\d{3}){1,4}(?=\.))(?:\.\d{1,12})?$/;
const INTEGER = /^-?\d{1,39}$/;

export function picoUsd(amount: bigint): PicoUsd {
  return amount as PicoUsd;
}

/** Parses an integer string such as `"280000"`. Throws `RangeError` on anything else. */
export function parsePicoUsd(text: string): PicoUsd {
  if (!INTEGER.test(text)) throw new RangeError(`not an integer amount of pico-USD: ${JSON.stringify(text)}`);
  return BigInt(text) as PicoUsd;
}

/** Parses a non-negative amount of the form `USD`: `"12.5"` is 12.5 × 10^12. Exact; throws `RangeError` with `usdFault`. */
export function parseUsd(text: string): PicoUsd {
  if (!USD.test(text)) throw new RangeError(usdFault(text));
  const [whole = '', decimals = ''] = text.replace(/[$,]/g, '').split('.');
  return (BigInt(whole) * PICO_PER_USD + BigInt(decimals.padEnd(12, '0'))) as PicoUsd;
}

/** As `parseUsd`, for an amount of the form `SIGNED_USD`. */
export function parseSignedUsd(text: string): PicoUsd {
  return text.startsWith('-') ? (-parseUsd(text.slice(1)) as PicoUsd) : parseUsd(text);
}

/** Tells a person how to write a text that is no amount. */
export function usdFault(text: string): string {
  const digits = text.replace(/^-?\$?/, '');
  const [, whole = '', decimals = ''] = /^(\d{1,15}|\d{1,3}(?:\.\d{3})+),(\d{1,12})$/.exec(digits) ?? [];
  if (whole && decimals.length === 3 && !whole.includes('.'))
    return `Write ${whole}${decimals}.00 or ${whole}.${decimals}: a comma is not clear here.`;
  if (whole) return `Write cents with a point: ${whole.replaceAll('.', '')}.${decimals}`;
  if (/^[\d,.]*,[\d,.]*$/.test(digits)) return 'A comma only separates thousands before a point, as in 1,234.50.';
  if (/^\d{16,}/.test(digits)) return 'An amount has at most 15 digits before the point.';
  if (/^\d+\.\d{13,}$/.test(digits)) return 'An amount has at most 12 decimals.';
  if (text.startsWith('-') && USD.test(text.slice(1))) return 'The amount must not be negative.';
  return 'Write an amount in dollars such as 25 or 2.50.';
}

/** Renders dollars exactly, with at least two decimals and no further trailing zeros: `0.00`, `12.50`, `0.000000000001`. */
export function renderUsd(amount: bigint): string {
  const sign = amount < 0n ? '-' : '';
  const absolute = amount < 0n ? -amount : amount;
  const decimals = (absolute % PICO_PER_USD)
    .toString()
    .padStart(12, '0')
    .replace(/0{1,10}$/, '');
  return `${sign}${absolute / PICO_PER_USD}.${decimals}`;
}
