import type { Attribution } from '#contracts/billing/attribution.js';
import type { PinnedPrice, ReserveRequest, TokenUsage } from '#contracts/billing/holds.js';
import { OUTPUT_SOURCES, PROMPT_SOURCES } from '#inference/usage.js';
import type { Batch, Settle } from '../src/batch/batch.js';
import type { Limits } from '../src/limits/rate-limit.js';
import { findTargetId, type ModelBudget, type ModelLimit } from './serial-model.js';

/** A step of random traffic, at a time of a virtual clock. */
export type Step = { now: number } & (
  | { kind: 'batch'; batch: Batch }
  | { kind: 'top-up'; accountId: string; amount: bigint }
  | { kind: 'grant'; accountId: string; grantId: string; amount: bigint; endsAt: number }
  | { kind: 'meter'; holdId: string; sequence: number; usage: TokenUsage; leaseUntil: number }
  | { kind: 'key'; keyId: string; disabled: boolean; expiresAt: number }
  | { kind: 'budget'; budget: ModelBudget }
  | { kind: 'limit'; targetId: string; limit: ModelLimit }
  | { kind: 'credit-line'; accountId: string; creditLine: bigint }
);

export interface Tenant {
  accountId: string;
  /** `rotatedKeyId` is the key that a rotation of `keyId` made; both are used. */
  projects: { projectId: string; keyId: string; rotatedKeyId: string; requestsPerMinuteMax: number; concurrencyMax: number }[];
}

/** Five minutes before a day of this zone in 2027, so that the budgets of a day reset once. */
const CLOCK_START = Date.parse('2027-01-15T07:55:00Z');
const BUDGET_ZONE = 'America/Los_Angeles';

const DAY_MS = 86_400_000;

const AMOUNT_MAX = 1_000;
const TOKENS_MAX = 200;

/** Deterministic traffic: the same seed makes the same steps. */
export class RandomTraffic {
  now = CLOCK_START;
  private sequence = 0;
  private readonly recent: { holdId: string; accountId: string }[] = [];
  private readonly reserved: ReserveRequest[] = [];
  /** Holds that no calm batch has settled yet. */
  private readonly unsettled: { holdId: string; accountId: string }[] = [];
  /** Holds with a meter reading; true when a reaper has seen them since, so that they are settled late. */
  private metered: { holdId: string; accountId: string }[] = [];
  private lost: { holdId: string; accountId: string }[] = [];
  /** Budgets whose limits the traffic changes. */
  readonly budgets: ModelBudget[] = [];
  /** Limits of tokens per minute that the traffic changes. */
  readonly limits: ModelLimit[] = [];
  /** True for customers that pay little and have credit lines, which the traffic changes. */
  hasCreditLines = false;

  constructor(
    private state: number,
    readonly tenants: Tenant[],
    /** True for small batches of reserves and settles, which can be decided from memory. */
    private readonly calm = false,
  ) {}

  /** The top-up that each customer starts with. */
  get topup(): bigint {
    return this.hasCreditLines ? 300n : 3_000n;
  }

  /** Lets the time pass until a minute after the next midnight (UTC), at which the days of services begin. */
  sleepPastMidnight(): void {
    this.now = (Math.floor(this.now / DAY_MS) + 1) * DAY_MS + 60_000;
  }

  /** Names of the services whose items are used: those of the customers, so that each seed has its own. */
  get services(): string[] {
    return ['sim-crawler', 'sim-gpu'].map((name) => `${name}-${this.tenants[0]?.accountId.slice(0, 8)}`);
  }

