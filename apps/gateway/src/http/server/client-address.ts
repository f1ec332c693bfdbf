import { isIP, isIPv6 } from 'node:net';

/**
 * The client's address. Each trusted proxy appends the address it was called from to `X-Forwarded-For`, so with `trustedHops` proxies the
 * client is that many entries from the right; what is left of it the client may have made up. The address of the socket when there are
 * no trusted proxies, or the entry is missing or no address.
 */
export function clientAddress(socketAddress: string, forwardedFor: string | undefined, trustedHops: number): string {
  if (trustedHops === 0 || forwardedFor === undefined) return socketAddress;
  const entry = forwardedFor.split(',').at(-trustedHops)?.trim() ?? '';
  return isIP(entry) === 0 ? socketAddress : entry;
}

/** The unit that rates are kept for: an IPv4 address, or the /64 network of an IPv6 address, which one client has as a whole. */
export function addressGroup(address: string): string {
  if (!isIPv6(address)) return address;
  const [head = '', tail] = address.split('::');
  const groups = head.split(':').filter((group) => group !== '');
  if (tail !== undefined) {
    const tailLength = tail === '' ? 0 : tail.split(':').length;
    while (groups.length < 4 && groups.length + tailLength < 8) groups.push('0');
    groups.push(...tail.split(':'));
  }
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group || '0', 16).toString(16))
    .join(':');
}
