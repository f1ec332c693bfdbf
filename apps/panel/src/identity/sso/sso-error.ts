import type { SsoFailure } from '../../api/shapes/sso.js';

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

/** Translates an error of a call of the provider. */
export function ssoErrorOf(thrown: unknown): SsoError {
  if (thrown instanceof SsoError) return thrown;
  if (thrown instanceof Error && thrown.cause instanceof SsoError) return thrown.cause;
  const { code, error, cause } = thrown as { code?: unknown; error?: unknown; cause?: { code?: unknown } };
  // The code of OAuth, such as invalid_grant, comes from the provider: anything but a code is left out.
  const codes = [code ?? cause?.code, error].filter((one) => typeof one === 'string' && /^\w{1,60}$/.test(one));
  return new SsoError(REFUSALS.has(String(code)) ? 'refused' : 'unavailable', codes.join(' ') || 'unknown error');
}