  next(): Step {
    this.now += this.pick([0, 1, 300, 999, 5_000, 20_000, 100_000], [4, 4, 4, 3, 2, 1, 0.5]);
    const now = this.now;
    const { accountId } = this.pickOne(this.tenants);
    const kinds = ['batch', 'top-up', 'grant', 'budget', 'limit', 'meter', 'key', 'credit-line'] as const;
    const changes = this.budgets.length > 0 ? 1 : 0;
    const limits = this.limits.length > 0 ? 1 : 0;
    const [topUps, lines] = this.hasCreditLines ? [0.2, 3] : [1, 0];
    const weights = this.calm ? [36, topUps, 1, changes, limits, 6, 1, lines] : [20, topUps, 3, changes, limits, 12, 2, lines];
    const kind = this.pick(kinds, weights);
    if (kind === 'budget')
      return {
        now,
        kind,
        budget: {
          ...this.pickOne(this.budgets.filter(({ dimension }) => dimension !== 'child')),
          limit: BigInt(this.below(8 * AMOUNT_MAX)),
        },
      };
    if (kind === 'limit') {
      const limit = this.pickOne(this.limits.filter(({ tokensPerMinuteMax }) => tokensPerMinuteMax !== null)); // a new one counts from then on
      return {
        now,
        kind,
        targetId: findTargetId(limit),
        limit: { ...limit, tokensPerMinuteMax: 1 + this.below(8 * TOKENS_MAX) },
      };
    }
    if (kind === 'top-up') return { now, kind, accountId, amount: BigInt(this.below(4 * AMOUNT_MAX)) };
    if (kind === 'credit-line') return { now, kind, accountId, creditLine: BigInt(this.below(4 * AMOUNT_MAX)) };
    if (kind === 'grant') {
      const endsAt = now + this.pickOne([1, 5_000, 60_000, 600_000, 6_000_000]);
      return { now, kind, accountId, grantId: this.uuid(), amount: BigInt(this.below(4 * AMOUNT_MAX)), endsAt };
    }
    if (kind === 'key') {
      const keyId = this.pickKey(this.pickOne(this.pickOne(this.tenants).projects));
      const expiresAt = this.pick([now, now + 1, now + 5_000, now + 60_000, Number.POSITIVE_INFINITY], [3, 3, 2, 2, 8]);
      return { now, kind, keyId, disabled: this.chance(0.2), expiresAt };
    }
    const hold = this.recent.length > 0 ? this.pickOne(this.recent) : undefined;
    if (kind === 'meter' && hold) {
      this.sequence += 1;
      this.metered.push(hold);
      return {
        now,
        kind,
        holdId: hold.holdId,
        sequence: this.sequence,
        usage: this.usage(),
        leaseUntil: now + this.pickOne([-60_000, 0, 60_000]),
      };
    }
    return { now, kind: 'batch', batch: this.batch() };
  }

  private batch(): Batch {
    if (this.calm && this.chance(0.9))
      return { settles: this.settleOnce(), reserves: Array.from({ length: this.below(4) }, () => this.reserve()) };
    const settles = this.chance(0.15) ? this.reap() : Array.from({ length: this.below(8) }, () => this.settle());
    const reserves = Array.from({ length: this.below(10) }, () => this.reserve());
    return { settles, reserves, sweeps: this.chance(0.1) ? [this.pickOne(this.tenants).accountId] : [] };
  }

  private settleOnce(): Settle[] {
    const holds = Array.from({ length: this.below(4) }, () => this.unsettled.shift()).filter((hold) => hold !== undefined);
    return holds.map((hold) => ({ ...hold, ...this.nameCaller(hold.holdId), reason: 'completed', usage: this.usage(), upstream: 'local' }));
  }

  /** A round of the reaper, with some live leases and a hold settled in the same batch. */
  private reap(): Settle[] {
    this.lost = this.metered;
    this.metered = [];
    return [...this.recent.map((hold): Settle => ({ ...hold, reason: 'lease-expired' })), this.settle()];
  }

  private settle(): Settle {
    const known = this.recent.length > 0 && this.chance(0.9);
    const among = this.lost.length > 0 && this.chance(0.3) ? this.lost : this.recent;
    const { holdId, accountId } = known ? this.pickOne(among) : this.remember(this.pickOne(this.tenants).accountId);
    const reason = this.pick(['completed', 'failed', 'client-disconnected', 'released', 'lease-expired'] as const, [6, 1, 2, 1, 3]);
    const billed = reason === 'completed' || reason === 'client-disconnected';
    const wrongAccount = this.chance(0.02);
    return {
      holdId,
      accountId: wrongAccount ? this.pickOne(this.tenants).accountId : accountId,
      reason,
      usage: billed ? this.usage() : undefined,
      upstream: 'local',
      ...this.nameCaller(holdId),
    };
  }

