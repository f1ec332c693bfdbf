import type { BudgetPeriod } from '#contracts/billing/budgets.js';
import type { ExceededBudget, ReserveOutcome } from '#contracts/billing/holds.js';
import { GatewayError } from '#inference/errors.js';
import { type PicoUsd, parsePicoUsd, renderUsd } from '#money/pico-usd.js';
import { outputWithin } from '#money/price.js';
import type { Quote } from './quote.js';

type NotHeld = Exclude<ReserveOutcome, { status: 'held' }>;

/** Returns the error of a reserve that made no hold. Its message says what the client can do. */
export function reserveError(outcome: NotHeld, quote: Quote): GatewayError {
  // The hold of this id had ended before the reserve arrived.
  if (outcome.status === 'closed') {
    return new GatewayError('model_unavailable', 'The request could not be admitted in time. Try again.', { retryAfterSeconds: 1 });
  }
  switch (outcome.code) {
    case 'invalid_api_key':
      return new GatewayError('invalid_api_key', 'The API key is not valid or has been revoked.');
    case 'account_frozen':
      // The client cannot change this. `model_unavailable` (503) is the closest code.
      return new GatewayError('model_unavailable', 'The account is frozen. Contact the operator of this gateway.');
    case 'no_session_budget':
      return new GatewayError(
        'invalid_request',
        '`x-tollgate-session-budget` lowers a budget of each session, and none counts this request. Ask the operator for such a budget of the project or key.',
        { param: 'x-tollgate-session-budget' },
      );
    case 'rate_limit_exceeded':
      return outcome.requestedTokens === undefined
        ? limitError(outcome, `${outcome.limit} requests per minute`)
        : tokensError(outcome, outcome.requestedTokens, quote);
    case 'concurrency_limit':
      return limitError(outcome, `${outcome.limit} requests at once`);
    case 'insufficient_balance':
      return outcome.budget ? budgetError(outcome.budget, outcome, quote) : balanceError(outcome, quote);
    case 'service_ceiling':
      return new GatewayError('internal_error', 'A request to a model has no ceiling of a service.');
  }
}

type Limited = Extract<NotHeld, { code: 'rate_limit_exceeded' | 'concurrency_limit' }>;

/** Clients parse the pause from the words `try again in 12s`. */
function limitError(refused: Limited, limit: string): GatewayError {
  const { code, retryAfterSeconds } = refused;
  return new GatewayError(
    code,
    `${describeOwner(refused)} limit of ${limit}${describeModel(refused)} is reached. Please try again in ${retryAfterSeconds}s.`,
    { retryAfterSeconds, refusal: { by: findOwner(refused) } },
  );
}

/** A request that never fits is invalid: clients would repeat a 429. */
function tokensError(refused: Limited, requested: number, { outputTokensMax }: Quote): GatewayError {
  const { limit, tokens, retryAfterSeconds } = refused;
  const refusal = { by: findOwner(refused) };
  const perMinute = `limit of ${limit} tokens per minute${describeModel(refused)}`;
  if (requested <= limit) {
    const left = tokens && tokens.remaining < requested ? `${tokens.remaining} are left` : 'fewer are left';
    return new GatewayError(
      'rate_limit_exceeded',
      `${describeOwner(refused)} ${perMinute} is reached: the request may use ${requested}, and ${left}. Please try again in ${retryAfterSeconds}s.`,
      { retryAfterSeconds, refusal },
    );
  }
  const fitting = limit - (requested - outputTokensMax);
  return new GatewayError(
    'invalid_request',
    `The request may use ${requested} tokens, more than ${describeOwner(refused).replace('The', 'the')} ${perMinute}. ` +
      (fitting > 0 ? `Lower the output limit to ${fitting} tokens or less.` : 'Shorten the prompt.'),
    { refusal },
  );
}

function describeModel({ model }: Limited): string {
  return model === undefined ? '' : ` for ${model}`;
}

const OWNERS = { key: "The API key's", project: "The project's", account: "The account's" };

function describeOwner(refused: Limited): string {
  return OWNERS[findOwner(refused)];
}

function findOwner({ keyId, accountId }: Limited): keyof typeof OWNERS {
  if (keyId !== undefined) return 'key';
  return accountId === undefined ? 'project' : 'account';
}

