import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { BudgetUnit } from '#contracts/billing/budgets.js';
import { keyUpdate } from '#contracts/billing/keys.js';
import { ledgerCheck } from '#contracts/billing/ledger.js';
import { adjustmentCreate } from '#contracts/billing/money.js';
import { projectUpdate } from '#contracts/billing/projects.js';
import type { RequestEstimate } from '#contracts/gateway.js';
import { picoUsd, renderUsd } from '#money/pico-usd.js';
import { LAYOUTS } from '#testing/stack.js';
import { createTenant, readBalance, type Tenant, untilNoHolds } from '#testing/tenant.js';
import { tell } from './chaos-client.js';
import { crowd, crowdRequest, makeUserRequests } from './crowd.js';
import { expectExact, expectOutcomes, mostAtOnce, mostInAMinute, sumAmounts, type Used, usedBy } from './judge-governance.js';
import { ManyReplicas } from './many-replicas.js';
import { AMOUNT_OF, type BudgetTerms, SCOPES, type Scope, setBudgetTo } from './scopes.js';

/**
 * Budgets and limits are exact for 500 clients at once, in three formats, over 4 gateways and 3 billing services, or 2 replicas of all in one
 * process, while processes are killed. The journals are the judge. Takes a quarter of an hour in each layout: `npm run test:long -- governance`.
 */
const BEFORE_RESET_MS = 10_000;
const AFTER_RESET_MS = 12_000;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const SETTLED_MS = 60_000;

