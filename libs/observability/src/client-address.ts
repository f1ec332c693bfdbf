import { isIP, isIPv4, SocketAddress } from 'node:net';

/** Stands for the address of a client that the trusted proxies do not name. It is in no network, and all such clients share one throttle. */
export const UNKNOWN_ADDRESS = 'unknown';

/** `203.0.113.9:4711` or `[2001:db8::1]:4711`, as some proxies write the address of their peer. */
const WITH_PORT = /^(?:([\d.]+)|\[([^\]]+)\]):(\d{1,5})$/;
const PORT_MAX = 65_535;

/**
 * Returns the client's address. Each trusted proxy appends its peer's address to `X-Forwarded-For`, so the client is the entry
 * `trustedHops` from the right; entries further left may be forged. Without trusted proxies the client is the socket's peer. Behind one,
 * an entry that is missing or cannot be read gives `UNKNOWN_ADDRESS`: the socket's address is then the proxy's, which networks of keys may
 * well allow.
 */
export function clientAddress(socketAddress: string, forwardedFor: string | undefined, trustedHops: number): string {
  if (trustedHops === 0) return socketAddress;
  return readEntry(forwardedFor?.split(',').at(-trustedHops)?.trim() ?? '');
}

/**
 * Returns an IP address in its one usual form: an IPv4-mapped IPv6 address as IPv4, IPv6 in lower case without a zone, which has a meaning
 * on one host alone. Returns `UNKNOWN_ADDRESS` for any other text, such as that of a closed socket.
 */
export function plainAddress(text: string | undefined): string {
  if (text === undefined || isIP(text) === 0) return UNKNOWN_ADDRESS;
  if (isIPv4(text)) return text;
  // Node cuts an address with a zone after 39 characters; written in full with an IPv4 part it has up to 45.
  const { address } = new SocketAddress({ address: text.replace(/%.*/s, ''), family: 'ipv6' });
  const mapped = address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : '';
  return isIPv4(mapped) ? mapped : address;
}

function readEntry(entry: string): string {
  const [, ipv4, ipv6, port] = WITH_PORT.exec(entry) ?? [];
  if (port === undefined) return plainAddress(entry);
  if (Number(port) > PORT_MAX || (ipv6 !== undefined && isIPv4(ipv6))) return UNKNOWN_ADDRESS;
  return plainAddress(ipv4 ?? ipv6);
}
