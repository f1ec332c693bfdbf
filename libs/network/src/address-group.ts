import { isIPv6 } from 'node:net';

/** Returns the key of a rate limit: an IPv4 address, or the /64 network of an IPv6 address, because one client owns all of it. */
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
