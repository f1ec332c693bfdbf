import { createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { readCookie } from '../../requests/read-cookie.js';
import { makeSecret } from '../secret.js';

/** Seconds in which a person must come back from the provider. */
const ATTEMPT_SECONDS = 600;
const COOKIE = /^([\w-]{43})\.([\w-]*)$/;
const RETURN_TO_MAX = 1_000;

/** A sign-in that a browser has begun. */
export interface SsoAttempt {
  /** 256 random bits that the cookie alone has. State, nonce and verifier follow from it. */
  secret: string;
  /** Path of a page of the panel. */
  returnTo: string;
}

/** State of the authorization request. It belongs to one provider, so that the answer of another one is refused. */
export function deriveState({ secret }: SsoAttempt, provider: string): string {
  return derive(secret, `state ${provider}`);
}

export function deriveNonce({ secret }: SsoAttempt): string {
  return derive(secret, 'nonce');
}

/** PKCE code verifier: 43 characters. */
export function deriveVerifier({ secret }: SsoAttempt): string {
  return derive(secret, 'verifier');
}

function derive(secret: string, purpose: string): string {
  return createHmac('sha256', secret).update(purpose).digest('base64url');
}

/**
 * The cookie that ties the way to the provider and back to one browser. It has all that a replica needs, so the server keeps nothing.
 * `SameSite=Lax`: the browser must send it when the provider's page leads back.
 */
export class AttemptCookie {
  private readonly name: string;
  private readonly attributes: string;

  constructor(private readonly panelUrl: string) {
    const isSecure = panelUrl.startsWith('https:');
    this.name = isSecure ? '__Host-tollgate-sso' : 'tollgate-sso';
    this.attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  }

  /** Begins an attempt that ends at a page of the panel. */
  begin(returnTo: string | undefined): SsoAttempt {
    return { secret: makeSecret(), returnTo: toPagePath(returnTo, this.panelUrl) };
  }

  read(headers: IncomingHttpHeaders): SsoAttempt | undefined {
    const [, secret, returnTo = ''] = COOKIE.exec(readCookie(headers, this.name) ?? '') ?? [];
    return secret === undefined
      ? undefined
      : { secret, returnTo: toPagePath(Buffer.from(returnTo, 'base64url').toString(), this.panelUrl) };
  }

  set({ secret, returnTo }: SsoAttempt): string {
    return `${this.name}=${secret}.${Buffer.from(returnTo).toString('base64url')}; Max-Age=${ATTEMPT_SECONDS}; ${this.attributes}`;
  }

  cleared(): string {
    return `${this.name}=; Max-Age=0; ${this.attributes}`;
  }
}

/** Returns the path of a page of the panel; the first page for an address elsewhere, so that no link leads from a sign-in to another site. */
function toPagePath(address: string | undefined, panelUrl: string): string {
  const url = address === undefined || address.length > RETURN_TO_MAX ? null : URL.parse(address, panelUrl);
  const isPage = url?.origin === panelUrl && url.pathname.startsWith('/panel/') && !url.pathname.startsWith('/panel/v1/');
  return isPage ? url.pathname + url.search : '/panel/';
}
