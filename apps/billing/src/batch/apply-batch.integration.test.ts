import type { PgConnection } from '#database/pg-connection.js';
import { picoUsd, renderUsd } from '#money/pico-usd.js';
import { longOr } from '#testing/long-run.js';
import { LedgerFixture, TIMES } from '../../test/ledger-fixture.js';
import {
  listKeys,
  makeBudgets,
  makeLimits,
  makeTenants,
  RandomTraffic,
  REVOKED_CHILD,
  type Step,
  type Tenant,
} from '../../test/random-traffic.js';
import { findTargetId, type ModelAccount, type ModelBudget, type ModelLimit, SerialModel } from '../../test/serial-model.js';
import { updateAccount } from '../accounts/accounts.js';
import { windowAt } from '../calendar/budget-window.js';
import { grantPlan } from '../ledger/grant-plan.js';
import { topUp } from '../ledger/top-up.js';
import { applyBatch } from './apply-batch.js';
import { billableUsage } from './hold.js';

/** Each seed is the history of two customers. Odd seeds have budgets, two of four rate limits, and one of three credit lines. */
const SEEDS = longOr(10, 500);
const SEEDS_IN_MEMORY = longOr(4, 300);
const SEEDS_WITHOUT_MEMORY = longOr(2, 50);
const STEPS = 80;
/** Steps between two ledger checks, which read all rows: a violation stays until the next. */
const STEPS_A_CHECK = longOr(20, 4);
const SEEDS_A_DATABASE = 4;

let ledger: LedgerFixture;
let lane: PgConnection;
/** Time of the only checkpoint of a database: it is made anew when its sums are wrong. */
let madeAt: string | undefined;
/** Number of batches, and of those that took the lock. */
let batches = 0;
let locked = 0;
/** Batches of all seeds that were decided from memory. */
let fromMemory = 0;
beforeAll(openDatabase);
afterAll(() => ledger.close());

async function openDatabase(): Promise<void> {
  ledger = await LedgerFixture.open();
  lane = await openLane();
  ({ madeAt } = await ledger.sinceCheckpoint());
}

async function openLane(): Promise<PgConnection> {
  const connection = await ledger.connect();
  const query = connection.query.bind(connection) as (...args: unknown[]) => unknown;
  connection.query = ((statement: { name?: string }, ...rest: unknown[]) => {
    if (statement.name === 'lock_accounts') locked += 1;
    return query(statement, ...rest);
  }) as typeof connection.query;
  return connection;
}

test.each(Array.from({ length: SEEDS }, (_, seed) => seed + 1_000))(
  'seed %i: Postgres equals the serial model, and every invariant holds',
  async (seed) => {
    if (seed % SEEDS_A_DATABASE === 0) {
      await ledger.close();
      await openDatabase();
    }
    await takeAll(new RandomTraffic(seed, []), seed);
  },
);

test.each(Array.from({ length: SEEDS_IN_MEMORY }, (_, seed) => seed + 5_000))(
  'seed %i: batches decided from memory equal the serial model',
  async (seed) => {
    batches = 0;
    locked = 0;
    await takeAll(new RandomTraffic(seed, [], true), seed);
    fromMemory += batches - locked;
  },
  60_000,
);

test('batches of these seeds were decided from memory', () => {
  expect(fromMemory).toBeGreaterThan(SEEDS_IN_MEMORY);
});

test.each(Array.from({ length: SEEDS_WITHOUT_MEMORY }, (_, seed) => seed + 6_000))(
  'seed %i: such batches do so too when each has a connection of its own, and so none is decided from memory',
  async (seed) => {
    batches = 0;
    locked = 0;
    await takeAll(new RandomTraffic(seed, [], true), seed, async () => {
      await lane.end();
      lane = await openLane();
    });
    expect(locked).toBe(batches);
  },
  60_000,
);

