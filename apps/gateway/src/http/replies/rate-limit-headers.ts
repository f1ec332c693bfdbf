import type { HttpExchange } from '../http-exchange.js';
import { ROUTES } from '../routes.js';

/** Names of all headers of `rateLimitHeaders`. */
export const RATE_LIMIT_HEADERS = ['limit', 'remaining', 'reset'].flatMap((figure) => [
  `x-ratelimit-${figure}-requests`,
  `anthropic-ratelimit-requests-${figure}`,
]);

/**
 * Returns the headers for the project's requests per minute; none before the reserve. OpenAI's clients read the reset as a duration
 * (`1m0s`), Anthropic's as a time.
 */
export function rateLimitHeaders({ inference, route }: HttpExchange): Record<string, string> {
  if (inference?.requests === undefined) return {};
  const { limit, remaining, resetSeconds } = inference.requests;
  const general = {
    'x-ratelimit-limit-requests': String(limit),
    'x-ratelimit-remaining-requests': String(remaining),
    'x-ratelimit-reset-requests': resetSeconds < 60 ? `${resetSeconds}s` : '1m0s',
  };
  if (route !== ROUTES.messages.path) return general;
  return {
    ...general,
    'anthropic-ratelimit-requests-limit': String(limit),
    'anthropic-ratelimit-requests-remaining': String(remaining),
    'anthropic-ratelimit-requests-reset': new Date(Date.now() + resetSeconds * 1_000).toISOString(),
  };
}
