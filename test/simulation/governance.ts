import { digestApiKey } from '#contracts/api-key.js';
import type { ResolvedKey } from '#contracts/billing/keys.js';
import { ServiceError } from '#contracts/service-error.js';
import type { Price, PriceStep, PromptPrices, TokenPrices } from '#money/price.js';
import { TEST_CALLER, testKey } from '#testing/fake-services.js';
import type { ModelBudget, SerialModel } from '../../apps/billing/test/serial-model.js';
import type { Model } from '../../apps/gateway/src/clients/catalog.js';
import { ChildKeys } from './child-keys.js';
import { atPrice, MODEL } from './nodes.js';
import type { Random } from './random.js';
import type { RequestStory } from './request-story.js';
import { PRICED_TIERS, STEPS_ABOVE } from './simulated-upstream.js';

/** Budgets of all targets. Those of a day begin anew at the midnight within the run (`EPOCH_MS`). */
const OF_ALL = { accountId: TEST_CALLER.accountId, projectId: null, keyId: null, timeZone: 'UTC', startDay: 1 } as const;
const BUDGETS: ModelBudget[] = [
  { ...OF_ALL, budgetId: 'account', period: 'day', unit: 'usd', limit: 250_000_000n },
  { ...OF_ALL, budgetId: 'project', projectId: TEST_CALLER.projectId, period: 'total', unit: 'tokens', limit: 1_200n },
  {
    ...OF_ALL,
    budgetId: 'key',
    projectId: TEST_CALLER.projectId,
    keyId: TEST_CALLER.keyId,
    period: 'total',
    unit: 'usd',
    limit: 150_000_000n,
  },
  { ...OF_ALL, budgetId: 'user', dimension: 'user', period: 'day', unit: 'usd', limit: 130_000_000n },
  { ...OF_ALL, budgetId: 'session', dimension: 'session', period: 'total', unit: 'usd', limit: 90_000_000n },
  { ...OF_ALL, budgetId: 'team', dimension: 'tag:team', period: 'day', unit: 'tokens', limit: 250n },
];
/** Counts each child key: runs with an odd number of the budgets above have it. */
const CHILD_BUDGET: ModelBudget = { ...OF_ALL, budgetId: 'child', dimension: 'child', period: 'total', unit: 'usd', limit: 60_000_000n };
const ROTATIONS = 4;
const PRICE_CHANGES = 6;
const GRACE_MS = 3_000;
/** Longest time in which a gateway learns of a price. */
const PRICE_KNOWN_MS = 1_000;

/** Facts of a request or a crawl that budgets count. */
export type Counted = Pick<RequestStory, 'index' | 'keyId' | 'child' | 'holdId' | 'heldAt' | 'usedTokens' | 'sessionLimit' | 'attribution'>;

interface Key {
  apiKey: string;
  digest: string;
  keyId: string;
}

/** Budgets of a run, and keys and prices that change while it runs. */
export class Governance {
  private readonly keys: Key[] = [];
  private readonly budgets: ModelBudget[] = [];
  private children: ChildKeys | undefined;
  /** Every price that was in force. */
  private readonly prices: Model[] = [MODEL];

  constructor(
    private readonly random: Random,
    private readonly model: SerialModel,
  ) {
    this.addKey(TEST_CALLER.keyId);
  }

  /** Adds some of the budgets. */
  limit(): void {
    for (const budget of BUDGETS) if (this.random.chance(0.5)) this.budgets.push(budget);
    if (this.budgets.length % 2 === 1) {
      this.budgets.push(CHILD_BUDGET);
      this.children = new ChildKeys(CHILD_BUDGET, this.model);
      this.children.revoke();
    }
    for (const budget of this.budgets) this.model.budgets.set(budget.budgetId, budget);
  }

  /** Replaces keys and changes prices at random times within `forMs`. `tell` is called with a price and the time until it must be known. */
  change(forMs: number, tell: (price: Model, withinMs: number) => void): void {
    for (let count = 0; count < ROTATIONS; count++) setTimeout(() => this.rotate(), this.random.between(0, forMs));
    for (let count = 0; count < PRICE_CHANGES; count++)
      setTimeout(() => tell(this.nextPrice(), PRICE_KNOWN_MS), this.random.between(0, forMs));
  }

  /** The model at its current price. */
  get priced(): Model {
    return this.prices.at(-1) as Model;
  }

  /** The newest key, or at times one that it has replaced. */
  private anyKey(): string {
    const [newest, ...older] = this.keys.toReversed();
    const key = older.length > 0 && this.random.chance(0.2) ? this.random.pick(older) : newest;
    return key?.apiKey ?? '';
  }

  /** Returns the key that a request sends, and names its child key. */
  findKey(story: Pick<Counted, 'index' | 'keyId' | 'child'>): string {
    const apiKey = this.anyKey();
    story.keyId = this.keys.find((key) => key.apiKey === apiKey)?.keyId;
    if (!this.children || story.keyId === undefined) return apiKey;
    story.child = this.children.findPath(story, story.keyId);
    return story.child === undefined ? apiKey : this.children.textOf(story.child, story.keyId);
  }

  /** Answers a look-up, as billing does. */
  resolve(keyDigest: string): ResolvedKey {
    return this.answer(this.keys.find(({ digest }) => digest === keyDigest));
  }

  /** Answers a look-up by the id of a key, as billing does. */
  find(keyId: string): ResolvedKey {
    return this.answer(this.keys.find((key) => key.keyId === keyId));
  }

