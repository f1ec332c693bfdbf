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
