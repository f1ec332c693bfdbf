import type { Statement } from '../../../../src/shapes/billing.js';

export interface StatementTerm {
  name: string;
  note: string;
  /** Negative when it took money. */
  amount: bigint;
}

/** The terms of `opening + in − out − cost − forfeited = closing`, and true when they add up to the closing amount. */
export function listStatementTerms(statement: Statement): { terms: StatementTerm[]; addsUp: boolean } {
  const terms: StatementTerm[] = [
    { name: 'Opening', note: 'balance at the start', amount: BigInt(statement.openingPicoUsd) },
    { name: 'In', note: 'top-ups, grants, credits, credit notes', amount: BigInt(statement.inPicoUsd) },
    { name: 'Out', note: 'refunds, debits', amount: -BigInt(statement.outPicoUsd) },
    { name: 'Cost', note: 'of requests', amount: -BigInt(statement.costPicoUsd) },
    { name: 'Forfeited', note: 'of plans that ended', amount: -BigInt(statement.forfeitedPicoUsd) },
  ];
  return { terms, addsUp: terms.reduce((sum, { amount }) => sum + amount, 0n) === BigInt(statement.closingPicoUsd) };
}
