/** `GET /sso`, without a session: the ways to sign in. */
export interface SignInWays {
  /** False while people sign in with a provider alone. */
  passwords: boolean;
  /** In the order of their names. `/sso/{name}/start` leads to one. */
  providers: SignInProvider[];
}

export interface SignInProvider {
  name: string;
  /** The provider's name for people. */
  label: string;
}

/** Query of `GET /sso/{provider}/start`. */
export interface SsoStartQuery {
  /** Page of the panel to which the browser comes back: `/panel/…`. */
  returnTo?: string;
  /** `true`: the person proves again who they are, although the provider has a session of theirs. */
  confirm?: string;
}

/**
 * Reason of a failed sign-in, in the parameter `sso` of the page to which the browser comes back, beside `request`, the request id.
 * `expired`: this browser did not begin the sign-in, or too long ago. `refused`: the provider said no, or its answer was not for this
 * sign-in. `unverified`: the provider has not verified the e-mail. `no-access`: the person is unknown, disabled, or without a role.
 * `unavailable`: the provider does not answer as it should. `too-many`: too many failed sign-ins. `internal`: the panel itself failed.
 */
export type SsoFailure = 'expired' | 'refused' | 'unverified' | 'no-access' | 'unavailable' | 'too-many' | 'internal';
