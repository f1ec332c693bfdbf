import type { Attribution } from '#contracts/billing/attribution.js';
import type { Budget } from '#contracts/billing/budgets.js';
import type { EstimateRefusal } from '#contracts/gateway.js';
import { parseAmounts } from '#contracts/rules/budget-amounts.js';
import { parsePicoUsd } from '#money/pico-usd.js';
import type { BillingClient } from './billing.js';
import type { Caller } from './caller.js';
import type { OwnKeys } from './own-keys.js';

/** The most that a request can cost and use. */
interface Amounts {
  amount: bigint;
  promptTokensMax: number;
  outputTokensMax: number;
}

/** Reads what is available to a key, and lists all that would refuse a request now: the balance, then budgets. Holds nothing. */
export async function findRefusals(
  billing: Pick<BillingClient, 'balance'>,
  keys: Pick<OwnKeys, 'show'>,
  { caller, attribution }: { caller: Pick<Caller, 'keyId' | 'child'>; attribution?: Attribution | undefined },
  { amount, promptTokensMax, outputTokensMax }: Amounts,
): Promise<{ availablePicoUsd: string; refusals: EstimateRefusal[] }> {
  const { accountId, budgets } = await keys.show(caller, attribution);
  const { available_pico_usd: availablePicoUsd } = await billing.balance(accountId);
  const available = parsePicoUsd(availablePicoUsd);
  const missing = amount - available;
  const ofBalance: EstimateRefusal = { by: 'balance', leftPicoUsd: availablePicoUsd, missingPicoUsd: String(missing) };
  const needs = { usd: amount, tokens: BigInt(promptTokensMax + outputTokensMax) };
  return {
    availablePicoUsd,
    refusals: [...(missing > 0n ? [ofBalance] : []), ...budgets.flatMap((budget) => refusalBy(budget, needs[budget.unit]))],
  };
}

function refusalBy(budget: Budget, needed: bigint): EstimateRefusal[] {
  const { limit, spent, held } = parseAmounts(budget);
  // A limit that was lowered may be below what is spent.
  const left = limit > spent + held ? limit - spent - held : 0n;
  if (needed <= left) return [];
  const { budgetId, projectId, keyId, dimension, value, period, resetsAt, unit } = budget;
  const missing = needed - left;
  const amounts =
    unit === 'tokens'
      ? { leftTokens: Number(left), missingTokens: Number(missing) }
      : { leftPicoUsd: String(left), missingPicoUsd: String(missing) };
  return [{ by: 'budget', budget: { budgetId, projectId, keyId, dimension, value, period, resetsAt }, ...amounts }];
}
