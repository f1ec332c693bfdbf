import { PICO_PER_USD, renderUsd } from './pico-usd.js';

/** Decimals from each amount on: two digits or more are left. */
const DECIMALS: readonly [from: bigint, decimals: number][] = [
  [PICO_PER_USD, 2],
  [PICO_PER_USD / 100n, 4],
  [PICO_PER_USD / 1_000_000n, 6],
];
const DECIMALS_MAX = 12;

/** Renders an amount for a sentence, rounded half away from zero: `$400.12`, `$0.0024`. An amount below a millionth of a dollar is exact. */
export function roundUsd(amount: bigint): string {
  const absolute = amount < 0n ? -amount : amount;
  const [, decimals = DECIMALS_MAX] = DECIMALS.find(([from]) => absolute >= from) ?? [];
  const unit = 10n ** BigInt(DECIMALS_MAX - decimals);
  const rounded = ((absolute + unit / 2n) / unit) * unit;
  return `${amount < 0n ? '-' : ''}$${renderUsd(rounded)}`;
}
