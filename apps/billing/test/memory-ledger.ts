import type { TokenUsage } from '#contracts/billing/holds.js';
import { parsePrice } from '#money/price-plan.js';
import type { AccountState, Applied, Batch, BatchState, HoldTimes, KeyState, ProjectState } from '../src/batch/batch.js';
import { foldBatch } from '../src/batch/fold-batch.js';
import { billedUsage, type Hold, type ReapedHold, sumTokens } from '../src/batch/hold.js';
import { type ServiceState, serviceAt } from '../src/batch/service-state.js';
import { type BudgetState, type Budgets, budgetTarget, type ValueChange, type ValueCount, valueKey } from '../src/budgets/budget.js';
import { windowAt } from '../src/calendar/budget-window.js';
import type { RateLimitState, RateLimits } from '../src/limits/rate-limit.js';
import { listTargets, type Payer, toPayer } from '../src/payer/payer.js';
import { listKeys, REVOKED_CHILD, type Tenant } from './random-traffic.js';

/** The tables as maps: runs the fold without a database. */
export class MemoryLedger {
  readonly accounts = new Map<string, AccountState>();
  readonly projects = new Map<string, ProjectState>();
  readonly keys = new Map<string, KeyState & { disabled: boolean }>();
  readonly budgets = new Map<string, BudgetState>();
  /** By budget, end of the window and value. */
  readonly values = new Map<string, ValueChange>();
  readonly limits = new Map<string, RateLimitState>();
  readonly holds = new Map<string, Hold>();
  readonly settlements = new Map<string, bigint>();
  readonly reaped = new Map<string, ReapedHold>();
  readonly services = new Map<string, ServiceState>();
  /** Services of the settled holds for items. */
  private readonly settledServices = new Map<string, string>();
  private detachedBelow = '';

  /** True when the last batch needed the counts of users and tags. */
  isExact = false;

  constructor(private readonly times: HoldTimes) {}

  /** Adds an account whose only money is top-up, its projects and their keys. */
  addTenant({ accountId, projects }: Tenant, topup: bigint): void {
    const funds = { topup, topupHeld: 0n, plan: 0n, planHeld: 0n, expired: 0n, grant: null, creditLine: 0n };
    this.accounts.set(accountId, { accountId, active: true, openHolds: 0, funds });
    for (const project of projects) {
      const { projectId, requestsPerMinuteMax, concurrencyMax } = project;
      const limits = { requestsPerMinuteMax, concurrencyMax };
      this.projects.set(projectId, { projectId, accountId, enabled: true, openHolds: 0, requestWindow: [], ...limits });
      const revokedChildren = [REVOKED_CHILD];
      for (const { keyId, rootKeyId } of listKeys(project))
        this.keys.set(keyId, { projectId, rootKeyId, disabled: false, expiresAt: Number.POSITIVE_INFINITY, revokedChildren });
    }
  }

  apply(batch: Batch, now: number): Applied {
    const applied = this.fold(batch, now);
    const { rows } = applied;
    for (const change of rows.values) this.values.set(windowKey(change, change.value), this.added(change));
    for (const account of rows.accounts) this.accounts.set(account.accountId, account);
    for (const project of rows.projects) this.projects.set(project.projectId, project);
    for (const budget of rows.budgets) this.budgets.set(budget.budgetId, budget);
    for (const limit of rows.limits) this.limits.set(limit.targetId, limit);
    for (const service of rows.services) this.services.set(service.service, service);
    for (const { holdId, cost, over, reason, charge, usage } of rows.settled) {
      const hold = this.holds.get(holdId);
      if (!hold) throw new Error(`hold ${holdId} was not there`);
      this.holds.delete(holdId);
      this.settlements.set(holdId, cost);
      if (hold.service !== undefined) this.settledServices.set(holdId, hold.service);
      if (reason === 'lease-expired')
        this.reaped.set(holdId, { ...hold, reapedAt: now, billed: cost, over, usedTokens: sumTokens(usage), charged: charge });
    }
    for (const { settle, hold, due, charge } of rows.late) {
      if (!this.reaped.delete(settle.holdId)) throw new Error(`hold ${settle.holdId} was not reaped`);
      this.settlements.set(settle.holdId, hold.billed + due - charge.writeoff);
    }
    for (const { holdId } of rows.tombstones) this.settlements.set(holdId, 0n);
    for (const { reserve, planPart, grantId, leaseUntil, tokens } of rows.opened) {
      const { holdId, accountId, projectId, keyId, attribution, amountTokens, model, item } = reserve;
      const price = parsePrice(reserve.price);
      const amount = BigInt(reserve.amountPicoUsd);
      const payer = toPayer({ accountId, projectId, keyId, attribution }, this.keys.get(keyId));
      const rest = {
        price,
        meter: undefined,
        leaseUntil,
        ...(amountTokens !== undefined && { amountTokens }),
        ...(tokens !== undefined && { tokens, model }),
        ...(item && { service: item.service }),
      };
      this.holds.set(holdId, { holdId, ...payer, createdAt: now, amount, planPart, grantId, ...rest });
    }
    return applied;
  }