  /** A service ends the holds of its items. Some holds of all kinds are asked for by the wrong service. */
  private nameCaller(holdId: string): Pick<Settle, 'service'> {
    const { item } = this.makeItem(holdId);
    if (holdId.at(-3) === '0') return { service: this.services[item?.service === this.services[0] ? 1 : 0] as string };
    return item ? { service: item.service } : {};
  }

  /** A fifth of the holds is for an item of a service, whose ceilings change from one reserve to the next. */
  private makeItem(holdId: string): Pick<ReserveRequest, 'item' | 'leaseMs'> {
    const digit = Number.parseInt(holdId.at(-7) ?? '', 16);
    const other = Number.parseInt(holdId.at(-3) ?? '', 16);
    const [crawler = '', gpu = ''] = this.services;
    const leaseMs = other % 4 === 0 ? { leaseMs: 5_000 * (1 + other) } : {};
    if (digit < 2) {
      const ceilings = { dayMaxPicoUsd: other < 12 ? '2500' : '1200', openHoldsMax: 2 + (other % 3) };
      return { item: { service: crawler, quantityMax: 1 + other, ...ceilings }, ...leaseMs };
    }
    if (digit > 2) return {};
    return { item: { service: gpu, quantityMax: 1 + other, ...(other % 2 === 1 && { dayMaxPicoUsd: '900' }) }, ...leaseMs };
  }

  private reserve(): ReserveRequest {
    if (this.reserved.length > 0 && this.chance(0.05)) return this.pickOne(this.reserved);
    const reserve = this.newReserve();
    this.reserved.push(reserve);
    this.unsettled.push({ holdId: reserve.holdId, accountId: reserve.accountId });
    if (this.reserved.length > 40) this.reserved.shift();
    return reserve;
  }

  private newReserve(): ReserveRequest {
    const { accountId, projects } = this.pickOne(this.tenants);
    const project = this.pickOne(projects);
    const { projectId } = project;
    const again = this.recent.length > 0 && this.chance(0.1);
    const { holdId } = again ? this.pickOne(this.recent) : this.remember(accountId);
    const wrongKey = this.chance(0.02);
    const reserve: ReserveRequest = {
      holdId,
      accountId,
      projectId,
      keyId: this.pickKey(wrongKey ? this.pickOne(this.pickOne(this.tenants).projects) : project),
      requestId: `req-${holdId}`,
      model: holdId.endsWith('0') || holdId.endsWith('1') ? 'sim-large' : 'sim-fast',
      amountPicoUsd: String(
        this.pick([this.below(AMOUNT_MAX / 5), this.below(AMOUNT_MAX), 0, 2_000_000_000_000_000_000], [20, 10, 1, 0.2]),
      ),
      price: this.pickOne(PRICES),
      ...(this.chance(0.9) && this.tokens()),
      ...this.nameChild(holdId, this.chance(0.8) ? { ...this.attribution(), ...nameSession(holdId) } : undefined),
      ...nameSessionLimit(holdId),
    };
    const { item, leaseMs } = this.makeItem(holdId);
    if (!item) return reserve;
    const { tokensMax, amountTokens, ...others } = reserve; // items have no tokens
    return { ...others, model: `${item.service}/page-fast`, price: PRICE_OF_ITEM, item, ...(leaseMs !== undefined && { leaseMs }) };
  }

  /** Where child keys have a budget, a quarter of the requests come from one. */
  private nameChild(holdId: string, attribution: Attribution | undefined): Pick<ReserveRequest, 'attribution' | 'childLimitsPicoUsd'> {
    const digits = Number.parseInt(holdId.slice(-10, -7), 16);
    const child = this.budgets.some(({ dimension }) => dimension === 'child') ? CHILDREN[digits % 32] : undefined;
    if (child === undefined) return attribution === undefined ? {} : { attribution };
    const limits = child.split('.').map((_, depth) => String([2_000, 1_200, 500][depth]));
    return { attribution: { ...attribution, child }, ...(digits % 3 > 0 && { childLimitsPicoUsd: limits }) };
  }

  private pickKey({ keyId, rotatedKeyId }: Tenant['projects'][number]): string {
    return this.chance(0.3) ? rotatedKeyId : keyId;
  }

