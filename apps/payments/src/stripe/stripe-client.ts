import { Stripe } from 'stripe';
import { ServiceError } from '#contracts/service-error.js';

/** Milliseconds for an answer of Stripe, and how often a call is repeated: with its idempotency key, which the library keeps. */
const ANSWER_MS = 10_000;
const REPEATS_MAX = 2;

/** Returns a client of Stripe's API at an address. */
export function createStripe(secretKey: string, apiUrl: string): Stripe {
  const { protocol, hostname, port } = new URL(apiUrl);
  const isPlain = protocol === 'http:';
  return new Stripe(secretKey, {
    ...{ host: hostname, port: port || (isPlain ? 80 : 443), protocol: isPlain ? 'http' : 'https' },
    ...{ timeout: ANSWER_MS, maxNetworkRetries: REPEATS_MAX, telemetry: false },
  });
}

/** The fields of Stripe's error for a log. Its message may quote what was sent. */
export function describeStripeError(error: unknown): object {
  if (!(error instanceof Stripe.errors.StripeError)) return { err: error };
  const { type, code, statusCode, requestId } = error;
  return { stripe: { type, code, statusCode, requestId } };
}

/** Returns the refusal that a caller of this service gets for an error of Stripe, or the error. */
export function asServiceError(error: unknown): unknown {
  if (!(error instanceof Stripe.errors.StripeError)) return error;
  const { type, code } = error;
  return new ServiceError('unavailable', `Stripe did not take the call (${code ?? type}). Try again in a moment.`, undefined, {
    cause: error,
  });
}