  /** Decides without the counts of users and tags, as from memory, and with them when one would be above its limit or at a threshold. */
  private fold(batch: Batch, now: number): Applied {
    const { values, ...others } = this.read(batch, now);
    const applied = foldBatch(others, batch, this.times);
    const exceeds = (change: ValueChange): boolean => {
      const { spent, held, ownLimit } = this.added(change);
      const { limit } = change;
      const isAbove = limit !== null && spent + held > (ownLimit !== undefined && ownLimit < limit ? ownLimit : limit);
      return isAbove || (change.nextThreshold !== null && spent >= change.nextThreshold);
    };
    // Late settlements and items of services always take the lock, which reads the counts.
    const takesLock = applied.rows.late.length > 0 || (others.services?.size ?? 0) > 0;
    this.isExact = applied.rows.values.some(exceeds) || takesLock;
    return this.isExact ? foldBatch({ ...others, ...(values && { values }) }, batch, this.times) : applied;
  }

  private added(change: ValueChange): ValueChange {
    const before = this.values.get(windowKey(change, change.value));
    const ownLimits = [before?.ownLimit, change.ownLimit].filter((limit) => limit !== undefined);
    const ownLimit = ownLimits.length > 0 ? ownLimits.reduce((one, other) => (other < one ? other : one)) : undefined;
    return { ...change, spent: (before?.spent ?? 0n) + change.spent, held: (before?.held ?? 0n) + change.held, ownLimit };
  }

  /** Returns what a budget counts by value in the window that contains `now`, without those that count nothing. */
  valuesAt(budget: BudgetState, now: number): Map<string, ValueCount> {
    const { budgetId, windowEnd } = this.budgetAt(budget, now);
    const found = [...this.values.values()].filter(
      (one) => one.budgetId === budgetId && (budget.dimension === 'child' || one.windowEnd === windowEnd),
    );
    const counted = found.filter(({ spent, held }) => spent > 0n || held > 0n).sort((a, b) => (a.value < b.value ? -1 : 1));
    return new Map(counted.map(({ value, spent, held }) => [value, { spent, held }]));
  }

  meter(holdId: string, usage: TokenUsage, leaseUntil: number): void {
    const hold = this.holds.get(holdId);
    if (hold) this.holds.set(holdId, { ...hold, meter: billedUsage(hold, usage), leaseUntil });
  }

  /** Detaches the settlements of lower ids. */
  detach(below: string): void {
    this.detachedBelow = below;
    for (const rows of [this.settlements, this.reaped]) for (const id of rows.keys()) if (id < below) rows.delete(id);
  }

  /** Returns a budget in the window that contains `now`. The clock of the tests only grows, so a new window is empty. */
  budgetAt(budget: BudgetState, now: number): BudgetState {
    if (now < budget.windowEnd) return budget;
    return { ...budget, ...windowAt(budget.period, budget.timeZone, now, budget.startDay), spent: 0n, held: 0n, passed: 0 };
  }

