import type { ExceededBudget, ReserveOutcome, ReserveRequest } from '#contracts/billing/holds.js';
import { longOr } from '#testing/long-run.js';
import { makeUsage, PRICE } from '../../test/ledger-fixture.js';
import { MemoryLedger } from '../../test/memory-ledger.js';
import { listKeys, makeBudgets, makeLimits, makeTenants, RandomTraffic, REVOKED_CHILD, type Tenant } from '../../test/random-traffic.js';
import { findTargetId, type ModelAccount, type ModelBudget, SerialModel } from '../../test/serial-model.js';
import { endGrant, sumAvailable } from '../balance/funds.js';
import type { BudgetState } from '../budgets/budget.js';
import { windowAt } from '../calendar/budget-window.js';
import type { AccountState, Settle } from './batch.js';
import { serviceAt } from './service-state.js';

type LimitRefusal = Extract<ReserveOutcome, { code: 'rate_limit_exceeded' | 'concurrency_limit' }>;

const TIMES = { leaseMs: 60_000, reaperGraceMs: 30_000 };
const SEEDS = longOr(40, 2_000);
const STEPS = 150;
const UNUSED = { day: 0, spent: 0n, held: 0n, openHolds: 0, dayMax: null, openHoldsMax: null };

/** Rare paths that the traffic must reach, or the comparison proves little. */
const reached = new Set<string>();

/** Every seed runs without credit lines, and one of three with them too. */
const CASES = Array.from({ length: SEEDS }, (_, seed) => (seed % 3 === 0 ? [false, true] : [false]).map((lines) => [seed, lines] as const));

