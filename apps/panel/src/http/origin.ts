import type { IncomingHttpHeaders } from 'node:http';

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
/** `none`: the user typed the address or opened a bookmark. */
const OWN_FETCH_SITES: ReadonlySet<string> = new Set(['same-origin', 'none']);

/**
 * True when the page that caused a request may call the API. A browser cannot forge `Origin` and `Sec-Fetch-Site`; programs send neither,
 * which is allowed unless a cookie could give the request a session that its page may not use.
 */
export function isOriginAllowed(
  { method, headers }: { method: string; headers: IncomingHttpHeaders },
  allowed: ReadonlySet<string>,
): boolean {
  const { origin, 'sec-fetch-site': site } = headers;
  if (origin !== undefined) return allowed.has(origin);
  if (site !== undefined) return OWN_FETCH_SITES.has(String(site));
  return SAFE_METHODS.has(method) || headers.cookie === undefined;
}