async function takeAll(traffic: RandomTraffic, seed: number, between?: () => Promise<void>): Promise<void> {
  const tenants = makeTenants(traffic);
  traffic.tenants.push(...tenants);
  const model = new SerialModel(TIMES);
  traffic.hasCreditLines = seed % 3 === 0;
  for (const tenant of tenants) await open(tenant, traffic.topup, model);
  if (seed % 2 === 1) traffic.budgets.push(...makeBudgets(traffic, tenants));
  for (const budget of traffic.budgets) await addBudget(budget, model, traffic.now);
  if (seed % 4 >= 2) traffic.limits.push(...makeLimits(tenants));
  for (const limit of traffic.limits) await addLimit(limit, model);
  for (let count = 1; count <= STEPS; count++) {
    if (count === STEPS / 2 && seed % 4 === 0) traffic.sleepPastMidnight();
    const step = traffic.next();
    await take(step, model);
    await between?.();
    if (count % STEPS_A_CHECK === 0) {
      expect(await ledger.violations()).toEqual([]);
      expect(await ledger.sinceCheckpoint()).toEqual({ violations: [], madeAt });
    }
    for (const service of traffic.services) expect(await readService(service, step.now)).toEqual(model.sumService(service, step.now));
    for (const { accountId } of tenants) expect(await readFunds(accountId)).toEqual(modelFunds(model, accountId));
    const budgets = [...model.budgets.values()];
    const used = budgets
      .filter(({ dimension }) => dimension === undefined)
      .map((budget) => ({ id: budget.budgetId, ...model.sumUsed(budget, step.now) }));
    if (used.length > 0) expect(await readUsed(tenants, step.now)).toEqual(used.sort((a, b) => (a.id < b.id ? -1 : 1)));
    for (const budget of budgets.filter(({ dimension }) => dimension !== undefined)) {
      expect(await readValues(budget, step.now)).toEqual(valuesUsed(model, budget, step.now));
    }
  }
}

async function take(step: Step, model: SerialModel): Promise<void> {
  switch (step.kind) {
    case 'batch': {
      batches += 1;
      const { outcomes } = await applyBatch(lane, step.batch, TIMES, step.now);
      expect(outcomes).toEqual(model.apply(step.batch, step.now));
      return;
    }
    case 'top-up': {
      const { accountId, amount } = step;
      await topUp(ledger.sql, { accountId, amount: picoUsd(amount), paymentId: crypto.randomUUID() });
      (model.accounts.get(accountId) as ModelAccount).topup += amount;
      return;
    }
    case 'grant': {
      const { accountId, grantId, amount, endsAt } = step;
      await grantPlan(ledger.sql, { accountId, grantId, amount: picoUsd(amount), endsAt: new Date(endsAt) });
      model.grant(accountId, grantId, amount, endsAt);
      return;
    }
    case 'meter': {
      const { promptTokens, cachedTokens, cacheWriteTokens, cacheWrite1hTokens, outputTokens, tier } = billableUsage(step.usage);
      await ledger.sql.query(
        `UPDATE billing.hold SET meter_sequence = $2, meter_prompt_tokens = $3, meter_cached_tokens = $4, meter_output_tokens = $5,
           lease_until = $6, meter_cache_write_tokens = $7, meter_cache_write_1h_tokens = $8, meter_tier = $9,
           meter_quantity = $10 WHERE id = $1`,
        [
          ...[step.holdId, step.sequence, promptTokens, cachedTokens, outputTokens, new Date(step.leaseUntil)],
          ...[cacheWriteTokens ?? null, cacheWrite1hTokens ?? null, tier ?? null, step.usage.quantity],
        ],
      );
      Object.assign(model.holds.get(step.holdId) ?? {}, { meter: step.usage, leaseUntil: step.leaseUntil });
      return;
    }
    case 'key': {
      const { keyId, disabled, expiresAt } = step;
      const end = Number.isFinite(expiresAt) ? new Date(expiresAt) : null;
      await ledger.sql.query('UPDATE billing.api_key SET disabled = $2, expires_at = $3 WHERE id = $1', [keyId, disabled, end]);
      Object.assign(model.keys.get(keyId) ?? {}, { disabled, expiresAt });
      return;
    }
    case 'budget': {
      const { budgetId, limit } = step.budget;
      await ledger.sql.query('UPDATE billing.budget SET limit_amount = $2 WHERE id = $1', [budgetId, String(limit)]);
      Object.assign(model.budgets.get(budgetId) ?? {}, { limit });
      return;
    }
    case 'credit-line': {
      const { accountId, creditLine } = step;
      const changing = updateAccount(ledger.prisma, { accountId, creditLineUsd: renderUsd(picoUsd(creditLine)) });
      const outcome = await changing.then(
        () => true,
        ({ code }) => (code === 'conflict' ? false : code),
      );
      expect(outcome).toBe(model.setCreditLine(accountId, creditLine));
      return;
    }
    case 'limit': {
      const { tokensPerMinuteMax } = step.limit;
      await ledger.sql.query('UPDATE billing.rate_limit SET tokens_per_minute_max = $2 WHERE id = $1', [step.targetId, tokensPerMinuteMax]);
      Object.assign(model.limits.get(step.targetId) ?? {}, { tokensPerMinuteMax });
    }
  }
}

