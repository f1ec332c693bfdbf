import type { TokenUsage } from '#contracts/billing/holds.js';
import { type BudgetState, type Payer, targetOf, targetsOf } from '../src/budgets/budget.js';
import { windowAt } from '../src/budgets/budget-window.js';
import type { AccountState, Applied, Batch, BatchState, HoldTimes, KeyState, ProjectState } from '../src/holds/batch.js';
import { foldBatch } from '../src/holds/fold-batch.js';
import { billableUsage, type Hold, type ReapedHold } from '../src/holds/hold.js';
import type { RateLimitState, RateLimits } from '../src/limits/rate-limit.js';

/** The tables as maps: runs the fold without a database. */
export class MemoryLedger {
  readonly accounts = new Map<string, AccountState>();
  readonly projects = new Map<string, ProjectState>();
  readonly keys = new Map<string, KeyState & { disabled: boolean }>();
  readonly budgets = new Map<string, BudgetState>();
  readonly limits = new Map<string, RateLimitState>();
  readonly holds = new Map<string, Hold>();
  readonly settlements = new Map<string, bigint>();
  readonly reaped = new Map<string, ReapedHold>();

  constructor(private readonly times: HoldTimes) {}

  apply(batch: Batch, now: number): Applied {
    const applied = foldBatch(this.read(batch, now), batch, this.times);
    const { rows } = applied;
    for (const account of rows.accounts) this.accounts.set(account.accountId, account);
    for (const project of rows.projects) this.projects.set(project.projectId, project);
    for (const budget of rows.budgets) this.budgets.set(budget.budgetId, budget);
    for (const limit of rows.limits) this.limits.set(limit.targetId, limit);
    for (const { holdId, cost, reason, charge } of rows.settled) {
      const hold = this.holds.get(holdId);
      if (!hold) throw new Error(`hold ${holdId} was not there`);
      this.holds.delete(holdId);
      this.settlements.set(holdId, cost);
      if (reason === 'lease-expired') this.reaped.set(holdId, { ...hold, billed: cost, charged: charge });
    }
    for (const { settle, hold, due, charge } of rows.late) {
      if (!this.reaped.delete(settle.holdId)) throw new Error(`hold ${settle.holdId} was not reaped`);
      this.settlements.set(settle.holdId, hold.billed + due - charge.writeoff);
    }
    for (const { holdId } of rows.tombstones) this.settlements.set(holdId, 0n);
    for (const { reserve, planPart, grantId, leaseUntil, tokens } of rows.opened) {
      const { holdId, accountId, projectId, keyId } = reserve;
      const price = {
        inputPicoUsd: BigInt(reserve.price.inputPicoUsd),
        cachedInputPicoUsd: BigInt(reserve.price.cachedInputPicoUsd),
        outputPicoUsd: BigInt(reserve.price.outputPicoUsd),
      };
      const amount = BigInt(reserve.amountPicoUsd);
      const payer = { accountId, projectId, keyId };
      const rest = { price, meter: undefined, leaseUntil, ...(tokens !== undefined && { tokens }) };
      this.holds.set(holdId, { holdId, ...payer, createdAt: now, amount, planPart, grantId, ...rest });
    }
    return applied;
  }

  meter(holdId: string, usage: TokenUsage, leaseUntil: number): void {
    const hold = this.holds.get(holdId);
    if (hold) this.holds.set(holdId, { ...hold, meter: billableUsage(usage), leaseUntil });
  }

  /** Returns a budget in the window that contains `now`. The clock of the tests only grows, so a new window is empty. */
  budgetAt(budget: BudgetState, now: number): BudgetState {
    if (now < budget.windowEnd) return budget;
    return { ...budget, ...windowAt(budget.period, budget.timeZone, now), spent: 0n, held: 0n, passed: 0 };
  }

  /** Returns the rows that Postgres would return, frozen, because a fold must not change its input. */
  private read({ settles, reserves, sweeps = [] }: Batch, now: number): BatchState {
    const ids = new Set([...settles, ...reserves].map(({ holdId }) => holdId));
    const holds = new Map([...this.holds].filter(([id]) => ids.has(id)));
    const accountIds = new Set([...settles, ...reserves].map(({ accountId }) => accountId).concat(sweeps));
    const reaped = [...this.reaped].filter(([id]) => ids.has(id));
    const budgets = new Map<string, Map<string, BudgetState[]>>();
    for (const payer of [...reserves, ...holds.values(), ...reaped.map(([, hold]) => hold)]) {
      if (![...this.budgets.values()].some(({ accountId }) => accountId === payer.accountId)) continue;
      const ofAccount = budgets.get(payer.accountId) ?? new Map<string, BudgetState[]>();
      budgets.set(payer.accountId, ofAccount);
      for (const target of targetsOf(payer)) ofAccount.set(target, this.budgetsOf(payer.accountId, target, now));
    }
    const projectIds = new Set([...reserves, ...holds.values()].map(({ projectId }) => projectId));
    return {
      now,
      accounts: new Map([...this.accounts].filter(([id]) => accountIds.has(id)).map(([id, account]) => [id, frozen(account)])),
      projects: new Map([...this.projects].filter(([id]) => projectIds.has(id)).map(([id, project]) => [id, frozen(project)])),
      keys: new Map([...this.keys].filter(([, { disabled }]) => !disabled)),
      budgets,
      limits: this.limitsOf([...reserves, ...holds.values()]),
      holds,
      settlements: new Map([...this.settlements].filter(([id]) => ids.has(id))),
      reaped: new Map(reaped),
    };
  }

  private limitsOf(payers: readonly Payer[]): RateLimits {
    const limits = new Map<string, Map<string, RateLimitState | null>>();
    for (const { accountId, projectId, keyId } of payers) {
      const ofAccount = limits.get(accountId) ?? new Map<string, RateLimitState | null>();
      limits.set(accountId, ofAccount);
      for (const targetId of [projectId, keyId]) {
        const limit = this.limits.get(targetId);
        ofAccount.set(targetId, limit ? frozen(limit) : null);
      }
    }
    return limits;
  }

  private budgetsOf(accountId: string, target: string, now: number): BudgetState[] {
    return [...this.budgets.values()]
      .filter((budget) => budget.accountId === accountId && targetOf(budget) === target)
      .sort((a, b) => (a.period < b.period ? -1 : 1))
      .map((budget) => frozen(this.budgetAt(budget, now)));
  }
}

function frozen<Row extends object>(row: Row): Row {
  const copy = structuredClone(row);
  for (const value of Object.values(copy)) Object.freeze(value);
  return Object.freeze(copy);
}
