import { parseSignedUsd, parseUsd } from '#money/pico-usd.js';

/** Amounts are pico-USD, 10⁻¹² USD, as integer strings on the wire and bigint here. No float touches one. */
const PICO_PER_USD = 1_000_000_000_000n;
const DECIMALS = 12;

/** `$1,204.50`, `$0.000333`: every digit that is not a trailing zero, and at least two decimals. */
export function exactUsd(pico: bigint): string {
  const { sign, whole, fraction } = parts(pico);
  return `${sign}$${whole}.${fraction.replace(/0{1,10}$/, '')}`;
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

/** As the API takes it: `1204.50`, `-0.05`. */
export function plainUsd(pico: bigint): string {
  return exactUsd(pico).replace('−', '-').replace(/[$,]/g, '');
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
  const sign = pico < 0n ? '−' : '';
  if (pico !== 0n && absolute === 0n) return `${sign}<$${decimalText(findUnit(decimals), decimals)}`;
  return `${sign}$${decimalText(absolute, decimals)}`;
}

function parts(pico: bigint): { sign: string; whole: string; fraction: string } {
  const absolute = pico < 0n ? -pico : pico;
  const whole = (absolute / PICO_PER_USD).toString().replace(/\B(?=(\d{3})+$)/g, ',');
  return { sign: pico < 0n ? '−' : '', whole, fraction: (absolute % PICO_PER_USD).toString().padStart(DECIMALS, '0') };
}

function decimalText(pico: bigint, decimals: number): string {
  const { whole, fraction } = parts(pico);
  return decimals > 0 ? `${whole}.${fraction.slice(0, decimals)}` : whole;
}
