import { PICO_PER_USD, parseSignedUsd, parseUsd, renderUsd } from '#money/pico-usd.js';

// Amounts are pico-USD, 10⁻¹² USD, as integer strings on the wire and bigint here. No float touches one.
const DECIMALS = 12;

/** `$1,204.50`, `$0.000333`: every digit that is not a trailing zero, and at least two decimals. */
export function exactUsd(pico: bigint): string {
  const { sign, whole, decimals } = parts(pico);
  return `${sign}$${whole}.${decimals}`;
}

/** Rounded to `decimals`, half away from zero. An amount that is not zero never shows as zero: `<$0.01`. */
export function roundedUsd(pico: bigint, decimals: number): string {
  const unit = findUnit(decimals);
  const absolute = pico < 0n ? -pico : pico;
  return rendered(pico, ((absolute + unit / 2n) / unit) * unit, decimals);
}

/** As `roundedUsd`, but never more than `pico`: a balance shows no money that is not there. */
export function flooredUsd(pico: bigint, decimals: number): string {
  const unit = findUnit(decimals);
  return rendered(pico, (pico < 0n ? (-pico + unit - 1n) / unit : pico / unit) * unit, decimals);
}

/** Decimals that show `pico` with two digits or more: 2 from a dollar on, 4 from a cent on, 6 below, 9 below a millionth. */
export function decimalsFor(pico: bigint): number {
  const absolute = pico < 0n ? -pico : pico;
  if (absolute === 0n || absolute >= PICO_PER_USD) return 2;
  if (absolute >= PICO_PER_USD / 100n) return 4;
  return absolute >= PICO_PER_USD / 1_000_000n ? 6 : 9;
}

/** One number of decimals for a column or a page, so that its amounts can be compared: that of the smallest amount. */
export function decimalsForAll(amounts: Iterable<bigint | string>): number {
  let decimals = 2;
  for (const amount of amounts) decimals = Math.max(decimals, decimalsFor(BigInt(amount)));
  return decimals;
}

/** The fewest decimals, and at least two, with which every amount is exact. */
export function exactDecimals(amounts: Iterable<bigint | string>): number {
  let decimals = 2;
  for (const amount of amounts) decimals = Math.max(decimals, exactUsd(BigInt(amount)).split('.')[1]?.length ?? 0);
  return decimals;
}

/** Reads the text of an amount field: returns the amount, or how to write it. Neither for an empty field. */
export function readUsd(text: string, { signed = false } = {}): { amount?: bigint; fault?: string } {
  const written = text.trim();
  if (written === '') return {};
  try {
    return { amount: signed ? parseSignedUsd(written) : parseUsd(written) };
  } catch (error) {
    return { fault: (error as RangeError).message };
  }
}

/** Price of a million tokens in dollars, from pico-USD a token: 150000 is `0.15`. A million pico-USD are a micro-dollar, so it is exact. */
export function usdPerMillion(picoPerToken: bigint): string {
  return exactUsd(picoPerToken * 1_000_000n);
}

function findUnit(decimals: number): bigint {
  return 10n ** BigInt(DECIMALS - decimals);
}

/** Renders `absolute`, which is the rounded `pico` without its sign. */
function rendered(pico: bigint, absolute: bigint, decimals: number): string {
  const shown = pico !== 0n && absolute === 0n ? findUnit(decimals) : absolute;
  const { whole, decimals: written } = parts(shown);
  const text = decimals > 0 ? `${whole}.${written.padEnd(decimals, '0').slice(0, decimals)}` : whole;
  return `${parts(pico).sign}${shown === absolute ? '' : '<'}$${text}`;
}

function parts(pico: bigint): { sign: string; whole: string; decimals: string } {
  const [whole = '', decimals = ''] = renderUsd(pico < 0n ? -pico : pico).split('.');
  return { sign: pico < 0n ? '−' : '', whole: whole.replace(/\B(?=(\d{3})+$)/g, ','), decimals };
}

const FORMAT = new Intl.NumberFormat('en-US');

/** `12,480`. */
export function count(number: number): string {
  return FORMAT.format(number);
}

/** `12,480`, from 100,000 on `104 k`, `1.2 M`, `3.4 B`. */
export function shortCount(number: number): string {
  const absolute = Math.abs(number);
  if (absolute < 100_000) return count(number);
  const [size, unit] = absolute < 1e6 ? ([1e3, 'k'] as const) : absolute < 1e9 ? ([1e6, 'M'] as const) : ([1e9, 'B'] as const);
  const scaled = number / size;
  return `${scaled.toFixed(Math.abs(scaled) < 100 ? 1 : 0)} ${unit}`;
}

/** Reads a whole number of a person, `5000000` or `5,000,000`, or tells how to write it. Neither for an empty text. */
export function readCount(text: string): { amount?: bigint; fault?: string } {
  const written = text.trim();
  if (written === '') return {};
  if (/^(?:\d{1,15}|[1-9]\d{0,2}(?:,\d{3}){1,4})$/.test(written)) return { amount: BigInt(written.replaceAll(',', '')) };
  return { fault: 'Write a whole number such as 5000000.' };
}

/** `1 request`, `2 requests`. */
export function plural(number: number, noun: string): string {
  return `${count(number)} ${noun}${number === 1 ? '' : 's'}`;
}

/** `0.4 %`, `12 %`. */
export function percent(share: number): string {
  const value = share * 100;
  return `${value === 0 || value >= 10 ? value.toFixed(0) : value.toFixed(1)} %`;
}
