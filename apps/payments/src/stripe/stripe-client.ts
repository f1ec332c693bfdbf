import { Stripe } from 'stripe';
import { Agent, buildConnector, fetch as fetchByAgent } from 'undici';
import { ServiceError } from '#contracts/service-error.js';
import { type ForwardProxies, NO_FORWARD_PROXIES } from '#network/forward-proxy/forward-proxies.js';
import { ProxyFault } from '#network/forward-proxy/proxy-fault.js';
import { proxyingConnector } from '#network/forward-proxy/proxying-connector.js';

/** Milliseconds for an answer of Stripe, and how often a call is repeated: with its idempotency key, which the library keeps. */
const ANSWER_MS = 10_000;
const CONNECT_MS = 5_000;
const REPEATS_MAX = 2;

/** Returns a client of Stripe's API at an address, through the forward proxy of the environment if there is one. */
export function createStripe(secretKey: string, apiUrl: string, proxies: ForwardProxies = NO_FORWARD_PROXIES): Stripe {
  const { protocol, hostname, port } = new URL(apiUrl);
  const isPlain = protocol === 'http:';
  return new Stripe(secretKey, {
    ...{ host: hostname, port: port || (isPlain ? 80 : 443), protocol: isPlain ? 'http' : 'https' },
    ...{ timeout: ANSWER_MS, maxNetworkRetries: REPEATS_MAX, telemetry: false },
    httpClient: Stripe.createFetchHttpClient(fetchThrough(proxies)),
  });
}

/** Returns a `fetch` that follows no redirect: the secret key goes to the address of the settings alone. */
function fetchThrough(proxies: ForwardProxies): typeof fetch {
  const direct = buildConnector({ timeout: CONNECT_MS, allowH2: false, rejectUnauthorized: true, minVersion: 'TLSv1.2' });
  // The address is the operator's: the proxy may resolve its name.
  const connect = proxyingConnector(proxies, direct, CONNECT_MS, async (hostname) => hostname);
  const dispatcher = new Agent({ connect, allowH2: false });
  const call = (url: string, init: Parameters<typeof fetchByAgent>[1]) => fetchByAgent(url, { ...init, redirect: 'manual', dispatcher });
  return call as unknown as typeof fetch;
}

/** The fields of Stripe's error for a log. Its message may quote what was sent. */
export function describeStripeError(error: unknown): object {
  if (!(error instanceof Stripe.errors.StripeError)) return { err: error };
  const { type, code, statusCode, requestId } = error;
  return { stripe: { type, code, statusCode, requestId, connection: describeConnection(error.detail) } };
}

/** The reason for which there was no connection: the line of a forward proxy, or a code such as `ECONNREFUSED`. */
function describeConnection(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error instanceof ProxyFault) return error.message;
  return describeConnection(error.cause) ?? (error as NodeJS.ErrnoException).code;
}

/** Returns the refusal that a caller of this service gets for an error of Stripe, or the error. */
export function asServiceError(error: unknown): unknown {
  if (!(error instanceof Stripe.errors.StripeError)) return error;
  const { type, code } = error;
  return new ServiceError('unavailable', `Stripe did not take the call (${code ?? type}). Try again in a moment.`, undefined, {
    cause: error,
  });
}
