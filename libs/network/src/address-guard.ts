import { type LookupAddress, lookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { ResolvedNames } from './resolved-names.js';

/** Thrown when an address may not be called: it is in a private network or serves cloud metadata. Prevents SSRF. */
export class AddressRefusedError extends Error {
  override readonly name = 'AddressRefusedError';
  readonly code = 'ADDRESS_REFUSED';
}

/** Forbidden always. */
const FORBIDDEN = blockList([
  '0.0.0.0/8',
  '169.254.0.0/16',
  '224.0.0.0/4',
  '255.255.255.255/32',
  '100.100.100.200/32', // metadata of Alibaba Cloud, inside the carrier range that may be allowed
  '168.63.129.16/32', // Azure's host services
  '192.0.0.192/32', // metadata of Oracle Cloud
  '::/128',
  'fe80::/10',
  'ff00::/8',
  'fd00:ec2::/32', // metadata of AWS, inside the unique-local range that may be allowed
  'fd20:ce::/32', // metadata of Google Cloud
  '2001::/32', // Teredo: a tunnel to an obfuscated IPv4 address
]);

/** Names of cloud metadata services, forbidden whatever they resolve to. */
const FORBIDDEN_NAMES = new Set([
  'metadata',
  'metadata.google',
  'metadata.google.internal',
  'metadata.goog',
  'metadata.azure.internal',
  'metadata.tencentyun.com',
  'instance-data',
  'instance-data.ec2.internal',
]);

/** Forbidden unless the operator has set `allowPrivateNetwork`. */
const PRIVATE = blockList([
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '240.0.0.0/4',
  '::1/128',
  'fc00::/7',
  'fec0::/10',
  '2001:db8::/32',
  '3fff::/20',
  '100::/64',
  '64:ff9b:1::/48', // NAT64 of one's own network
]);

/** True when an IP address may be called. IPv4 inside IPv6 (mapped, NAT64, 6to4, ISATAP) is judged as IPv4. */
export function isAddressAllowed(address: string, allowPrivateNetwork: boolean): boolean {
  const plain = address.split('%')[0] ?? '';
  const family = isIP(plain);
  if (family === 0) return false;
  if (family === 6 && embeddedIpv4(plain).some((inner) => !isAddressAllowed(inner, allowPrivateNetwork))) return false;
  const kind = family === 6 ? 'ipv6' : 'ipv4';
  // Other than mapped addresses, these are routes of their own, so they are checked as IPv6 too.
  return !FORBIDDEN.check(plain, kind) && (allowPrivateNetwork || !PRIVATE.check(plain, kind));
}

/**
 * Throws `AddressRefusedError` when `hostname`, as the URL parser writes it, is a forbidden address or the name of a metadata service.
 * `guardedLookup` judges what other names resolve to.
 */
export function assertHostAllowed(hostname: string, allowPrivateNetwork: boolean): void {
  const bare = hostname.replace(/^\[|\]$/g, '');
  const isAllowed =
    isIP(bare) === 0 ? !FORBIDDEN_NAMES.has(bare.toLowerCase().replace(/\.$/, '')) : isAddressAllowed(bare, allowPrivateNetwork);
  if (!isAllowed) throw new AddressRefusedError(`${bare} ${whyNot(bare, allowPrivateNetwork)}`);
}

/** Tells the operator whether the address could be allowed. */
function whyNot(address: string, allowPrivateNetwork: boolean): string {
  const isPrivate = !allowPrivateNetwork && isAddressAllowed(address, true);
  return isPrivate ? 'is a private address, and allowPrivateNetwork is not set' : 'is never called';
}

const RESOLUTION_TTL_MS = 30_000;

/** Resolves a name to addresses. */
export type Resolver = (hostname: string, done: (error: Error | null, addresses: LookupAddress[]) => void) => void;

const resolveHere: Resolver = (name, done) => lookup(name, { all: true }, done);

type Answer = (error: Error | null, allowed: LookupAddress[], all: LookupAddress[]) => void;

/**
 * Returns a `lookup` for sockets that refuses forbidden addresses. The socket connects to the address that was judged, so DNS rebinding
 * has no effect. Concurrent lookups of a name share one query, and answers are cached for 30 s: otherwise a dead name server would block
 * the few resolver threads for all names.
 */
export function guardedLookup(allowPrivateNetwork: boolean, resolve: Resolver = resolveHere): LookupFunction {
  const known = new ResolvedNames(RESOLUTION_TTL_MS);
  const waiting = new Map<string, Answer[]>();
  const ask = (hostname: string, answer: Answer): void => {
    const others = waiting.get(hostname);
    if (others !== undefined) {
      others.push(answer);
      return;
    }
    const all = [answer];
    waiting.set(hostname, all);
    resolve(hostname, (error, addresses) => {
      waiting.delete(hostname);
      const allowed = error === null ? addresses.filter(({ address }) => isAddressAllowed(address, allowPrivateNetwork)) : [];
      if (allowed.length > 0) known.set(hostname, allowed);
      for (const each of all) each(error, allowed, addresses);
    });
  };
  return (hostname, options, callback) => {
    const give = (addresses: LookupAddress[], refused: readonly LookupAddress[] = []): void => {
      const wanted = options.family === 4 || options.family === 6 ? addresses.filter(({ family }) => family === options.family) : addresses;
      const first = wanted[0];
      if (first === undefined) callback(noAddress(hostname, refused, allowPrivateNetwork), '');
      else if (options.all) callback(null, wanted);
      else callback(null, first.address, first.family);
    };
    const cached = known.get(hostname);
    if (cached !== undefined) {
      process.nextTick(give, cached);
      return;
    }
    ask(hostname, (error, allowed, addresses) => {
      if (error === null) give(allowed, addresses);
      else callback(error, '');
    });
  };
}

/**
 * Returns a resolver that refuses a name with any forbidden address, for callers that do not choose the address: a proxy that resolves the
 * name again may take every one.
 */
export function refuseMixed(allowPrivateNetwork: boolean, resolve: Resolver = resolveHere): Resolver {
  return (hostname, done) =>
    resolve(hostname, (error, addresses) => {
      const refused = error === null ? addresses.filter(({ address }) => !isAddressAllowed(address, allowPrivateNetwork)) : [];
      if (refused.length === 0) done(error, addresses);
      else done(noAddress(hostname, refused, allowPrivateNetwork), []);
    });
}

/** Names that no public name server knows: without a dot, or below a domain that is kept for private networks. */
const PRIVATE_NAME = /^[^.]+$|\.(localhost|local|internal|svc|lan|intranet|corp|home|arpa)$/;

/** Throws `AddressRefusedError` when only a private network can know `hostname`, which did not resolve here. */
export function assertNoPrivateName(hostname: string, allowPrivateNetwork: boolean): void {
  if (allowPrivateNetwork || !PRIVATE_NAME.test(hostname.toLowerCase().replace(/\.$/, ''))) return;
  throw new AddressRefusedError(`${hostname} is a name of a private network, and allowPrivateNetwork is not set`);
}

function noAddress(hostname: string, [refused]: readonly LookupAddress[], allowPrivateNetwork: boolean): AddressRefusedError {
  const why =
    refused === undefined
      ? 'has no address of the family asked for'
      : `is ${refused.address}, which ${whyNot(refused.address, allowPrivateNetwork)}`;
  return new AddressRefusedError(`${hostname} ${why}`);
}

function blockList(subnets: string[]): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [network = '', prefix] = subnet.split('/');
    list.addSubnet(network, Number(prefix), network.includes(':') ? 'ipv6' : 'ipv4');
  }
  return list;
}

