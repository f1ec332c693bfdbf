import type { LimitLeft } from '#contracts/billing/holds.js';
import type { HttpExchange } from '../http-exchange.js';
import { ROUTES } from '../routes.js';

/** Names of all headers of `rateLimitHeaders`. */
export const RATE_LIMIT_HEADERS = ['requests', 'tokens'].flatMap((unit) =>
  ['limit', 'remaining', 'reset'].flatMap((figure) => [`x-ratelimit-${figure}-${unit}`, `anthropic-ratelimit-${unit}-${figure}`]),
);

/** Returns the headers for requests per minute, and for tokens where a limit counts them; none before the reserve. */
export function rateLimitHeaders({ inference, route }: HttpExchange): Record<string, string> {
  const { requests, tokens } = inference ?? {};
  if (requests === undefined) return {};
  const format = route === ROUTES.messages.path ? withAnthropic : general;
  return tokens === undefined ? format('requests', requests) : { ...format('requests', requests), ...format('tokens', tokens) };
}

/** OpenAI's clients read the reset as a duration (`1m0s`). */
function general(unit: string, { limit, remaining, resetSeconds }: LimitLeft): Record<string, string> {
  return {
    [`x-ratelimit-limit-${unit}`]: String(limit),
    [`x-ratelimit-remaining-${unit}`]: String(remaining),
    [`x-ratelimit-reset-${unit}`]: resetSeconds < 60 ? `${resetSeconds}s` : '1m0s',
  };
}

/** Anthropic's clients read the reset as a time. */
function withAnthropic(unit: string, left: LimitLeft): Record<string, string> {
  return {
    ...general(unit, left),
    [`anthropic-ratelimit-${unit}-limit`]: String(left.limit),
    [`anthropic-ratelimit-${unit}-remaining`]: String(left.remaining),
    [`anthropic-ratelimit-${unit}-reset`]: new Date(Date.now() + left.resetSeconds * 1_000).toISOString(),
  };
}