  private tokens() {
    const tokensMax = this.below(TOKENS_MAX);
    return { tokensMax, amountTokens: 2 * tokensMax };
  }

  private attribution(): Attribution {
    return { ...(this.chance(0.8) && { user: this.pickOne(['alice', 'bob', 'ünal']) }), 'tag:team': this.pickOne(['search', 'shop']) };
  }

  private usage(): TokenUsage {
    const scale = this.pickOne([1, 0.1]); // large usages mostly cost the whole hold
    const promptTokens = this.below(100 * scale);
    return {
      promptTokens,
      quantity: promptTokens % 20, // of a request to a model it counts nothing
      cachedTokens: this.below(60 * scale),
      ...(this.chance(0.3) && { cacheWriteTokens: this.below(50 * scale), cacheWrite1hTokens: this.below(50 * scale) }),
      ...(this.chance(0.15) && { tier: this.pickOne(['flex', 'priority', 'unknown']) }),
      outputTokens: this.below(150 * scale),
      reasoningTokens: this.below(20 * scale),
      promptSource: this.pickOne(PROMPT_SOURCES),
      outputSource: this.pickOne(OUTPUT_SOURCES),
    };
  }

  private remember(accountId: string): { holdId: string; accountId: string } {
    const hold = { holdId: this.uuid(), accountId };
    this.recent.push(hold);
    if (this.recent.length > 40) this.recent.shift();
    return hold;
  }

  uuid(): string {
    const hex = Array.from({ length: 32 }, () => this.below(16).toString(16)).join('');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
  }

  private pickOne<Value>(values: readonly Value[]): Value {
    return values[this.below(values.length)] as Value;
  }

  private pick<Value>(values: readonly Value[], weights: readonly number[]): Value {
    let rest = this.random() * weights.reduce((total, weight) => total + weight, 0);
    const position = weights.findIndex((weight) => {
      rest -= weight;
      return rest < 0;
    });
    return values.at(position) as Value;
  }

  private chance(probability: number): boolean {
    return this.random() < probability;
  }

