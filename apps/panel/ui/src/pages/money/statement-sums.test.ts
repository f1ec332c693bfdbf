import type { Statement } from '../../../../src/shapes/billing.js';
import { listStatementTerms } from './statement-sums.js';

const STATEMENT: Statement = {
  accountId: 'account-1',
  month: '2026-11',
  from: '2026-11-01T00:00:00.000Z',
  to: '2026-12-01T00:00:00.000Z',
  isClosed: true,
  openingPicoUsd: '100',
  inPicoUsd: '50',
  outPicoUsd: '20',
  costPicoUsd: '33',
  forfeitedPicoUsd: '7',
  closingPicoUsd: '90',
  receipts: null,
  lines: [],
};

test('opening + in − out − cost − forfeited is the closing amount', () => {
  const { terms, addsUp } = listStatementTerms(STATEMENT);
  expect(terms.map(({ name, amount }) => [name, amount])).toEqual([
    ['Opening', 100n],
    ['In', 50n],
    ['Out', -20n],
    ['Cost', -33n],
    ['Forfeited', -7n],
  ]);
  expect(addsUp).toBe(true);
});

test('a statement that is one pico-dollar off says so', () => {
  expect(listStatementTerms({ ...STATEMENT, closingPicoUsd: '91' }).addsUp).toBe(false);
});
