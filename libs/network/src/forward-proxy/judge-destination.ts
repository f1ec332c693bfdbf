import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import {
  AddressRefusedError,
  assertHostAllowed,
  assertNoPrivateName,
  guardedLookup,
  type Resolver,
  refuseMixed,
} from '../address-guard.js';

/** Longest wait for a name server before a name is left to the proxy. Where only the proxy reaches the outside there may be none. */
const RESOLVE_MS = 1_000;
/** Milliseconds for which a name that did not resolve is not asked for again: each question may hold one of few resolver threads for long. */
const UNRESOLVED_MS = 300_000;

/**
 * Returns a judge for a proxy that resolves names itself, so that its rules may name hosts. It refuses forbidden addresses and names, and a
 * name that resolves here to any forbidden address, because the proxy may take that one. A name that does not resolve here in time is left
 * to the proxy, unless only a private network can know it. For one destination.
 */
export function judgeByName(allowPrivateNetwork: boolean, resolve?: Resolver): (hostname: string) => Promise<string> {
  const lookUpAddresses = addressLookup(allowPrivateNetwork, refuseMixed(allowPrivateNetwork, resolve));
  const leaveToProxy = (hostname: string): string => {
    assertNoPrivateName(hostname, allowPrivateNetwork);
    return hostname;
  };
  let unresolvedUntil = Number.NEGATIVE_INFINITY;
  return async (hostname) => {
    assertHostAllowed(hostname, allowPrivateNetwork);
    if (isIP(hostname) !== 0) return hostname;
    if (performance.now() < unresolvedUntil) return leaveToProxy(hostname);
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('no answer in time')), RESOLVE_MS);
    });
    try {
      await Promise.race([lookUpAddresses(hostname), tooLate]);
    } catch (error) {
      if (error instanceof AddressRefusedError) throw error;
      unresolvedUntil = performance.now() + UNRESOLVED_MS;
      return leaveToProxy(hostname);
    } finally {
      clearTimeout(timer);
    }
    return hostname;
  };
}

/**
 * Returns a judge for destinations of strangers: it resolves the name here and has the proxy connect to the address that was judged, so
 * that a name server with two answers has no effect. A name that does not resolve here is refused.
 */
export function judgeByAddress(allowPrivateNetwork: boolean, resolve?: Resolver): (hostname: string) => Promise<string> {
  const lookUpAddresses = addressLookup(allowPrivateNetwork, resolve);
  return async (hostname) => {
    assertHostAllowed(hostname, allowPrivateNetwork);
    if (isIP(hostname) !== 0) return hostname;
    const addresses = await lookUpAddresses(hostname);
    // The proxy may have no IPv6, and gets one address.
    const [first] = [...addresses].sort((one, other) => one.family - other.family);
    if (first === undefined) throw new AddressRefusedError(`${hostname} has no address`);
    return first.address;
  };
}

function addressLookup(allowPrivateNetwork: boolean, resolve?: Resolver): (hostname: string) => Promise<LookupAddress[]> {
  const lookup = guardedLookup(allowPrivateNetwork, resolve);
  return (hostname) =>
    new Promise((found, reject) => {
      lookup(hostname, { all: true }, (error, addresses) => (error ? reject(error) : found(addresses as unknown as LookupAddress[])));
    });
}
