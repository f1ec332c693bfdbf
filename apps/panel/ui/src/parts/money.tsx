import { decimalsFor, exactUsd, roundedUsd } from './usd.js';

/**
 * An amount. The rounded text shows the exact one on focus and hover, and is copied as the exact one (`exact-copy.ts`). `decimals` aligns a
 * column; `plain` leaves it out of the tab order, for tables.
 */
export function Money({ pico, decimals, signed, plain }: { pico: string | bigint; decimals?: number; signed?: boolean; plain?: boolean }) {
  const amount = BigInt(pico);
  const exact = exactUsd(amount);
  const text = roundedUsd(amount, decimals ?? decimalsFor(amount));
  const sign = signed && amount > 0n ? '+' : '';
  const isShort = BigInt(text.replace(/\D/g, '')) === 0n ? amount !== 0n : exactDigits(text) !== exactDigits(exact);
  if (!isShort) {
    return (
      <data value={exact} data-zero={amount === 0n || undefined}>
        {`${sign}${text}`}
      </data>
    );
  }
  return (
    <data value={exact} data-exact={`${sign}${exact}`} tabIndex={plain ? undefined : 0}>
      {`${sign}${text}`}
    </data>
  );
}

function exactDigits(text: string): string {
  return text.replace(/(\.\d*?)0+$/, '$1');
}
