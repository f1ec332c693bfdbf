import type { IncomingHttpHeaders } from 'node:http';

/** Form of a session's secret: 256 bits in base64url. */
const SECRET = /^[\w-]{43}$/;

/**
 * The cookie with the secret of a session. `__Host-` binds it to the host over https. Plain http, allowed on loopback alone, needs the
 * form without prefix and `Secure`, which Safari refuses there.
 */
export class SessionCookie {
  private readonly name: string;
  private readonly attributes: string;

  constructor(panelUrl: string) {
    const isSecure = panelUrl.startsWith('https:');
    this.name = isSecure ? '__Host-tollgate' : 'tollgate';
    this.attributes = `Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
  }

  /** Returns the cookie's value, `''` for a malformed one, and undefined when the request has none. */
  read({ cookie }: IncomingHttpHeaders): string | undefined {
    const prefix = `${this.name}=`;
    const pair = cookie?.split(';').find((one) => one.trim().startsWith(prefix));
    if (pair === undefined) return undefined;
    const value = pair.trim().slice(prefix.length);
    return SECRET.test(value) ? value : '';
  }

  /** Returns the header that sets the cookie. It lives as long as the browser; the server ends the session. */
  set(secret: string): string {
    return `${this.name}=${secret}; ${this.attributes}`;
  }

  cleared(): string {
    return `${this.name}=; Max-Age=0; ${this.attributes}`;
  }
}
