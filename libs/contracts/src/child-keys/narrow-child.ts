import { BlockList, isIP } from 'node:net';
import { renderUsd } from '#money/pico-usd.js';
import { TAGS_MAX } from '../rules/bounds.js';
import { CHILD_DEPTH_MAX, readChildEnd } from '../rules/child-path.js';
import { modelMatcher } from '../rules/model-pattern.js';
import { CHILD_KEY_LENGTH_MAX, type ChildLevel, makeChildPath, signChildKey } from './child-key.js';

/** Seconds that a child key lives unless its maker says so, or its parent ends before. */
export const CHILD_SECONDS_DEFAULT = 3_600;
/** Longest life of a child key: 30 days. */
export const CHILD_SECONDS_MAX = 2_592_000;

/** A key that may delegate, or a child key of it: what its child keys may be at most. */
export interface ChildParent {
  keyId: string;
  signingKey: Buffer;
  /** The chain of a child key. Empty: the key itself. */
  levels: readonly ChildLevel[];
  /** The most that each child key may cost, by the budgets of child keys. */
  limit: bigint;
  /** Milliseconds. Infinity: it has no end. */
  endsAt: number;
  /** Models and networks of the key itself. Absent: any. */
  models?: readonly string[] | undefined;
  networks?: readonly string[] | undefined;
}

/** A child key as it is asked for. What it does not name is that of its parent. */
export interface WantedChild {
  limitPicoUsd?: string | undefined;
  seconds?: number | undefined;
  models?: string[] | undefined;
  networks?: string[] | undefined;
  tags?: Record<string, string> | undefined;
}

export interface MintedChild {
  /** The secret. It is not stored anywhere. */
  key: string;
  /** The last level is that of the child key. */
  levels: readonly ChildLevel[];
}

/** The field that would make a child key wider than its parent. */
export class WiderChildError extends Error {
  override readonly name = 'WiderChildError';

  constructor(
    readonly field: keyof WantedChild | 'depth',
    /** Follows the name of the field. */
    readonly fault: string,
  ) {
    super(`${field} ${fault}`);
  }
}

/**
 * Makes a child key: a signed text, of which no service keeps anything. It may only be narrower than its parent.
 * @throws {WiderChildError} when it would not be.
 */
export function mintChild(parent: ChildParent, wanted: WantedChild, now = Date.now()): MintedChild {
  const { levels } = parent;
  if (levels.length >= CHILD_DEPTH_MAX) throw new WiderChildError('depth', `of child keys is at most ${CHILD_DEPTH_MAX} below a key`);
  const path = makeChildPath(levels.at(-1)?.path, findEnd(parent, wanted, now));
  const { models, networks } = wanted;
  requireWithin('models', models, [parent.models, ...levels.map((level) => level.models)], isModelWithin);
  requireWithin('networks', networks, [parent.networks, ...levels.map((level) => level.networks)], isNetworkWithin);
  const level = { path, limitPicoUsd: String(findLimit(parent, wanted)) };
  const tags = addTags(levels, wanted.tags);
  const lists = { ...(models?.length && { models }), ...(networks?.length && { networks }), ...(tags && { tags }) };
  const minted = [...levels, { ...level, ...lists }];
  const key = signChildKey(parent.keyId, minted, parent.signingKey);
  if (key.length > CHILD_KEY_LENGTH_MAX)
    throw new WiderChildError(
      'models',
      `make the child key ${key.length} characters long with networks and tags: at most ${CHILD_KEY_LENGTH_MAX}`,
    );
  return { key, levels: minted };
}

function findEnd({ levels, endsAt }: ChildParent, { seconds }: WantedChild, now: number): number {
  const most = Math.min(endsAt, ...levels.map(({ path }) => readChildEnd(path)));
  const left = Math.floor((most - now) / 1_000);
  const life = seconds ?? Math.min(CHILD_SECONDS_DEFAULT, left);
  if (life > left || life < 1)
    throw new WiderChildError('seconds', `must be at most ${Math.max(left, 0)}: a child key ends before its parent`);
  return now + life * 1_000;
}

function findLimit({ levels, limit }: ChildParent, { limitPicoUsd }: WantedChild): bigint {
  const most = levels.map((level) => BigInt(level.limitPicoUsd)).reduce((one, other) => (other < one ? other : one), limit);
  const wanted = limitPicoUsd === undefined ? most : BigInt(limitPicoUsd);
  if (wanted > most)
    throw new WiderChildError('limitPicoUsd', `must be at most $${renderUsd(most)}: a child key may cost no more than its parent`);
  return wanted;
}

function requireWithin(
  field: 'models' | 'networks',
  wanted: readonly string[] | undefined,
  allowed: readonly (readonly string[] | undefined)[],
  isWithin: (one: string, of: string) => boolean,
): void {
  for (const one of wanted ?? [])
    for (const list of allowed)
      if (list?.length && !list.some((of) => isWithin(one, of)))
        throw new WiderChildError(field, `must be within those of the parent: ${one} is not`);
}

/** True when a pattern names no model that `of` does not. The star of a pattern can only be matched by a star. */
function isModelWithin(pattern: string, of: string): boolean {
  return modelMatcher(of)(pattern);
}

function isNetworkWithin(network: string, of: string): boolean {
  const [inner, outer] = [parseNetwork(network), parseNetwork(of)];
  if (inner.family !== outer.family || inner.prefix < outer.prefix) return false;
  const list = new BlockList();
  list.addSubnet(outer.address, outer.prefix, outer.family);
  return list.check(inner.address, inner.family);
}

function parseNetwork(network: string): { address: string; prefix: number; family: 'ipv4' | 'ipv6' } {
  const [address = '', prefix] = network.split('/');
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  return { address, prefix: Number(prefix ?? (family === 'ipv4' ? 32 : 128)), family };
}

/** Returns the tags that a child key adds. Those from above stay as they are. */
function addTags(levels: readonly ChildLevel[], wanted: Record<string, string> | undefined): Record<string, string> | undefined {
  if (wanted === undefined || Object.keys(wanted).length === 0) return undefined;
  const above = collectTags(levels);
  for (const [name, value] of Object.entries(wanted))
    if (above.has(name) && above.get(name) !== value) throw new WiderChildError('tags', `must keep those of the parent: ${name} differs`);
  const names = new Set([...above.keys(), ...Object.keys(wanted)]);
  if (names.size > TAGS_MAX) throw new WiderChildError('tags', `must be at most ${TAGS_MAX} with those of the parent`);
  return wanted;
}

/** Returns the tags of all requests of the child key at the end of a chain. */
export function collectTags(levels: readonly ChildLevel[]): Map<string, string> {
  return new Map(levels.flatMap(({ tags = {} }) => Object.entries(tags)));
}
