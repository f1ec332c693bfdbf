declare const brand: unique symbol;

/** An amount in units of 10^-12 USD. Integer arithmetic only; on the wire a decimal integer string. */
export type PicoUsd = bigint & { readonly [brand]: 'PicoUsd' };

const PICO_PER_USD = 1_000_000_000_000n;
const DECIMAL_USD = /^(\d{1,15})(?:\.(\d{1,12}))?$/;
const INTEGER = /^-?\d{1,39}$/;

export function picoUsd(amount: bigint): PicoUsd {
  return amount as PicoUsd;
}

/** Parses an integer string such as `"280000"`. Throws `RangeError` on anything else. */
export function parsePicoUsd(text: string): PicoUsd {
  if (!INTEGER.test(text)) throw new RangeError(`not an integer amount of pico-USD: ${JSON.stringify(text)}`);
  return BigInt(text) as PicoUsd;
}

/** Parses a non-negative decimal dollar string with up to 12 decimals: `"12.5"` is 12.5 × 10^12. Exact; throws `RangeError`. */
export function parseUsd(text: string): PicoUsd {
  const match = DECIMAL_USD.exec(text);
  if (!match) throw new RangeError(`not a dollar amount such as "12.50": ${JSON.stringify(text)}`);
  return (BigInt(match[1] as string) * PICO_PER_USD + BigInt((match[2] ?? '').padEnd(12, '0'))) as PicoUsd;
}

/** Renders dollars exactly, with at least two decimals and no further trailing zeros: `0.00`, `12.50`, `0.000000000001`. */
export function renderUsd(amount: PicoUsd): string {
  const sign = amount < 0n ? '-' : '';
  const absolute = amount < 0n ? -amount : amount;
  const decimals = (absolute % PICO_PER_USD)
    .toString()
    .padStart(12, '0')
    .replace(/0{1,10}$/, '');
  return `${sign}${absolute / PICO_PER_USD}.${decimals}`;
}