function balanceError(refused: { requiredPicoUsd: string; availablePicoUsd: string }, quote: Quote): GatewayError {
  const required = parsePicoUsd(refused.requiredPicoUsd);
  const available = parsePicoUsd(refused.availablePicoUsd);
  const affordable = affordableTokens(available, quote);
  return new GatewayError(
    'insufficient_balance',
    `The request may cost up to $${renderUsd(required)}${describeOutput(quote)}, but only ` +
      `$${renderUsd(available)} of the balance is available. ` +
      (affordable > 0n ? `Lower the output limit to ${affordable} tokens or less, or top up.` : 'Shorten the prompt or top up.'),
    { refusal: { by: 'balance' } },
  );
}

const ADJECTIVES: Record<BudgetPeriod, string> = { day: 'daily', week: 'weekly', month: 'monthly', total: 'total' };

function budgetError(budget: ExceededBudget, refused: { requiredPicoUsd: string }, quote: Quote): GatewayError {
  const { period, resetsAt } = budget;
  const { use, most, affordable } =
    budget.limitTokens === undefined ? inMoney(budget, refused, quote) : inTokens(budget.limitTokens, budget, quote);
  const owner = listOwners(budget).join(' in ');
  const sentences = [
    `The ${ADJECTIVES[period]} budget of ${owner} is ${use}; this request may ${most}.`,
    resetsAt === null ? 'The budget does not reset.' : `The budget resets at ${resetsAt.replace('.000Z', 'Z')}.`,
    ...(affordable > 0n ? [`Lower the output limit to ${affordable} tokens or less.`] : []),
  ];
  return new GatewayError('insufficient_balance', sentences.join(' '), { refusal: { by: 'budget', budgetId: budget.budgetId } });
}

/** A budget and its use, the most that the request can take of it, and the output cap that fits, in words and in tokens. */
interface BudgetWords {
  use: string;
  most: string;
  affordable: bigint;
}

function inMoney(
  { limitPicoUsd = '0', spentPicoUsd = '0', heldPicoUsd = '0', leftPicoUsd = '0' }: ExceededBudget,
  refused: { requiredPicoUsd: string },
  quote: Quote,
): BudgetWords {
  const usd = (amount: string): string => `$${renderUsd(parsePicoUsd(amount))}`;
  return {
    use: `${usd(limitPicoUsd)}: ${usd(spentPicoUsd)} spent, ${usd(heldPicoUsd)} held by running requests, ${usd(leftPicoUsd)} left`,
    most: `cost up to ${usd(refused.requiredPicoUsd)}${describeOutput(quote)}`,
    affordable: affordableTokens(parsePicoUsd(leftPicoUsd), quote),
  };
}

function inTokens(
  limit: number,
  { spentTokens = 0, heldTokens = 0, leftTokens = 0 }: ExceededBudget,
  { promptTokensMax, outputTokensMax }: Quote,
): BudgetWords {
  return {
    use: `${limit} tokens: ${spentTokens} spent, ${heldTokens} held by running requests, ${leftTokens} left`,
    most: `use up to ${promptTokensMax + outputTokensMax} tokens (${outputTokensMax} of output)`,
    affordable: BigInt(leftTokens - promptTokensMax),
  };
}

/** Returns the user, session or tag that a budget is of, if it is, and its key, project or account. */
function listOwners({ projectId, keyId, dimension, value }: ExceededBudget): string[] {
  const target = keyId !== null ? `key ${keyId}` : projectId !== null ? `project ${projectId}` : 'the account';
  if (dimension === undefined) return [target];
  return [dimension.startsWith('tag:') ? `tag ${dimension.slice('tag:'.length)}=${value}` : `${dimension} ${value}`, target];
}

/** Returns the output tokens that an amount pays for besides the prompt. With free output only a shorter prompt helps: 0. */
function affordableTokens(amount: PicoUsd, quote: Quote): bigint {
  return outputWithin(amount, quote.promptTokensMax, quote.price);
}

function describeOutput({ outputTokensMax }: Quote): string {
  return outputTokensMax === 0 ? '' : ` (${outputTokensMax} output tokens)`;
}