/**
 * Returns the IPv4 addresses that an IPv6 address leads to: mapped (`::ffff:0:0/96`), compatible (`::/96`), translated, NAT64
 * (`64:ff9b::/96`, and `64:ff9b:1::/48` with its two places), 6to4 (`2002::/16`), ISATAP.
 */
function embeddedIpv4(address: string): string[] {
  const [g0 = 0, g1 = 0, g2 = 0, g3 = 0, g4 = 0, g5 = 0, g6 = 0, g7 = 0] = expandIpv6(address);
  const zeroHead = g0 === 0 && g1 === 0 && g2 === 0 && g3 === 0;
  const found: string[] = [];
  if (g0 === 0x2002) found.push(dotted(g1, g2));
  if (zeroHead && g4 === 0 && (g5 === 0xffff || g5 === 0) && (g6 !== 0 || g7 > 1)) found.push(dotted(g6, g7));
  if (zeroHead && g4 === 0xffff && g5 === 0) found.push(dotted(g6, g7)); // ::ffff:0:a.b.c.d, translated
  if (g0 === 0x64 && g1 === 0xff9b) found.push(dotted(g6, g7));
  if (g0 === 0x64 && g1 === 0xff9b && g2 === 1 && g3 !== 0) found.push(dotted(g3, ((g4 & 0xff) << 8) | (g5 >> 8))); // RFC 6052, a /48
  if ((g4 & 0xfdff) === 0 && g5 === 0x5efe) found.push(dotted(g6, g7));
  return found;
}

function expandIpv6(address: string): number[] {
  // The URL parser writes any spelling (upper case, dotted tail, leading zeros) in one canonical way.
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [head = '', tail] = canonical.split('::');
  const parse = (part: string): number[] => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)));
  if (tail === undefined) return parse(head);
  const [left, right] = [parse(head), parse(tail)];
  return [...left, ...new Array<number>(8 - left.length - right.length).fill(0), ...right];
}

function dotted(high: number, low: number): string {
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}
