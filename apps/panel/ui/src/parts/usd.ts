/** Amounts are pico-USD, 10⁻¹² USD, as integer strings on the wire and bigint here. No float touches one. */
const PICO_PER_USD = 1_000_000_000_000n;
const DECIMALS = 12;
const USD = /^(-?)\$?(\d{1,15})(?:\.(\d{1,12}))?$/;

/** `$1,204.50`, `$0.000333`: every digit that is not a trailing zero, and at least two decimals. */
export function exactUsd(pico: bigint): string {
  const { sign, whole, fraction } = parts(pico);
  return `${sign}$${whole}.${fraction.replace(/0{1,10}$/, '')}`;
}

/** Rounded to `decimals`, half away from zero. An amount that is not zero never shows as zero: `<$0.01`. */
export function roundedUsd(pico: bigint, decimals: number): string {
  const unit = 10n ** BigInt(DECIMALS - decimals);
  const absolute = pico < 0n ? -pico : pico;
  const rounded = ((absolute + unit / 2n) / unit) * unit;
  if (absolute > 0n && rounded === 0n) return `${pico < 0n ? '−' : ''}<$${decimalText(unit, decimals)}`;
  const { whole, fraction } = parts(rounded);
  const sign = pico < 0n ? '−' : '';
  return `${sign}$${whole}${decimals > 0 ? `.${fraction.slice(0, decimals)}` : ''}`;
}

/** Decimals that show `pico` with two digits or more: 2 from a dollar on, 4 from a cent on, 6 below, 9 below a millionth. */
export function decimalsFor(pico: bigint): number {
  const absolute = pico < 0n ? -pico : pico;
  if (absolute === 0n || absolute >= PICO_PER_USD) return 2;
  if (absolute >= PICO_PER_USD / 100n) return 4;
  return absolute >= PICO_PER_USD / 1_000_000n ? 6 : 9;
}

/** One number of decimals for a column, so that its points stand below one another: that of the smallest amount. */
export function decimalsForAll(amounts: Iterable<bigint>): number {
  let decimals = 2;
  for (const amount of amounts) decimals = Math.max(decimals, decimalsFor(amount));
  return decimals;
}

/** Parses `12.5` or `$12.50`. Undefined for anything else. */
export function parseUsd(text: string): bigint | undefined {
  const match = USD.exec(text.trim().replaceAll(',', ''));
  if (!match) return undefined;
  const absolute = BigInt(match[2] ?? '0') * PICO_PER_USD + BigInt((match[3] ?? '').padEnd(DECIMALS, '0'));
  return match[1] ? -absolute : absolute;
}

/** As the API takes it: `$1,204.50` is `1204.50`. */
export function plainUsd(text: string): string {
  return text.trim().replace(/[$,]/g, '');
}

/** Price of a million tokens in dollars, from pico-USD a token: 150000 is `0.15`. A million pico-USD are a micro-dollar, so it is exact. */
export function usdPerMillion(picoPerToken: bigint): string {
  return exactUsd(picoPerToken * 1_000_000n);
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
