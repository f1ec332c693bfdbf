import type { BilledRequest } from '../../../../src/shapes/billing.js';

/** The cost of a request, what credit notes gave back of it, and what is left of it; or why it gets no note. */
export interface Creditable {
  cost: bigint;
  givenBack: bigint;
  left: bigint;
  refusal?: string;
}

/** Billing decides in the end: this is what the form says before. */
export function findCreditable({ settlement, creditNotes }: Pick<BilledRequest, 'settlement' | 'creditNotes'>): Creditable {
  const cost = BigInt(settlement?.costPicoUsd ?? 0);
  const givenBack = creditNotes.reduce((sum, { amountPicoUsd }) => sum + BigInt(amountPicoUsd), 0n);
  const sums = { cost, givenBack, left: cost - givenBack };
  if (!settlement) return { ...sums, refusal: 'The request still runs: nothing is charged yet.' };
  if (settlement.reason === 'lease-expired' && !settlement.reaped)
    return { ...sums, refusal: 'The reaper billed it, and the bill may still be corrected. Use an adjustment.' };
  if (cost === 0n) return { ...sums, refusal: 'The request cost nothing.' };
  return sums.left > 0n ? sums : { ...sums, refusal: 'All of its cost was given back before.' };
}
