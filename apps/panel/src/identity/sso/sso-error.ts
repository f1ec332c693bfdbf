import { ProxyFault } from '#network/forward-proxy/proxy-fault.js';
import type { SsoFailure } from '../../shapes/identity.js';

/** A failed sign-in with a provider. The person sees the text of `failure`; `reason` is for the log and the journal. */
export class SsoError extends Error {
  override readonly name = 'SsoError';

  constructor(
    readonly failure: SsoFailure,
    /** Fixed text, or codes. Never a provider's text, which may contain anything. */
    readonly reason: string,
    /** The person, if they are known. */
    readonly userId?: string,
  ) {
    super(reason);
  }
}

/** Codes of openid-client for a provider that says no, and for an answer that does not fit this sign-in. All others mean a broken provider. */
const REFUSALS: ReadonlySet<string> = new Set([
  'OAUTH_AUTHORIZATION_RESPONSE_ERROR',
  'OAUTH_RESPONSE_BODY_ERROR',
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
]);

/** Translates an error of a call of the provider. Errors of the network are causes of causes. */
export function toSsoError(thrown: unknown): SsoError {
  for (let error = thrown as Fault | undefined; error; error = error.cause) {
    if (error instanceof SsoError) return error;
    if (error instanceof ProxyFault) return new SsoError('unavailable', error.message);
    if (typeof error.code !== 'string') continue;
    // The code of OAuth, such as invalid_grant, comes from the provider: anything but a code is left out.
    const codes = [error.code, error.error].filter((one) => typeof one === 'string' && /^\w{1,60}$/.test(one));
    return new SsoError(REFUSALS.has(error.code) ? 'refused' : 'unavailable', codes.join(' '));
  }
  return new SsoError('unavailable', 'unknown error');
}

interface Fault {
  code?: unknown;
  error?: unknown;
  cause?: Fault;
}