async function open({ accountId, projects }: Tenant, topup: bigint, model: SerialModel): Promise<void> {
  await ledger.sql.query('INSERT INTO billing.account (id, name) VALUES ($1, $2)', [accountId, 'test']);
  await topUp(ledger.sql, { accountId, amount: picoUsd(topup), paymentId: accountId });
  model.accounts.set(accountId, { topup, plan: 0n, grant: null, creditLine: 0n });
  for (const project of projects) {
    const { projectId, requestsPerMinuteMax, concurrencyMax } = project;
    await ledger.sql.query(
      `INSERT INTO billing.project (id, account_id, name, requests_per_minute_max, concurrency_max) VALUES ($1, $2, 'test', $3, $4)`,
      [projectId, accountId, requestsPerMinuteMax, concurrencyMax],
    );
    model.projects.set(projectId, { accountId, enabled: true, admitted: [], requestsPerMinuteMax, concurrencyMax });
    for (const { keyId, rootKeyId } of listKeys(project)) {
      await ledger.sql.query(
        `INSERT INTO billing.api_key (id, project_id, digest, last_four, root_key_id, revoked_children)
           VALUES ($1, $2, sha256($3), 'abcd', $4, $5)`,
        [keyId, projectId, Buffer.from(keyId), keyId === rootKeyId ? null : rootKeyId, [REVOKED_CHILD]],
      );
      model.keys.set(keyId, {
        projectId,
        rootKeyId,
        disabled: false,
        expiresAt: Number.POSITIVE_INFINITY,
        revokedChildren: [REVOKED_CHILD],
      });
    }
  }
}

async function addBudget(budget: ModelBudget, model: SerialModel, now: number): Promise<void> {
  const { budgetId, accountId, projectId, keyId, dimension, value, period, timeZone, startDay, unit, limit } = budget;
  const { windowStart, windowEnd } = windowAt(period, timeZone, now, startDay);
  const [start, end] = period === 'total' ? ['-infinity', 'infinity'] : [new Date(windowStart), new Date(windowEnd)];
  await ledger.sql.query(
    `INSERT INTO billing.budget
       (id, account_id, project_id, key_id, period, time_zone, limit_amount, spent, held, window_start, window_end, dimension, value,
        thresholds, start_day, unit)
     VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 0, $8, $9, $10, $11, $12, $13, $14)`,
    [
      budgetId,
      accountId,
      projectId,
      keyId,
      period,
      timeZone,
      String(limit),
      start,
      end,
      dimension,
      value,
      dimension ? [] : [50, 80, 100],
      startDay,
      unit,
    ],
  );
  model.budgets.set(budgetId, { ...budget });
}

