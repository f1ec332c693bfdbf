import { createContext, type ReactNode, use } from 'react';
import { decimalsFor, decimalsForAll, exactUsd, flooredUsd, roundedUsd } from '../format/numbers.js';

const PageDecimals = createContext<number | undefined>(undefined);

/** Beyond it an amount is no figure to compare at a glance; hovering shows it. */
const PAGE_DECIMALS_MAX = 6;

/** A page whose amounts all have the same number of decimals, that of the smallest of `amounts`, at most 6. */
export function OnePrecision({ amounts, children }: { amounts: Iterable<bigint | string>; children: ReactNode }) {
  return <PageDecimals value={Math.min(decimalsForAll(amounts), PAGE_DECIMALS_MAX)}>{children}</PageDecimals>;
}

interface MoneyProps {
  pico: string | bigint;
  /** Default: those of the page (`OnePrecision`), or else of the amount. */
  decimals?: number;
  /** Shows every digit. */
  exact?: boolean;
  /** A balance: rounded down, so that it shows no money that is not there. */
  balance?: boolean;
  signed?: boolean;
  /** Out of the tab order, for tables. */
  plain?: boolean;
}

/** An amount. The rounded text shows the exact one on focus and hover, and is copied as the exact one (`exact-copy.ts`). */
export function Money({ pico, decimals, exact: isExact, balance, signed, plain }: MoneyProps) {
  const ofPage = use(PageDecimals);
  const amount = BigInt(pico);
  const exact = exactUsd(amount);
  const round = balance ? flooredUsd : roundedUsd;
  const text = isExact ? exact : round(amount, decimals ?? ofPage ?? decimalsFor(amount));
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