  /** Answers a look-up by a child key, as billing does. */
  resolveChild(signed: string, proof: string): ResolvedKey {
    return this.answer(this.keys.find(({ keyId }) => keyId === this.children?.findKey(signed, proof)));
  }

  private answer(key: Key | undefined): ResolvedKey {
    const validForMs = this.findEnd(key?.keyId) - Date.now();
    if (!key || validForMs <= 0) throw new ServiceError('invalid_api_key', 'The API key is not valid or has been revoked.');
    return { ...TEST_CALLER, keyId: key.keyId, ...(Number.isFinite(validForMs) && { validForMs }), ...this.children?.delegate(key.keyId) };
  }

  /** Time at which a key, or a child key of it, ends. Infinity: never. */
  findEnd(keyId: string | undefined, child?: string): number {
    const end = this.model.keys.get(keyId ?? '')?.expiresAt ?? 0;
    return child === undefined || !this.children ? end : Math.min(end, this.children.findEnd(child, keyId ?? ''));
  }

  /** Returns what is wrong with the sums of the child keys. */
  childFaults(stories: readonly Counted[]): string[] {
    return this.children?.faults(stories, Date.now()) ?? [];
  }

  /** True when a budget of money counts each session, which a request may then lower. */
  get countsSessions(): boolean {
    return this.budgets.some(({ dimension }) => dimension === 'session');
  }

  /** Returns the budgets that the requests of a window, and of a value, exceed. Tokens of late settlements may. */
  exceeded(stories: readonly Counted[]): string[] {
    // Child keys have a check of their own.
    return this.budgets
      .filter(({ dimension }) => dimension !== 'child')
      .flatMap((budget) => {
        // All keys are of one lineage, so the budget of the key counts every request.
        const counted = stories.filter(({ keyId }) => keyId !== undefined);
        const measure = ({ holdId = '', usedTokens }: Counted): bigint =>
          budget.unit === 'usd' ? (this.model.costs.get(holdId) ?? 0n) : BigInt(usedTokens);
        const findWindow = ({ heldAt }: Counted): string => (budget.period === 'day' ? new Date(heldAt).toISOString().slice(0, 10) : '');
        const groups = Map.groupBy(counted, (story) => `${findWindow(story)} ${story.attribution[budget.dimension ?? ''] ?? ''}`);
        return [...groups]
          .map(([group, members]) => ({
            ...{ group, sum: members.reduce((sum, story) => sum + measure(story), 0n) },
            limit: budget.dimension === 'session' ? lowestLimit(budget.limit, members) : budget.limit,
          }))
          .filter(({ sum, limit }) => sum > limit)
          .map(({ group, sum, limit }) => `${sum} was used of the budget of the ${budget.budgetId} ${group}, which has ${limit}`);
      });
  }

  private rotate(): void {
    const old = this.model.keys.get(this.keys.at(-1)?.keyId ?? '');
    if (!old) return;
    old.expiresAt = Math.min(old.expiresAt, Date.now() + this.random.between(0, GRACE_MS));
    this.addKey(`44444444-4444-4444-8444-${String(this.keys.length).padStart(12, '0')}`);
  }

  private addKey(keyId: string): void {
    const apiKey = testKey(this.keys.length);
    this.keys.push({ apiKey, digest: digestApiKey(apiKey), keyId });
    const { projectId, keyId: rootKeyId } = TEST_CALLER;
    this.model.keys.set(keyId, { projectId, rootKeyId, disabled: false, expiresAt: Number.POSITIVE_INFINITY });
  }

  private nextPrice(): Model {
    const next = atPrice(MODEL.pinnedPrice.version + this.prices.length, this.makePrice());
    this.prices.push(next);
    return next;
  }

  private makePrice(): Price {
    const tiers = PRICED_TIERS.filter(() => this.random.chance(0.5)).map((tier) => ({ tier, ...this.makeTokenPrices() }));
    return { ...this.makeTokenPrices(), ...(tiers.length > 0 && { tiers }), requestPicoUsd: this.amount(0, 900_000) };
  }

  private makeTokenPrices(): TokenPrices {
    const steps = STEPS_ABOVE.filter(() => this.random.chance(0.5)).map((above) => this.makeStep(above));
    return { ...this.makePromptPrices(), outputPicoUsd: this.amount(200_000, 900_000), ...(steps.length > 0 && { steps }) };
  }

  private makeStep(above: number): PriceStep {
    const reprices = this.random.chance(0.5) ? 'whole' : 'excess';
    const hasOutput = reprices === 'whole' && this.random.chance(0.5);
    return { above, reprices, ...this.makePromptPrices(), ...(hasOutput && { outputPicoUsd: this.amount(200_000, 900_000) }) };
  }

  private makePromptPrices(): PromptPrices {
    return {
      ...{ inputPicoUsd: this.amount(50_000, 300_000), cachedInputPicoUsd: this.amount(5_000, 50_000) },
      ...(this.random.chance(0.7) && { cacheWritePicoUsd: this.amount(50_000, 300_000) }),
      ...(this.random.chance(0.7) && { cacheWrite1hPicoUsd: this.amount(50_000, 300_000) }),
    };
  }

  private amount(least: number, most: number): bigint {
    return BigInt(Math.floor(this.random.between(least, most)));
  }
}

/** Returns the lowest limit that the admitted requests of a session have named. */
function lowestLimit(limit: bigint, stories: readonly Counted[]): bigint {
  const named = stories.flatMap(({ holdId, sessionLimit }) => (holdId === undefined ? [] : (sessionLimit ?? [])));
  return named.reduce((least, one) => (one < least ? one : least), limit);
}
