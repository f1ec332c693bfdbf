import type { IncomingHttpHeaders } from 'node:http';

/** Returns the value of a cookie; undefined when the request has none of that name. */
export function readCookie({ cookie }: IncomingHttpHeaders, name: string): string | undefined {
  const pair = cookie?.split(';').find((one) => one.trim().startsWith(`${name}=`));
  return pair?.trim().slice(name.length + 1);
}