describe.each(LAYOUTS)('%s', (layout) => {
  let system: ManyReplicas;
  let database: pg.Client;
  beforeAll(async () => {
    system = await ManyReplicas.start({ layout, makeEnv: () => ({ LEASE_MS: '15000' }) });
    database = new pg.Client({ connectionString: system.stack.databaseUrl });
    await database.connect();
  });
  afterAll(async () => {
    await database?.end();
    await system?.stop();
  });

  /** Lets the crowd work for `forMs`. Returns what its requests used, when all have ended. */
  async function afterCrowd(tenant: Tenant, forMs: number, refusal: string): Promise<Used[]> {
    const stories = await crowd(system, tenant, forMs);
    await untilNoHolds(system.administrator, tenant.accountId, SETTLED_MS);
    expectOutcomes(stories, refusal);
    expect(await system.administrator.request(ledgerCheck, {})).toMatchObject({ violations: [] });
    return usedBy(database, tenant);
  }

  const MOST_OF = {
    usd: ({ heldPicoUsd }: RequestEstimate) => BigInt(heldPicoUsd),
    tokens: ({ promptTokensMax, outputTokensMax }: RequestEstimate) => BigInt(promptTokensMax + outputTokensMax),
  };

  const setBudget = (tenant: Tenant, budget: BudgetTerms, unit: BudgetUnit, to: bigint) =>
    setBudgetTo(system.administrator, tenant, budget, unit, to);
  /** The limit of all groups together: some 400 requests. */
  const LIMITS: Record<BudgetUnit, bigint> = { usd: 3_000_000_000n, tokens: 10_000n };

  const BUDGETS = (Object.keys(SCOPES) as Scope[]).flatMap((target) => (['usd', 'tokens'] as const).map((unit) => [target, unit] as const));

  test.each(BUDGETS)('the budget of %s in %s holds in both days of a reset, and has no false refusals', async (target, unit) => {
    const tenant = await createTenant(system.administrator);
    const { scope, readGroup, share } = SCOPES[target];
    const limit = LIMITS[unit] / BigInt(share);
    const setLimit = (to: bigint) => setBudget(tenant, { ...scope(tenant), period: 'day' }, unit, to);
    await setLimit(limit);
    const reset = await resetSoon(tenant);
    await delay(reset - BEFORE_RESET_MS - Date.now());
    const used = await afterCrowd(tenant, reset + AFTER_RESET_MS - Date.now(), 'refused 402');

    const findDay = ({ reservedAt }: Used): string => (reservedAt < reset ? 'before' : 'after');
    const groups = Map.groupBy(used, (one) => `${findDay(one)} ${readGroup(one)}`);
    const sums = [...groups].map(([group, members]) => ({ group, sum: sumAmounts(members, AMOUNT_OF[unit]) }));
    expect([...new Set(used.map(findDay))]).toEqual(['before', 'after']);
    expect(sums.filter(({ sum }) => sum > limit)).toEqual([]);

    const stories = makeUserRequests(system, tenant);
    const asked = { user: stories[0]?.ask.user, session: stories[0]?.ask.session, team: 'team-0' } as Used;
    const leave = async (amount: bigint) => {
      const now = (await usedBy(database, tenant)).filter((one) => one.reservedAt >= reset && readGroup(one) === readGroup(asked));
      await setLimit(sumAmounts(now, AMOUNT_OF[unit]) + amount);
    };
    await expectExact(system.administrator, stories, { estimateMost: MOST_OF[unit], leave, status: 402 });
  });

  /** Moves the account's budget to a zone whose day ends soon. Call it before the first request. Returns the end in milliseconds. */
  async function resetSoon({ accountId }: Tenant): Promise<number> {
    const reset = Math.ceil((Date.now() + BEFORE_RESET_MS) / MINUTE_MS) * MINUTE_MS;
    const minutes = (DAY_MS - (reset % DAY_MS)) / MINUTE_MS;
    // An offset as a zone: the API takes names only, whose days end at whole hours.
    const [sign, offset] = minutes > 14 * 60 ? ['-', 24 * 60 - minutes] : ['+', minutes];
    const zone = `${sign}${String(Math.floor(offset / 60)).padStart(2, '0')}:${String(offset % 60).padStart(2, '0')}`;
    await database.query('BEGIN');
    await database.query(
      `UPDATE billing.budget SET time_zone = $2, window_start = to_timestamp($3::float8), window_end = to_timestamp($4::float8) WHERE account_id = $1`,
      [accountId, zone, (reset - DAY_MS) / 1_000, reset / 1_000],
    );
    await database.query(
      `SELECT billing.record_audit('{"actor": "test"}', 'test', account_id, 'budget/' || id, NULL, NULL, NULL) FROM billing.budget WHERE account_id = $1`,
      [accountId],
    );
    await database.query('COMMIT');
    return reset;
  }

  test('budgets of every target and period at once all hold', async () => {
    const tenant = await createTenant(system.administrator);
    const budgets = [
      { target: 'account', period: 'month', unit: 'usd', limit: 2_400_000_000n },
      { target: 'project', period: 'week', unit: 'tokens', limit: 6_000n },
      { target: 'key', period: 'total', unit: 'usd', limit: 2_500_000_000n },
      { target: 'each user', period: 'day', unit: 'usd', limit: 150_000_000n },
      { target: 'each session', period: 'total', unit: 'usd', limit: 250_000_000n },
      { target: 'each team', period: 'total', unit: 'tokens', limit: 1_600n },
    ] as const;
    for (const { target, period, unit, limit } of budgets)
      await setBudget(tenant, { ...SCOPES[target].scope(tenant), period }, unit, limit);
    const used = await afterCrowd(tenant, 15_000, 'refused 402');
    const exceeded = budgets.filter(({ target, unit, limit }) =>
      [...Map.groupBy(used, SCOPES[target].readGroup).values()].some((members) => sumAmounts(members, AMOUNT_OF[unit]) > limit),
    );
    expect(exceeded).toEqual([]);

    // Each of them alone decides whether one more request fits.
    const [story] = makeUserRequests(system, tenant);
    const asked = { user: story?.ask.user, session: story?.ask.session, team: 'team-0' } as Used;
    const setLeft = async ({ target, period, unit }: (typeof budgets)[number], left: bigint) => {
      const { scope, readGroup } = SCOPES[target];
      const now = (await usedBy(database, tenant)).filter((one) => readGroup(one) === readGroup(asked));
      await setBudget(tenant, { ...scope(tenant), period }, unit, sumAmounts(now, AMOUNT_OF[unit]) + left);
    };
    const ample = 10n ** 12n;
    for (const budget of budgets) await setLeft(budget, ample);
    for (const budget of budgets) {
      const leave = (amount: bigint) => setLeft(budget, amount);
      await expectExact(system.administrator, story ? [story] : [], { estimateMost: MOST_OF[budget.unit], leave, status: 402 });
      await setLeft(budget, ample);
    }
  });

  test('the money of an account is never overspent, and has no false refusals', async () => {
    const tenant = await createTenant(system.administrator, { usd: '0.003' });
    const used = await afterCrowd(tenant, 15_000, 'refused 402');
    const balance = async () => BigInt((await readBalance(system.gatewayUrl(0), tenant.apiKey)).balance_pico_usd);
    expect(await balance()).toBe(3_000_000_000n - sumAmounts(used, AMOUNT_OF.usd));
    const leave = async (amount: bigint) => {
      const change = amount - (await balance());
      const adjustment = { accountId: tenant.accountId, adjustmentId: randomUUID(), usd: renderUsd(picoUsd(change)), reason: 'test' };
      if (change !== 0n) await system.administrator.request(adjustmentCreate, adjustment);
    };
    await expectExact(system.administrator, makeUserRequests(system, tenant), { estimateMost: MOST_OF.usd, leave, status: 402 });
  });

  interface LimitKind {
    set(tenant: Tenant, limit: number): Promise<unknown>;
    measure(used: Used): bigint;
    estimateMost(estimate: RequestEstimate): bigint;
    limit: number;
  }

  const requests = { measure: () => 1n, estimateMost: () => 1n, limit: 200 };
  const tokens = {
    measure: AMOUNT_OF.tokens,
    estimateMost: ({ promptTokensEstimate, outputTokensMax }: RequestEstimate) => BigInt(promptTokensEstimate + outputTokensMax),
    limit: 5_000,
  };
  const setProject = ({ projectId }: Tenant, limits: object) => system.administrator.request(projectUpdate, { projectId, ...limits });
  const setKey = ({ keyId }: Tenant, limits: object) => system.administrator.request(keyUpdate, { keyId, ...limits });
  const LIMIT_KINDS: Record<string, LimitKind> = {
    'requests per minute of the project': {
      ...requests,
      set: (tenant, requestsPerMinuteMax) => setProject(tenant, { requestsPerMinuteMax }),
    },
    'requests per minute of the key': { ...requests, set: (tenant, requestsPerMinuteMax) => setKey(tenant, { requestsPerMinuteMax }) },
    'requests per minute of a model': {
      ...requests,
      set: (tenant, requestsPerMinuteMax) => setProject(tenant, { modelLimits: [{ model: 'sim-*', requestsPerMinuteMax }] }),
    },
    'tokens per minute of the project': { ...tokens, set: (tenant, tokensPerMinuteMax) => setProject(tenant, { tokensPerMinuteMax }) },
    'tokens per minute of the key': { ...tokens, set: (tenant, tokensPerMinuteMax) => setKey(tenant, { tokensPerMinuteMax }) },
    'tokens per minute of a model': {
      ...tokens,
      set: (tenant, tokensPerMinuteMax) => setProject(tenant, { modelLimits: [{ model: 'sim-*', tokensPerMinuteMax }] }),
    },
  };

  test.each(Object.entries(LIMIT_KINDS))(
    '%s are never exceeded, and have no false refusals',
    async (_name, { set, measure, estimateMost, limit }) => {
      const tenant = await createTenant(system.administrator);
      const stories = makeUserRequests(system, tenant);
      await set(tenant, limit);
      await tell(crowdRequest(system, tenant, 0)); // so that less is left than the limit
      const leave = async (amount: bigint) => set(tenant, Number(sumAmounts(await usedBy(database, tenant), measure) + amount));
      await expectExact(system.administrator, stories, { estimateMost, leave, status: 429 });

      await set(tenant, limit);
      const used = await afterCrowd(tenant, MINUTE_MS + 6_000, 'refused 429');
      const most = mostInAMinute(used, measure);
      expect(most).toBeLessThanOrEqual(BigInt(limit));
      // The limit was used, and the second minute began to use it again.
      expect(most).toBeGreaterThan(BigInt(limit * 0.7));
      expect(sumAmounts(used, measure)).toBeGreaterThan(most);
    },
  );

  test.each([
    ['project', setProject],
    ['key', setKey],
  ])('no more requests run at once than the %s may have, and every end makes room', async (_target, set) => {
    const tenant = await createTenant(system.administrator);
    await set(tenant, { concurrencyMax: 12 });
    const used = await afterCrowd(tenant, 15_000, 'refused 429');
    expect(mostAtOnce(used)).toBe(12);
    await set(tenant, { concurrencyMax: 1 });
    for (const story of makeUserRequests(system, tenant)) {
      await tell(story);
      expect(story.outcome).toMatchObject({ kind: 'completed' });
    }
  });
});