  private below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  /** Mulberry32. */
  private random(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
}

/** Half of the requests name one of four sessions. */
function nameSession(holdId: string): Attribution {
  const digit = Number.parseInt(holdId.slice(-2, -1), 16);
  return digit < 8 ? { session: `run ${digit % 4}` } : {};
}

/** Few requests let their session cost less than its budgets do. */
function nameSessionLimit(holdId: string): Pick<ReserveRequest, 'sessionLimitPicoUsd'> {
  const digits = Number.parseInt(holdId.slice(-6, -3), 16);
  return digits % 32 === 0 ? { sessionLimitPicoUsd: String(digits) } : {};
}

const childId = (minutes: number, name: number): string => `${CLOCK_START / 1_000 + 60 * minutes}-${name.toString(16).padStart(16, '0')}`;

/** Revoked for all keys. */
export const REVOKED_CHILD = childId(5_000, 7);

/** A chain of three, another below its first child key, one that ends while the traffic goes on, one alone, and one that is revoked. */
const CHILDREN = [
  childId(10_000, 1),
  `${childId(10_000, 1)}.${childId(9_000, 2)}`,
  `${childId(10_000, 1)}.${childId(9_000, 2)}.${childId(8_000, 3)}`,
  `${childId(10_000, 1)}.${childId(9_000, 2)}.${childId(8_000, 3)}`,
  `${childId(10_000, 1)}.${childId(20, 4)}`,
  childId(5, 5),
  childId(60, 6),
  `${REVOKED_CHILD}.${childId(4_000, 8)}`,
];

const PRICE_OF_ITEM: PinnedPrice = {
  ...{ version: 10, inputPicoUsd: '0', cachedInputPicoUsd: '0', outputPicoUsd: '0' },
  requestPicoUsd: '23',
};

const PRICES: PinnedPrice[] = [
  { version: 1, inputPicoUsd: '3', cachedInputPicoUsd: '1', outputPicoUsd: '5' },
  { version: 2, inputPicoUsd: '0', cachedInputPicoUsd: '0', outputPicoUsd: '0' },
  { version: 3, inputPicoUsd: '7', cachedInputPicoUsd: '7', outputPicoUsd: '11' },
  { version: 4, inputPicoUsd: '1', cachedInputPicoUsd: '1', outputPicoUsd: '2', requestPicoUsd: '90', imagePicoUsd: '13', images: 3 },
  { version: 5, inputPicoUsd: '0', cachedInputPicoUsd: '0', outputPicoUsd: '0', requestPicoUsd: '60', imagePicoUsd: '13' },
  { version: 6, inputPicoUsd: '3', cachedInputPicoUsd: '1', cacheWritePicoUsd: '4', cacheWrite1hPicoUsd: '6', outputPicoUsd: '5' },
  { version: 7, inputPicoUsd: '3', cachedInputPicoUsd: '1', cacheWritePicoUsd: '0', outputPicoUsd: '5' },
  {
    ...{ version: 8, inputPicoUsd: '3', cachedInputPicoUsd: '1', cacheWritePicoUsd: '4', outputPicoUsd: '5' },
    steps: [
      { above: 5, reprices: 'excess', inputPicoUsd: '9', cachedInputPicoUsd: '2' },
      { above: 20, reprices: 'whole', inputPicoUsd: '2', cachedInputPicoUsd: '1', cacheWrite1hPicoUsd: '7', outputPicoUsd: '1' },
      { above: 60, reprices: 'excess', inputPicoUsd: '4', cachedInputPicoUsd: '3' },
    ],
  },
  {
    ...{ version: 9, inputPicoUsd: '3', cachedInputPicoUsd: '1', outputPicoUsd: '5', requestPicoUsd: '7', imagePicoUsd: '2', images: 1 },
    imageSteps: [{ aboveBytes: 9, imagePicoUsd: '11', images: 2 }],
    tiers: [
      { tier: 'flex', inputPicoUsd: '1', cachedInputPicoUsd: '0', outputPicoUsd: '2' },
      {
        ...{ tier: 'priority', inputPicoUsd: '6', cachedInputPicoUsd: '2', cacheWritePicoUsd: '8', outputPicoUsd: '10' },
        steps: [{ above: 10, reprices: 'whole', inputPicoUsd: '7', cachedInputPicoUsd: '3' }],
      },
    ],
  },
];

/** Returns the keys of a project with the first of their rotations. */
export function listKeys({ keyId, rotatedKeyId }: Tenant['projects'][number]): { keyId: string; rootKeyId: string }[] {
  return [keyId, rotatedKeyId].map((id) => ({ keyId: id, rootKeyId: keyId }));
}

/** Returns two customers: one with tight limits and a roomy project, one alone. Ids depend on the seed. */
export function makeTenants(traffic: { uuid(): string }): Tenant[] {
  const project = (requestsPerMinuteMax: number, concurrencyMax: number): Tenant['projects'][number] => ({
    projectId: traffic.uuid(),
    keyId: traffic.uuid(),
    rotatedKeyId: traffic.uuid(),
    requestsPerMinuteMax,
    concurrencyMax,
  });
  return [
    { accountId: traffic.uuid(), projects: [project(6, 100), project(1_000, 3)] },
    { accountId: traffic.uuid(), projects: [project(1_000, 1_000)] },
  ];
}

/** Returns budgets of each level and period, which bind at times. The second customer has few. */
export function makeBudgets(traffic: { uuid(): string }, [first, second]: readonly Tenant[]): ModelBudget[] {
  const budget = (
    tenant: Tenant | undefined,
    period: ModelBudget['period'],
    limit: bigint,
    of?: { projectId: string; keyId?: string },
    values: Partial<Pick<ModelBudget, 'dimension' | 'value' | 'unit' | 'startDay'>> = {},
  ): ModelBudget => ({
    budgetId: traffic.uuid(),
    accountId: tenant?.accountId ?? '',
    projectId: of?.projectId ?? null,
    keyId: of?.keyId ?? null,
    startDay: 1,
    unit: 'usd',
    ...values,
    period,
    timeZone: BUDGET_ZONE,
    limit,
  });
  const [tight, roomy] = first?.projects ?? [];
  const [alone] = second?.projects ?? [];
  // Named without a draw, so that the traffic stays as it was.
  const ofChildren = (tenant: Tenant | undefined, limit: bigint, digit: string, values: Partial<ModelBudget> = {}): ModelBudget => ({
    ...{ budgetId: `${tenant?.accountId.slice(0, -1)}${digit}`, accountId: tenant?.accountId ?? '', projectId: null, keyId: null },
    ...{ dimension: 'child', period: 'total', timeZone: BUDGET_ZONE, startDay: 1, unit: 'usd', limit, ...values },
  });
  return [
    budget(first, 'day', 4_000n),
    budget(first, 'total', 3_000n),
    budget(first, 'day', 1_500n, tight && { projectId: tight.projectId }),
    budget(first, 'month', 500n, roomy),
    budget(second, 'week', 8_000n),
    budget(second, 'day', 2_000n, alone && { projectId: alone.projectId }),
    budget(first, 'day', 900n, undefined, { dimension: 'user' }),
    budget(first, 'week', 700n, undefined, { dimension: 'tag:team', value: 'shop' }),
    budget(second, 'month', 3_000n, undefined, { dimension: 'tag:team' }),
    budget(second, 'day', 600n, alone && { projectId: alone.projectId }, { dimension: 'user' }),
    budget(second, 'day', 400n, alone && { projectId: alone.projectId }, { dimension: 'user', value: 'bob' }),
    budget(first, 'day', 5_000n, undefined, { unit: 'tokens' }),
    budget(first, 'month', 2_500n, tight, { unit: 'tokens', startDay: 16 }),
    budget(second, 'week', 8_000n, undefined, { unit: 'tokens', startDay: 6 }),
    budget(second, 'day', 1_000n, undefined, { dimension: 'user', unit: 'tokens' }),
    budget(first, 'total', 1_500n, tight && { projectId: tight.projectId }, { dimension: 'session' }),
    budget(second, 'day', 3_000n, undefined, { dimension: 'session' }),
    ofChildren(first, 1_800n, '1'),
    ofChildren(first, 1_000n, '2', { projectId: tight?.projectId ?? null, keyId: tight?.keyId ?? null }),
    ofChildren(second, 4_000n, '1'),
    ofChildren(second, 1_000n, '2', { unit: 'tokens' }),
  ];
}

/** Returns limits that bind at times: of keys, projects and accounts, per minute and at once. */
export function makeLimits([first, second]: readonly Tenant[]): ModelLimit[] {
  const limit = (tenant: Tenant | undefined, position: number, ofKey: boolean, limits: Partial<Limits>): ModelLimit => {
    const { projectId = '', keyId = '' } = tenant?.projects[position] ?? {};
    const none = { requestsPerMinuteMax: null, concurrencyMax: null, tokensPerMinuteMax: null };
    return { accountId: tenant?.accountId ?? '', projectId, keyId: ofKey ? keyId : null, ...none, ...limits };
  };
  const ofAccount = (tenant: Tenant | undefined, limits: Partial<Limits>): ModelLimit => ({
    ...limit(tenant, 0, false, limits),
    projectId: null,
  });
  return [
    limit(first, 0, true, { requestsPerMinuteMax: 5, tokensPerMinuteMax: 500 }),
    limit(first, 1, true, { concurrencyMax: 2, modelLimits: [{ model: 'sim-*', requestsPerMinuteMax: 3, tokensPerMinuteMax: 350 }] }),
    limit(first, 1, false, { tokensPerMinuteMax: 900 }),
    limit(second, 0, true, { requestsPerMinuteMax: 12, tokensPerMinuteMax: 700 }),
    limit(second, 0, false, {
      tokensPerMinuteMax: 800,
      modelLimits: [
        { model: 'sim-large', tokensPerMinuteMax: 250 },
        { model: '*-fast', requestsPerMinuteMax: 11 },
      ],
    }),
    ofAccount(first, { requestsPerMinuteMax: 7, concurrencyMax: 6, tokensPerMinuteMax: 1_100 }),
    ofAccount(second, { modelLimits: [{ model: 'sim-*', requestsPerMinuteMax: 12, tokensPerMinuteMax: 750 }] }),
  ];
}
