import type { SsoFailure } from '../../../src/shapes/identity.js';
import { ApiError } from '../data/api.js';

const TEXTS: Record<SsoFailure, string> = {
  expired: 'The sign-in took too long, or another window began one. Try again.',
  refused: 'The provider refused the sign-in, or its answer was not for this browser. Try again.',
  unverified: 'The provider has not verified your e-mail address. Verify it there, then try again.',
  'no-access': 'You have no access to this panel. Ask an admin to invite the e-mail address that the provider knows.',
  unavailable: 'The provider does not answer, or not as it should. Try again in a moment.',
  'too-many': 'Too many failed sign-ins. Try again in 15 minutes.',
  internal: 'The panel failed. Try again; its log has the reason, with the request id.',
};

/** Returns the failure with which a provider sent the browser back; undefined without one. The address has codes alone, no text. */
export function ssoFailureIn(search: string): ApiError | undefined {
  const query = new URLSearchParams(search);
  const failure = query.get('sso');
  if (failure === null || !Object.hasOwn(TEXTS, failure)) return undefined;
  const requestId = /^req_[0-9a-f]{32}$/.exec(query.get('request') ?? '')?.[0] ?? null;
  return new ApiError(TEXTS[failure as SsoFailure], 'invalid_credentials', null, requestId);
}

/** Returns the address of the page without the failure. */
export function addressWithoutFailure({ pathname, search }: { pathname: string; search: string } = location): string {
  const query = new URLSearchParams(search);
  query.delete('sso');
  query.delete('request');
  return query.size > 0 ? `${pathname}?${query}` : pathname;
}