async function addLimit(limit: ModelLimit, model: SerialModel): Promise<void> {
  const { accountId, projectId, keyId, requestsPerMinuteMax, concurrencyMax, tokensPerMinuteMax, modelLimits } = limit;
  const id = findTargetId(limit);
  await ledger.sql.query(
    `INSERT INTO billing.rate_limit
       (id, account_id, project_id, key_id, requests_per_minute_max, concurrency_max, tokens_per_minute_max, open_holds, model_limits)
     VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8)`,
    [id, accountId, projectId, keyId, requestsPerMinuteMax, concurrencyMax, tokensPerMinuteMax, modelLimits && JSON.stringify(modelLimits)],
  );
  model.limits.set(id, { ...limit });
}

/** Returns what is spent and held in budgets at a time: nothing when the window is over, and no request has begun the next. */
async function readUsed(tenants: readonly Tenant[], now: number): Promise<unknown> {
  const { rows } = await ledger.sql.query<{ id: string; spent: string; held: string }>(
    `SELECT id, CASE WHEN window_end > $2 THEN spent ELSE 0 END AS spent, CASE WHEN window_end > $2 THEN held ELSE 0 END AS held
     FROM billing.budget WHERE account_id = ANY ($1) AND dimension IS NULL ORDER BY id`,
    [tenants.map(({ accountId }) => accountId), new Date(now)],
  );
  return rows.map(({ id, spent, held }) => ({ id, spent: BigInt(spent), held: BigInt(held) }));
}

/** Returns what the users or tags of a budget have spent and hold in the window of a time. */
async function readValues({ budgetId, dimension, period, timeZone, startDay }: ModelBudget, now: number): Promise<Map<string, unknown>> {
  const { windowEnd } = windowAt(period, timeZone, now, startDay);
  const { rows } = await ledger.sql.query<{ value: string; spent: string; held: string }>(
    `SELECT value, spent, held FROM billing.budget_value WHERE budget_id = $1 AND ($3 OR window_end = $2) AND (spent > 0 OR held > 0) ORDER BY value`,
    [budgetId, Number.isFinite(windowEnd) ? new Date(windowEnd) : 'infinity', dimension === 'child'],
  );
  return new Map(rows.map(({ value, spent, held }) => [value, { spent: BigInt(spent), held: BigInt(held) }]));
}

function valuesUsed(model: SerialModel, budget: ModelBudget, now: number): Map<string, unknown> {
  return new Map([...model.usedByValue(budget, now)].filter(([value]) => value === (budget.value ?? value)));
}

/** Returns what a service has spent on the day of a time, holds and has open. */
async function readService(service: string, now: number): Promise<unknown> {
  const { rows } = await ledger.sql.query<{ spent: string; held: string; openHolds: number }>(
    `SELECT CASE WHEN day + interval '1 day' > $2 THEN spent ELSE 0 END AS spent, held, open_holds AS "openHolds"
     FROM billing.service_use WHERE service = $1`,
    [service, new Date(now)],
  );
  const { spent = 0, held = 0, openHolds = 0 } = rows[0] ?? {};
  return { spent: BigInt(spent), held: BigInt(held), openHolds };
}

async function readFunds(accountId: string): Promise<unknown> {
  const { rows } = await ledger.sql.query(
    `SELECT topup::text, topup_held::text, plan::text, plan_held::text, expired::text, open_holds, grant_id,
       extract(epoch FROM grant_ends_at)::float8 * 1000 AS ends_at FROM billing.account WHERE id = $1`,
    [accountId],
  );
  return rows[0];
}

function modelFunds(model: SerialModel, accountId: string): unknown {
  const { topup, plan, grant } = model.accounts.get(accountId) as ModelAccount;
  const { topupHeld, planHeld, expired, openHolds } = model.countHeld(accountId);
  return {
    topup: String(topup),
    topup_held: String(topupHeld),
    plan: String(plan),
    plan_held: String(planHeld),
    expired: String(expired),
    open_holds: openHolds,
    grant_id: grant?.id ?? null,
    ends_at: grant?.endsAt ?? null,
  };
}
