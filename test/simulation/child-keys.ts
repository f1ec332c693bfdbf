import { hash } from 'node:crypto';
import type { ResolvedKey } from '#contracts/billing/keys.js';
import { parseSigned, provesSignature, signChildKey } from '#contracts/child-keys/child-key.js';
import { isBelowChild, listChain, readChildEnd } from '#contracts/rules/child-path.js';
import type { ModelBudget, SerialModel } from '../../apps/billing/test/serial-model.js';
import type { RequestStory } from './request-story.js';
import { EPOCH_MS } from './virtual-time.js';

/** The most that a child key may cost by its depth below the key: less than its requests would. */
const LIMITS = [60_000_000n, 45_000_000n, 30_000_000n];
const LATER_MS = 1_000_000;
const EXPIRED_MS = 25_000;
const REVOKED_MS = 35_000;
/** Chains of the requests by the last digit of their number: of one to three, one that ends and one that is revoked while the run goes on. */
const CHAINS: Record<number, number[]> = { 1: [1], 2: [1, 2], 3: [1, 2, 3], 4: [1, 4], 6: [5], 7: [1, 2, 3] };
const EXPIRED = 4;
const REVOKED = 5;

/** The child keys of each key of a run. */
export class ChildKeys {
  constructor(
    private readonly budget: ModelBudget,
    private readonly model: SerialModel,
  ) {}

  /** Revokes a child key of each key of the run, after some time. */
  revoke(): void {
    setTimeout(() => {
      for (const [keyId, key] of this.model.keys) key.revokedChildren = [this.makePath(keyId, [REVOKED])];
    }, REVOKED_MS);
  }

  /** Id of the child key that a request uses. Undefined: it uses the key itself. */
  findPath({ index }: Pick<RequestStory, 'index'>, keyId: string): string | undefined {
    const chain = CHAINS[index % 10];
    return chain && this.makePath(keyId, chain);
  }

  textOf(path: string, keyId: string): string {
    const levels = listChain(path).map((one, depth) => ({ path: one, limitPicoUsd: String(LIMITS[depth]) }));
    return signChildKey(keyId, levels, signingKey(keyId));
  }

  /** Returns what the gateway is told of the child keys of a key. */
  delegate(keyId: string): Pick<ResolvedKey, 'delegation'> {
    const revoked = this.model.keys.get(keyId)?.revokedChildren ?? [];
    return { delegation: { signingKey: signingKey(keyId).toString('base64'), limitPicoUsd: String(this.budget.limit), revoked } };
  }

  /** Returns the key of a child key that it has signed. */
  findKey(signed: string, proof: string): string | undefined {
    const keyId = parseSigned(signed)?.keyId;
    return keyId !== undefined && provesSignature(proof, signed, signingKey(keyId)) ? keyId : undefined;
  }

  /** Time at which a child key ends, by its own end or because it is revoked. */
  findEnd(path: string, keyId: string): number {
    const isRevoked = isBelowChild(path, this.makePath(keyId, [REVOKED]));
    return Math.min(readChildEnd(path), isRevoked ? EPOCH_MS + REVOKED_MS : Number.POSITIVE_INFINITY);
  }

  /** Returns the child keys that cost more than they may or than the requests and crawls of them and of those below them, or have money on hold. */
  faults(stories: readonly Pick<RequestStory, 'holdId' | 'child'>[], now: number): string[] {
    const admitted = stories.filter(({ holdId }) => holdId !== undefined);
    const paths = new Set(admitted.flatMap(({ child }) => (child === undefined ? [] : listChain(child))));
    return [...paths].flatMap((path) => {
      const below = admitted.filter(({ child }) => child !== undefined && isBelowChild(child, path));
      const sum = below.reduce((total, { holdId = '' }) => total + (this.model.costs.get(holdId) ?? 0n), 0n);
      const { spent, held } = this.model.sumUsed(this.budget, now, path);
      const limit = LIMITS[listChain(path).length - 1] ?? 0n;
      return spent === sum && held === 0n && sum <= limit
        ? []
        : [`the child key ${path} has ${spent} spent and ${held} held of ${limit}, and its requests cost ${sum}`];
    });
  }

  private makePath(keyId: string, chain: readonly number[]): string {
    return chain
      .map((name) => {
        const endsAt = EPOCH_MS + (name === EXPIRED ? EXPIRED_MS : LATER_MS);
        return `${Math.floor(endsAt / 1_000)}-${hash('sha256', `${keyId} ${name}`, 'hex').slice(0, 16)}`;
      })
      .join('.');
  }
}

/** A signing key of each key, as billing has. */
function signingKey(keyId: string): Buffer {
  return Buffer.from(hash('sha256', keyId, 'hex'), 'hex');
}
