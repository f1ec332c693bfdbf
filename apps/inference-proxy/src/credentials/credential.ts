import type { Upstream } from '#contracts/catalog.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';

export type HeaderFields = Readonly<Record<string, string>>;

/** The parts of a request that a signature covers. */
export interface UnsignedRequest {
  method: 'GET' | 'POST';
  /** With the query. */
  path: string;
  headers: HeaderFields;
  body?: string | Buffer;
}

export interface Rejection {
  status: number;
  header(name: string): string | undefined;
}

/** Proves to one upstream who we are, as `auth` of its catalog entry says. */
export interface Credential {
  /** Returns the headers to add; a promise while there is no token yet, and for a signature. Throws `credential` failures. */
  authorize(request: UnsignedRequest): HeaderFields | Promise<HeaderFields>;
  /**
   * Call when the upstream has rejected `used`. Resolves with true when the request should be sent again, with other headers. Throws a
   * `credential` failure when the token was revoked and there is no other.
   */
  renew(rejection: Rejection, used: HeaderFields): Promise<boolean>;
  /** False while calls would fail: there is no token, and the last try to get one has failed. */
  readonly isUsable: boolean;
  /** Gets the first token, so that no call has to wait for it. */
  start(): void;
  close(): void;
}

/**
 * Called with the failure when calls begin to fail because they have no credential, and when its reason changes. Called with undefined when
 * they work again.
 */
export type CredentialObserver = (failure: UpstreamFailure | undefined) => void;

/** An upstream with `auth`. */
export type AuthUpstream<Auth = NonNullable<Upstream['auth']>> = Upstream & { auth: Auth };

/** Returns any error as the one failure of credentials: one line that names the upstream and the kind, without the secret. */
export function credentialFailure({ id, auth }: AuthUpstream, error: unknown): UpstreamFailure {
  const [detail, isOperatorsFault] =
    error instanceof UpstreamFailure ? [error.detail, error.isOperatorsFault] : ['internal error of Tollgate', true];
  return new UpstreamFailure('credential', 'model_unavailable', {
    detail: `${auth.kind} of ${id}: ${detail}`,
    isOperatorsFault,
    cause: error,
  });
}

/** A reason that there is no credential. `isPassing`: trying again may help. */
export function noCredential(detail: string, { isPassing = false, cause }: { isPassing?: boolean; cause?: unknown } = {}): UpstreamFailure {
  return new UpstreamFailure('credential', 'model_unavailable', { detail, isOperatorsFault: !isPassing, cause });
}
