/** A number of a JSON text by its digits, such as `3e-07`: as a binary number it would lose some. */
export class Literal {
  constructor(readonly digits: string) {}
}

/** Parses JSON with each number as a `Literal`. Throws `SyntaxError`. */
export function parseExactJson(text: string): unknown {
  const withSource = JSON.parse as (
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ) => unknown;
  return withSource(text, (_key, value, { source }) => (typeof value === 'number' && source !== undefined ? new Literal(source) : value));
}

const NUMBER = /^(\d{1,40})(?:\.(\d{1,40}))?(?:[eE]([+-]?\d{1,3}))?$/;

/** Returns a number times a power of ten. Undefined when that is no whole number of zero or more. */
export function scaleExactly({ digits }: Literal, exponent: number): bigint | undefined {
  const [, whole, decimals = '', shift = '0'] = NUMBER.exec(digits) ?? [];
  if (whole === undefined) return undefined;
  const places = exponent + Number(shift) - decimals.length;
  const amount = BigInt(whole + decimals);
  if (places >= 0) return amount * 10n ** BigInt(places);
  const divisor = 10n ** BigInt(-places);
  return amount % divisor === 0n ? amount / divisor : undefined;
}