/** Odd seeds have budgets, and two of four have rate limits. */
test.each(CASES.flat())('seed %i, credit lines %s: the fold equals the serial model', (seed, hasCreditLines) => {
  const traffic = new RandomTraffic(seed, []);
  traffic.hasCreditLines = hasCreditLines;
  const tenants = makeTenants(traffic);
  traffic.tenants.push(...tenants);
  const ledger = new MemoryLedger(TIMES);
  const model = new SerialModel(TIMES);
  for (const tenant of tenants) {
    const { accountId, projects } = tenant;
    ledger.addTenant(tenant, traffic.topup);
    model.accounts.set(accountId, { topup: traffic.topup, plan: 0n, grant: null, creditLine: 0n });
    for (const project of projects) {
      const { projectId, requestsPerMinuteMax, concurrencyMax } = project;
      model.projects.set(projectId, { accountId, enabled: true, admitted: [], requestsPerMinuteMax, concurrencyMax });
      for (const { keyId, rootKeyId } of listKeys(project))
        model.keys.set(keyId, {
          projectId,
          rootKeyId,
          disabled: false,
          expiresAt: Number.POSITIVE_INFINITY,
          revokedChildren: [REVOKED_CHILD],
        });
    }
  }

  if (seed % 2 === 1) traffic.budgets.push(...makeBudgets(traffic, tenants));
  for (const budget of traffic.budgets) {
    model.budgets.set(budget.budgetId, budget);
    const none = { spent: 0n, held: 0n, thresholds: [50, 80, 100], passed: 0 };
    ledger.budgets.set(budget.budgetId, { ...budget, ...none, ...windowAt(budget.period, budget.timeZone, traffic.now, budget.startDay) });
  }

  if (seed % 4 >= 2) traffic.limits.push(...makeLimits(tenants));
  for (const limit of traffic.limits) {
    const targetId = findTargetId(limit);
    model.limits.set(targetId, limit);
    ledger.limits.set(targetId, { ...limit, targetId, openHolds: 0, requestWindow: [], tokenWindow: [] });
  }

  for (let count = 0; count < STEPS; count++) {
    if (count === STEPS / 2 && seed % 4 === 0) traffic.sleepPastMidnight();
    if (count === STEPS / 2 && seed % 5 === 0) {
      const below = [...ledger.holds.keys()].sort()[0] ?? '';
      ledger.detach(below);
      model.detachedBelow = below;
    }
    const step = traffic.next();
    switch (step.kind) {
      case 'top-up':
        readAccount(ledger, step.accountId).funds.topup += step.amount;
        modelAccount(model, step.accountId).topup += step.amount;
        break;
      case 'grant': {
        const { funds } = readAccount(ledger, step.accountId);
        endGrant(funds);
        Object.assign(funds, { plan: step.amount, grant: { id: step.grantId, endsAt: step.endsAt } });
        model.grant(step.accountId, step.grantId, step.amount, step.endsAt);
        break;
      }
      case 'meter':
        ledger.meter(step.holdId, step.usage, step.leaseUntil);
        Object.assign(model.holds.get(step.holdId) ?? {}, { meter: step.usage, leaseUntil: step.leaseUntil });
        break;
      case 'key': {
        const { keyId, disabled, expiresAt } = step;
        for (const keys of [ledger.keys, model.keys]) Object.assign(keys.get(keyId) ?? {}, { disabled, expiresAt });
        break;
      }
      case 'budget': {
        const { budgetId, limit } = step.budget;
        for (const budgets of [ledger.budgets, model.budgets]) Object.assign(budgets.get(budgetId) ?? {}, { limit });
        break;
      }
      case 'limit': {
        const { tokensPerMinuteMax } = step.limit;
        for (const limits of [ledger.limits, model.limits]) Object.assign(limits.get(step.targetId) ?? {}, { tokensPerMinuteMax });
        break;
      }
      case 'credit-line': {
        const { accountId, creditLine } = step;
        if (model.setCreditLine(accountId, creditLine)) readAccount(ledger, accountId).funds.creditLine = creditLine;
        else reached.add('credit line in use');
        break;
      }
      case 'batch': {
        const windows = [...ledger.budgets.values()].map(({ windowStart }) => windowStart);
        const { outcomes, rows } = ledger.apply(step.batch, step.now);
        if (rows.values.length > 0) reached.add(ledger.isExact ? 'users counted exactly' : 'users assumed to have enough');
        expect(outcomes).toEqual(model.apply(step.batch, step.now));
        for (const [at, { keyId, projectId }] of step.batch.reserves.entries()) {
          const key = ledger.keys.get(keyId);
          if (key?.projectId !== projectId || outcomes.reserves[at]?.status !== 'refused') continue;
          if (key.disabled) reached.add('key disabled');
          else if (key.expiresAt <= step.now) reached.add(key.expiresAt === step.now ? 'key expires now' : 'key expired');
        }
        for (const [at, { holdId }] of step.batch.settles.entries())
          if (holdId < model.detachedBelow) reached.add(`settle of a detached month: ${outcomes.settles[at]?.status}`);
        for (const { holdId, status } of outcomes.reserves)
          if (holdId < model.detachedBelow) reached.add(`reserve of a detached month: ${status}`);
        for (const outcome of outcomes.reserves) {
          reached.add(`reserve ${outcome.status === 'refused' ? outcome.code : outcome.status}`);
          if (outcome.status === 'refused' && 'limit' in outcome) reached.add(describeLimit(outcome));
          if ('budget' in outcome && outcome.budget) reached.add(aboveBudget(outcome.budget));
          if ('ceiling' in outcome) reached.add(`reserve above the ceiling of a service: ${outcome.ceiling.by}`);
        }
        for (const [at, { holdId, service }] of step.batch.settles.entries()) {
          if (service === undefined) continue;
          reached.add(`settle by ${model.findService(holdId) === service ? 'its' : 'another'} service: ${outcomes.settles[at]?.status}`);
        }
        if ([...ledger.budgets.values()].some(({ windowStart }, at) => windowStart !== windows[at])) reached.add('budget reset');
        for (const { status } of outcomes.settles) reached.add(`settle ${status}`);
        for (const { charge, over, reason } of rows.settled) {
          if (charge.endedCost > 0n) reached.add('cost from an ended grant');
          if (charge.forfeit > 0n) reached.add('forfeit at settle');
          if (charge.planCost > 0n && charge.topupCost > 0n) reached.add('cost from plan and top-up');
          if (over > 0n) reached.add('over the hold');
          if (reason === 'lease-expired') reached.add('reaped');
        }
        for (const { settle, due, charge } of rows.late) {
          reached.add(due === 0n ? 'settled late, nothing due' : 'settled late');
          if (charge.topupCost < 0n) reached.add('given back to the top-up');
          if (charge.planCost < 0n) reached.add('given back to the plan');
          if (charge.forfeit > 0n) reached.add('given back too late for the plan');
          if (charge.planCost > 0n) reached.add('late from the plan');
          if (charge.topupCost > 0n) reached.add('late from the top-up');
          if (charge.topupCost > 0n && readAccount(ledger, settle.accountId).funds.topup < 0n) reached.add('late from the credit line');
          if (charge.writeoff > 0n) reached.add('written off');
          if (charge.writeoff > 0n && sumAvailable(readAccount(ledger, settle.accountId).funds) > 0n)
            reached.add('written off for a budget');
        }
        if (rows.forfeits.length > 0) reached.add('plan ended');
        break;
      }
    }
    for (const service of traffic.services) {
      const { spent, held, openHolds } = serviceAt(ledger.services.get(service) ?? { service, ...UNUSED }, step.now);
      expect({ spent, held, openHolds }).toEqual(model.sumService(service, step.now));
    }
    for (const { accountId, projects } of tenants) {
      const { funds, openHolds } = readAccount(ledger, accountId);
      const { topup, plan, grant, creditLine } = modelAccount(model, accountId);
      expect({ ...funds, openHolds }).toEqual({ topup, plan, grant, creditLine, ...model.countHeld(accountId) });
      expect(funds.topupHeld <= funds.topup + funds.creditLine && funds.planHeld <= funds.plan).toBe(true);
      if (funds.topup < 0n) reached.add('below zero');
      for (const budget of model.budgets.values()) {
        const state = ledger.budgets.get(budget.budgetId) as BudgetState;
        const { spent, held } = ledger.budgetAt(state, step.now);
        if (budget.dimension === undefined) expect({ spent, held }).toEqual(model.sumUsed(budget, step.now));
        else expect(ledger.valuesAt(state, step.now)).toEqual(valuesUsed(model, budget, step.now));
      }
      for (const [targetId, limit] of model.limits)
        expect(ledger.limits.get(targetId)?.openHolds).toBe(limit.projectId === null ? 0 : model.countLimitHolds(limit));
      for (const { projectId } of projects) expect(ledger.projects.get(projectId)?.openHolds).toBe(model.countOpenHolds(projectId));
    }
  }
});

