import { BlockList, isIP } from 'node:net';
import type { ResolvedKey } from '#contracts/billing/keys.js';
import { modelMatcher } from '#contracts/rules/model-pattern.js';

/** The owner of a key, and what the key may be used for. */
export interface Caller extends Pick<ResolvedKey, 'keyId' | 'projectId' | 'accountId'> {
  /** Names of the `metadata` pairs that are tags. Absent: none. */
  tags?: string[];
  /** Price plan of the account. Absent: list prices. */
  pricePlan?: string;
  /** Replaces `pricePlan` at its time, in milliseconds. Absent: nothing does. */
  nextPricePlan?: { pricePlan: string | undefined; from: number };
  /** Absent: all models. */
  mayUse?: (modelId: string) => boolean;
  /** Absent: the key may be used from any address. */
  mayCallFrom?: (address: string) => boolean;
}

/** Compiles the lists of a key once, so that a request only looks them up, and one without lists does not. */
export function toCaller(key: Omit<ResolvedKey, 'validForMs'>): Caller {
  const { keyId, projectId, accountId, models, networks, tags, pricePlan, nextPricePlan: next } = key;
  return {
    ...{ keyId, projectId, accountId },
    ...(tags && { tags }),
    ...(pricePlan !== undefined && { pricePlan }),
    ...(next && { nextPricePlan: { pricePlan: next.pricePlan ?? undefined, from: Date.parse(next.from) } }),
    ...(models && { mayUse: makeMatcher(models) }),
    ...(networks && { mayCallFrom: networkCheck(networks) }),
  };
}

function makeMatcher(patterns: readonly string[]): (modelId: string) => boolean {
  const matchers = patterns.map(modelMatcher);
  return (modelId) => matchers.some((matches) => matches(modelId));
}

function networkCheck(networks: readonly string[]): (address: string) => boolean {
  const allowed = new BlockList(); // a list of networks; here those that are let in
  for (const network of networks) {
    const [address = '', prefix] = network.split('/');
    const family = findFamily(address);
    allowed.addSubnet(address, Number(prefix ?? (family === 'ipv4' ? 32 : 128)), family);
  }
  // An IPv4 address within IPv6 (`::ffff:10.0.0.1`), as dual-stack sockets report it, is in the IPv4 networks.
  return (address) => isIP(address) !== 0 && allowed.check(address, findFamily(address));
}

function findFamily(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}
