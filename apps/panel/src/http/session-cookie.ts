import type { IncomingHttpHeaders } from 'node:http';
import { readCookie } from '../requests/read-cookie.js';

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
  read(headers: IncomingHttpHeaders): string | undefined {
    const value = readCookie(headers, this.name);
    return value === undefined || SECRET.test(value) ? value : '';
  }

  /** Returns the header that sets the cookie. It lives as long as the browser; the server ends the session. */
  set(secret: string): string {
    return `${this.name}=${secret}; ${this.attributes}`;
  }

  cleared(): string {
    return `${this.name}=; Max-Age=0; ${this.attributes}`;
  }
}
