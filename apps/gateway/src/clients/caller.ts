import { BlockList, isIP } from 'node:net';
import type { Delegation, ResolvedKey } from '#contracts/billing/keys.js';
import type { ProjectPolicy } from '#contracts/billing/project-policy.js';
import type { ChildLevel } from '#contracts/child-keys/child-key.js';
import { type ChildParent, collectTags } from '#contracts/child-keys/narrow-child.js';
import { modelMatcher } from '#contracts/rules/model-pattern.js';

/** The owner of a key, and what the key may be used for. */
export interface Caller extends Pick<ResolvedKey, 'keyId' | 'projectId' | 'accountId'> {
  /** Names of the `metadata` pairs that are tags. Absent: none. */
  tags?: string[];
  /** The policy that is asked before a hold. Absent: none. */
  policy?: ProjectPolicy;
  /** Price plan of the account. Absent: list prices. */
  pricePlan?: string;
  /** Replaces `pricePlan` at its time, in milliseconds. Absent: nothing does. */
  nextPricePlan?: { pricePlan: string | undefined; from: number };
  /** Absent: all models. */
  mayUse?: (modelId: string) => boolean;
  /** Absent: the key may be used from any address. */
  mayCallFrom?: (address: string) => boolean;
  /** Bounds of its child keys. Absent: it may have none. */
  parent?: ChildParent;
  /** The child key that was sent. Absent: the key itself was. */
  child?: ChildCaller;
}

/** A child key: what its requests count for. */
export interface ChildCaller {
  /** Its id: see `CHILD_PATH`. */
  path: string;
  /** The most that each child key of its chain may cost. */
  limitsPicoUsd: string[];
  /** Tags that its requests have, by name. */
  tags: ReadonlyMap<string, string>;
}

/** Compiles the lists of a key once, so that a request only looks them up, and one without lists does not. */
export function toCaller({ validForMs, ...key }: ResolvedKey): Caller {
  const { keyId, projectId, accountId, models, networks, tags, policy, delegation, pricePlan, nextPricePlan: next } = key;
  return {
    ...{ keyId, projectId, accountId },
    ...(tags && { tags }),
    ...(policy && { policy }),
    ...(pricePlan !== undefined && { pricePlan }),
    ...(next && { nextPricePlan: { pricePlan: next.pricePlan ?? undefined, from: Date.parse(next.from) } }),
    ...(models && { mayUse: makeMatcher(models) }),
    ...(networks && { mayCallFrom: networkCheck(networks) }),
    ...(delegation && { parent: toParent(key, delegation, validForMs) }),
  };
}

function toParent({ keyId, models, networks }: ResolvedKey, { signingKey, limitPicoUsd }: Delegation, validForMs?: number): ChildParent {
  const endsAt = validForMs === undefined ? Number.POSITIVE_INFINITY : Date.now() + validForMs;
  return { keyId, signingKey: Buffer.from(signingKey, 'base64'), levels: [], limit: BigInt(limitPicoUsd), endsAt, models, networks };
}

/** Returns the caller of a child key: its key, and what each child key of its chain narrows. */
export function toChildCaller(key: Caller, parent: ChildParent, levels: readonly ChildLevel[]): Caller {
  const models = [key.mayUse, ...levels.map((level) => level.models && makeMatcher(level.models))].filter((one) => one !== undefined);
  const networks = [key.mayCallFrom, ...levels.map((level) => level.networks && networkCheck(level.networks))];
  const checks = networks.filter((one) => one !== undefined);
  return {
    ...key,
    ...(models.length > 0 && { mayUse: (modelId) => models.every((mayUse) => mayUse(modelId)) }),
    ...(checks.length > 0 && { mayCallFrom: (address) => checks.every((mayCallFrom) => mayCallFrom(address)) }),
    parent: { ...parent, levels },
    child: { path: levels.at(-1)?.path ?? '', limitsPicoUsd: levels.map(({ limitPicoUsd }) => limitPicoUsd), tags: collectTags(levels) },
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