test('the random traffic reached every rare path', () => {
  expect([...reached].sort()).toEqual([
    'below zero',
    'budget reset',
    'concurrency_limit of a key',
    'concurrency_limit of a project',
    'concurrency_limit of an account',
    'cost from an ended grant',
    'cost from plan and top-up',
    'credit line in use',
    'forfeit at settle',
    'given back to the plan',
    'given back to the top-up',
    'given back too late for the plan',
    'key disabled',
    'key expired',
    'key expires now',
    'late from the credit line',
    'late from the plan',
    'late from the top-up',
    'over the hold',
    'plan ended',
    'rate_limit_exceeded of a key for a model for requests',
    'rate_limit_exceeded of a key for a model for tokens',
    'rate_limit_exceeded of a key for requests',
    'rate_limit_exceeded of a key for tokens',
    'rate_limit_exceeded of a key for tokens, for ever',
    'rate_limit_exceeded of a project for a model for requests',
    'rate_limit_exceeded of a project for a model for tokens',
    'rate_limit_exceeded of a project for requests',
    'rate_limit_exceeded of a project for tokens',
    'rate_limit_exceeded of a project for tokens, for ever',
    'rate_limit_exceeded of an account for a model for requests',
    'rate_limit_exceeded of an account for a model for tokens',
    'rate_limit_exceeded of an account for requests',
    'rate_limit_exceeded of an account for tokens',
    'rate_limit_exceeded of an account for tokens, for ever',
    'reaped',
    'reserve above a budget of tokens',
    'reserve above a budget of tokens of a child',
    'reserve above a budget of tokens of a user',
    'reserve above the budget of a child',
    'reserve above the budget of a day',
    'reserve above the budget of a month',
    'reserve above the budget of a session',
    'reserve above the budget of a tag:team',
    'reserve above the budget of a total',
    'reserve above the budget of a user',
    'reserve above the budget of a week',
    'reserve above the ceiling of a service: day',
    'reserve above the ceiling of a service: open-holds',
    'reserve closed',
    'reserve concurrency_limit',
    'reserve held',
    'reserve insufficient_balance',
    'reserve invalid_api_key',
    'reserve no_session_budget',
    'reserve of a detached month: closed',
    'reserve rate_limit_exceeded',
    'reserve service_ceiling',
    'settle already',
    'settle by another service: unknown',
    'settle by its service: already',
    'settle by its service: settled',
    'settle by its service: unknown',
    'settle of a detached month: unknown',
    'settle settled',
    'settle unknown',
    'settled late',
    'settled late, nothing due',
    'users assumed to have enough',
    'users counted exactly',
    'written off',
    'written off for a budget',
  ]);
});