  /** Returns the rows that Postgres would return, frozen, because a fold must not change its input. */
  private read({ settles, reserves, sweeps = [] }: Batch, now: number): BatchState {
    const ids = new Set([...settles, ...reserves].map(({ holdId }) => holdId));
    const holds = new Map([...this.holds].filter(([id]) => ids.has(id)));
    const accountIds = new Set([...settles, ...reserves].map(({ accountId }) => accountId).concat(sweeps));
    const reaped = [...this.reaped].filter(([id]) => ids.has(id));
    const budgets = new Map<string, Map<string, BudgetState[]>>();
    const reserved = reserves.map((reserve) => toPayer(reserve, this.keys.get(reserve.keyId)));
    for (const payer of [...reserved, ...holds.values(), ...reaped.map(([, hold]) => hold)]) {
      if (![...this.budgets.values()].some(({ accountId }) => accountId === payer.accountId)) continue;
      const ofAccount = budgets.get(payer.accountId) ?? new Map<string, BudgetState[]>();
      budgets.set(payer.accountId, ofAccount);
      for (const target of listTargets(payer)) ofAccount.set(target, this.findBudgets(payer.accountId, target, now));
    }
    const projectIds = new Set([...reserves, ...holds.values()].map(({ projectId }) => projectId));
    return {
      now,
      accounts: new Map([...this.accounts].filter(([id]) => accountIds.has(id)).map(([id, account]) => [id, frozen(account)])),
      projects: new Map([...this.projects].filter(([id]) => projectIds.has(id)).map(([id, project]) => [id, frozen(project)])),
      keys: new Map([...this.keys].filter(([, { disabled }]) => !disabled)),
      budgets,
      values: this.listValues(budgets),
      limits: this.findLimits([...reserved, ...holds.values()]),
      holds,
      settlements: new Map([...this.settlements].filter(([id]) => ids.has(id))),
      settledServices: this.settledServices,
      services: this.readServices(
        [...holds.values(), ...reaped.map(([, hold]) => hold), ...reserves.flatMap(({ item }) => item ?? [])],
        now,
      ),
      reaped: new Map(reaped),
      detached: new Set([...ids].filter((id) => id < this.detachedBelow)),
    };
  }

  /** A service that is named for the first time has used nothing. */
  private readServices(named: readonly { service?: string }[], now: number): Map<string, ServiceState> {
    const names = named.flatMap(({ service }) => service ?? []);
    const none = { day: 0, spent: 0n, held: 0n, openHolds: 0, dayMax: null, openHoldsMax: null };
    return new Map(names.map((service) => [service, frozen(serviceAt(this.services.get(service) ?? { service, ...none }, now))]));
  }

  private listValues(budgets: Budgets): Map<string, ValueCount> {
    const ofValues = [...budgets.values()].flatMap((ofAccount) => [...ofAccount.values()].flat()).filter(({ dimension }) => dimension);
    const rows = ofValues.flatMap((budget) =>
      [...this.values.values()].filter(
        (one) => one.budgetId === budget.budgetId && (budget.dimension === 'child' || one.windowEnd === budget.windowEnd),
      ),
    );
    return new Map(rows.map((row) => [valueKey(row, row.value), row]));
  }

  private findLimits(payers: readonly Payer[]): RateLimits {
    const limits = new Map<string, Map<string, RateLimitState | null>>();
    for (const payer of payers) {
      const ofAccount = limits.get(payer.accountId) ?? new Map<string, RateLimitState | null>();
      limits.set(payer.accountId, ofAccount);
      for (const targetId of listTargets(payer)) {
        const limit = this.limits.get(targetId);
        ofAccount.set(targetId, limit ? frozen(limit) : null);
      }
    }
    return limits;
  }

  private findBudgets(accountId: string, target: string, now: number): BudgetState[] {
    return [...this.budgets.values()]
      .filter((budget) => budget.accountId === accountId && budgetTarget(budget) === target)
      .sort((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1))
      .map((budget) => frozen(this.budgetAt(budget, now)));
  }
}

function windowKey({ budgetId, windowEnd }: { budgetId: string; windowEnd: number }, value: string): string {
  return `${budgetId} ${windowEnd} ${value}`;
}

/** As the database sorts them. */
function sortKey({ period, unit, dimension = '~', value = '' }: BudgetState): string {
  return [period, unit, dimension, value].join(' ');
}

function frozen<Row extends object>(row: Row): Row {
  const copy = structuredClone(row);
  for (const value of Object.values(copy)) Object.freeze(value);
  return Object.freeze(copy);
}
