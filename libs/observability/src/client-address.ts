import { isIP } from 'node:net';

/**
 * Returns the client's address. Each trusted proxy appends its peer's address to `X-Forwarded-For`, so the client is the entry
 * `trustedHops` from the right; entries further left may be forged. Returns the socket's address when there is no trusted proxy or no
 * such entry.
 */
export function clientAddress(socketAddress: string, forwardedFor: string | undefined, trustedHops: number): string {
  if (trustedHops === 0 || forwardedFor === undefined) return socketAddress;
  const entry = forwardedFor.split(',').at(-trustedHops)?.trim() ?? '';
  return isIP(entry) === 0 ? socketAddress : entry;
}