test('another account settles no hold that the reaper has ended', () => {
  const traffic = new RandomTraffic(1, []);
  const [owner, other] = makeTenants(traffic) as [Tenant, Tenant];
  const ledger = new MemoryLedger(TIMES);
  for (const tenant of [owner, other]) ledger.addTenant(tenant, 100n);
  const [{ projectId, keyId }] = owner.projects as [Tenant['projects'][number]];
  const ids = { holdId: traffic.uuid(), accountId: owner.accountId, projectId, keyId };
  const reserve: ReserveRequest = { ...ids, requestId: 'r', model: 'm', amountPicoUsd: '50', price: PRICE };
  const reaper: Settle = { ...ids, reason: 'lease-expired' };
  ledger.apply({ settles: [], reserves: [reserve] }, 0);
  const reapedAt = TIMES.leaseMs + TIMES.reaperGraceMs + 1;
  ledger.apply({ settles: [reaper], reserves: [] }, reapedAt);
  const settle: Settle = { ...ids, accountId: other.accountId, reason: 'completed', usage: makeUsage(20) };
  const { outcomes, rows } = ledger.apply({ settles: [settle], reserves: [] }, reapedAt + 1);
  expect({ settles: outcomes.settles, late: rows.late }).toEqual({
    settles: [{ status: 'already', holdId: ids.holdId, costPicoUsd: '0' }],
    late: [],
  });
});

test('what late settlements of a batch give back is left in budgets for those that charge', () => {
  const traffic = new RandomTraffic(1, []);
  const [tenant] = makeTenants(traffic) as [Tenant];
  const ledger = new MemoryLedger(TIMES);
  ledger.addTenant(tenant, 1_000n);
  const [{ projectId, keyId }] = tenant.projects as [Tenant['projects'][number]];
  const { accountId } = tenant;
  const [budget] = makeBudgets(traffic, [tenant]) as [ModelBudget];
  const none = { spent: 0n, held: 0n, thresholds: [], passed: 0, ...windowAt(budget.period, budget.timeZone, 0, budget.startDay) };
  const state: BudgetState = { ...budget, ...none, limit: 110n };
  ledger.budgets.set(state.budgetId, state);
  const [dearer, cheaper] = [traffic.uuid(), traffic.uuid()];
  const ids = { accountId, projectId, keyId, requestId: 'r', model: 'm', price: PRICE };
  const reserves = [
    { ...ids, holdId: dearer, amountPicoUsd: '60' },
    { ...ids, holdId: cheaper, amountPicoUsd: '50' },
  ];
  ledger.apply({ settles: [], reserves }, 0);
  ledger.meter(cheaper, makeUsage(50), 0);
  const reapedAt = TIMES.leaseMs + TIMES.reaperGraceMs + 1;
  const reap = (holdId: string): Settle => ({ holdId, accountId, reason: 'lease-expired' });
  ledger.apply({ settles: [reap(dearer), reap(cheaper)], reserves: [] }, reapedAt);
  Object.assign(ledger.budgets.get(state.budgetId) ?? {}, { limit: 60n });
  const settle = (holdId: string, tokens: number): Settle => ({ holdId, accountId, reason: 'completed', usage: makeUsage(tokens) });
  const { outcomes } = ledger.apply({ settles: [settle(dearer, 60), settle(cheaper, 0)], reserves: [] }, reapedAt + 1);
  expect(outcomes.settles).toEqual([
    { status: 'settled', holdId: dearer, costPicoUsd: '60' },
    { status: 'settled', holdId: cheaper, costPicoUsd: '0' },
  ]);
});

/** A budget of one value counts nothing else. */
function valuesUsed(model: SerialModel, budget: ModelBudget, now: number) {
  const used = model.usedByValue(budget, now);
  return new Map([...used].filter(([value]) => value === (budget.value ?? value)));
}

function aboveBudget({ period, dimension, limitTokens }: ExceededBudget): string {
  if (limitTokens !== undefined) return `reserve above a budget of tokens${dimension === undefined ? '' : ` of a ${dimension}`}`;
  return dimension === undefined ? `reserve above the budget of a ${period}` : `reserve above the budget of a ${dimension}`;
}

function describeLimit({ code, limit, keyId, accountId, model, requestedTokens }: LimitRefusal): string {
  const level = keyId !== undefined ? 'a key' : accountId !== undefined ? 'an account' : 'a project';
  const owner = `${code} of ${level}${model === undefined ? '' : ' for a model'}`;
  if (code === 'concurrency_limit') return owner;
  if (requestedTokens === undefined) return `${owner} for requests`;
  return `${owner} for tokens${requestedTokens > limit ? ', for ever' : ''}`;
}

function readAccount(ledger: MemoryLedger, id: string): AccountState {
  return ledger.accounts.get(id) as AccountState;
}

function modelAccount(model: SerialModel, id: string): ModelAccount {
  return model.accounts.get(id) as ModelAccount;
}
