import type { ReserveOutcome } from '#contracts/billing/holds.js';
import type { ItemReserveReply } from '#contracts/items.js';
import { parsePicoUsd, renderUsd } from '#money/pico-usd.js';

type Refused = Extract<ReserveOutcome, { status: 'refused' }>;
type Refusal = Pick<ItemReserveReply, 'code' | 'message' | 'retryAfterSeconds' | 'availablePicoUsd' | 'budget' | 'ceiling'>;

/** Returns the fields of a reply that say why an item was refused. */
export function describeRefusal(outcome: Refused): Refusal {
  const { code } = outcome;
  switch (code) {
    case 'invalid_api_key':
      return { code, message: 'The API key is not valid or has been revoked.' };
    case 'account_frozen':
      return { code, message: 'The account is frozen.' };
    case 'no_session_budget':
      return { code, message: 'No budget counts the session.' };
    case 'rate_limit_exceeded':
      return { code, message: 'A limit of requests per minute is reached.', retryAfterSeconds: outcome.retryAfterSeconds };
    case 'concurrency_limit':
      return { code, message: 'A limit of requests at once is reached.', retryAfterSeconds: outcome.retryAfterSeconds };
    case 'insufficient_balance':
      return describeMoney(outcome);
    case 'service_ceiling':
      return { code, message: describeCeiling(outcome.ceiling), ceiling: outcome.ceiling };
  }
}

function describeMoney({ code, requiredPicoUsd, availablePicoUsd, budget }: Extract<Refused, { code: 'insufficient_balance' }>): Refusal {
  const left = budget ? budget.leftPicoUsd : availablePicoUsd;
  const owner = budget ? `the ${budget.period} budget ${budget.budgetId}` : 'the balance';
  const message = `The hold is $${usd(requiredPicoUsd)}, and ${owner} has ${left === undefined ? 'too little' : `$${usd(left)}`} left.`;
  return { code, message, availablePicoUsd, ...(budget && { budget }) };
}

function describeCeiling({
  by,
  service,
  dayMaxPicoUsd = '0',
  spentPicoUsd = '0',
  heldPicoUsd = '0',
  openHolds,
}: NonNullable<Refusal['ceiling']>): string {
  if (by === 'open-holds') return `${service} has ${openHolds} open holds, as many as it may.`;
  return `${service} may spend $${usd(dayMaxPicoUsd)} in a day (UTC): $${usd(spentPicoUsd)} are spent and $${usd(heldPicoUsd)} held.`;
}

function usd(picoUsd: string): string {
  return renderUsd(parsePicoUsd(picoUsd));
}
