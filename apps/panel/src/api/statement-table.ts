import { parsePicoUsd, renderUsd } from '#money/pico-usd.js';
import type { Statement, StatementLine } from '../shapes/billing.js';
import { type Columns, fieldColumns } from './csv.js';

type TableLine = Omit<StatementLine, 'kind' | 'amountPicoUsd'> & {
  kind: StatementLine['kind'] | 'opening' | 'closing';
  amountPicoUsd: string | null;
};

export const STATEMENT_COLUMNS: Columns<TableLine> = {
  ...fieldColumns('at', 'kind', 'reference', 'reason', 'requests'),
  amountUsd: ({ amountPicoUsd }) => amountPicoUsd && renderUsd(parsePicoUsd(amountPicoUsd)),
  balanceUsd: ({ balancePicoUsd }) => renderUsd(parsePicoUsd(balancePicoUsd)),
};

/** Returns the lines of a statement between its opening and closing amount. The last one has the root of the receipts. */
export function statementTable({ from, to, openingPicoUsd, closingPicoUsd, receipts, lines }: Statement): TableLine[] {
  const edge = { reference: null, reason: null, requests: null, amountPicoUsd: null };
  return [
    { ...edge, at: from, kind: 'opening', balancePicoUsd: openingPicoUsd },
    ...lines,
    {
      ...{ ...edge, at: to, kind: 'closing', balancePicoUsd: closingPicoUsd },
      ...(receipts && { reference: receipts.root, reason: 'Root of the receipts of this month' }),
    },
  ];
}
