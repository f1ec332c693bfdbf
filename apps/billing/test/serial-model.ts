import type { Attribution } from '#contracts/billing/attribution.js';
import type { BudgetPeriod, BudgetUnit } from '#contracts/billing/budgets.js';
import type {
  LimitLeft,
  PinnedPrice,
  ReserveOutcome,
  ReserveRequest,
  ServiceCeiling,
  SettleOutcome,
  TokenUsage,
} from '#contracts/billing/holds.js';
import { modelMatcher } from '#contracts/rules/model-pattern.js';
import type { Batch, BatchOutcomes, HoldTimes, Settle } from '../src/batch/batch.js';
import { type BudgetWindow, windowAt } from '../src/calendar/budget-window.js';
import type { Limits } from '../src/limits/rate-limit.js';

interface ModelHold {
  accountId: string;
  projectId: string;
  keyId: string;
  /** First key of the rotations that made its key. */
  rootKeyId: string;
  attribution: Attribution;
  /** The most that it lets its session cost. */
  sessionLimit: bigint | undefined;
  /** The most that it lets each child key of its chain cost. */
  childLimits: bigint[];
  model: string;
  openedAt: number;
  amount: bigint;
  planPart: bigint;
  grantId: string | null;
  price: PinnedPrice;
  /** The most tokens it may use. */
  amountTokens: number;
  /** Tokens that it has used. */
  usedTokens: number;
  /** Its tokens towards limits: the most it may use, then those it used. Undefined: it does not count. */
  tokens: number | undefined;
  leaseUntil: number;
  meter: TokenUsage | undefined;
  /** The service whose item it is for. */
  service: string | undefined;
}

/** A charge of a service, negative when a late settlement gives back, at the time of the charge that it corrects. */
interface ModelCharge {
  holdId: string;
  service: string | undefined;
  at: number;
  amount: bigint;
}

export interface ModelAccount {
  topup: bigint;
  plan: bigint;
  grant: { id: string; endsAt: number } | null;
  /** Amount by which `topup` may go below zero. */
  creditLine: bigint;
}

interface ModelProject {
  accountId: string;
  requestsPerMinuteMax: number;
  concurrencyMax: number;
  enabled: boolean;
  /** Times of all admitted requests. */
  admitted: number[];
}

/** Limits of a key, of a project where `keyId` is null, or of an account where both are. */
export interface ModelLimit extends Limits {
  accountId: string;
  projectId: string | null;
  keyId: string | null;
}

/** The key or the account that a limit is of; neither for a project. */
interface ModelOwner {
  keyId?: string;
  accountId?: string;
}

/** A limit per minute that a reserve counts towards. */
interface ModelCounter {
  owner: ModelOwner;
  /** Pattern of the models that count. */
  model?: string;
  unit: 'requests' | 'tokens';
  limit: number;
  /** The requests or tokens that the reserve adds. */
  count: number;
  waits: Wait[];
}

/** A second with admitted requests: when it leaves the window, and what then becomes free. */
interface Wait {
  until: number;
  count: number;
}

export interface ModelKey {
  projectId: string;
  rootKeyId: string;
  disabled: boolean;
  /** Infinity: the key has no end. */
  expiresAt: number;
  /** Child keys that are revoked, with all below them. */
  revokedChildren?: string[];
}

export interface ModelBudget {
  budgetId: string;
  accountId: string;
  projectId: string | null;
  keyId: string | null;
  /** Each value of it has the limit for itself, or only `value`. */
  dimension?: string;
  value?: string;
  period: BudgetPeriod;
  timeZone: string;
  startDay: number;
  unit: BudgetUnit;
  limit: bigint;
}

interface ModelPayer {
  accountId: string;
  projectId: string;
  rootKeyId: string;
  attribution?: Attribution | undefined;
}

/** A budget that a request counts in, with its value of the dimension. */
interface Counting {
  budget: ModelBudget;
  value: string | undefined;
  /** The most that the request lets its session cost. */
  ownLimit?: bigint | undefined;
}

/** The ledger in its simplest form: it has no counters and sums up the holds each time. Slow, so that it is easy to verify. */
export class SerialModel {
  readonly accounts = new Map<string, ModelAccount>();
  readonly projects = new Map<string, ModelProject>();
  readonly keys = new Map<string, ModelKey>();
  readonly budgets = new Map<string, ModelBudget>();
  /** By id of the key, the project or the account. */
  readonly limits = new Map<string, ModelLimit>();
  readonly holds = new Map<string, ModelHold>();
  readonly costs = new Map<string, bigint>();
  /** Lower ids are of detached months. */
  detachedBelow = '';
  /** Every hold that was opened, for the budgets. */
  private readonly opened = new Map<string, ModelHold>();
  /** Holds that the reaper ended, without a late settlement. */
  readonly reaped = new Map<string, ModelHold>();
  /** Sources of the bills of the reaper. */
  private readonly charges: ModelCharge[] = [];
  /** Ceilings of services, as of the last reserve. */
  private readonly ceilings = new Map<string, { dayMax: bigint | null; openHoldsMax: number | null }>();
  private readonly paid = new Map<string, { fromPlan: bigint; fromTopup: bigint; grantId: string | undefined }>();

  constructor(private readonly times: HoldTimes) {}

  apply(batch: Batch, now: number): BatchOutcomes {
    const touched = new Set([...batch.settles, ...batch.reserves].map(({ accountId }) => accountId).concat(batch.sweeps ?? []));
    for (const id of touched) this.endDuePlan(id, now);
    return { settles: this.settle(batch.settles, now), reserves: batch.reserves.map((reserve) => this.reserve(reserve, now)) };
  }

  grant(accountId: string, id: string, amount: bigint, endsAt: number): void {
    Object.assign(this.account(accountId), { plan: amount, grant: { id, endsAt } });
  }

  /** Sets a credit line. False, with nothing changed, when more is used or held of it. */
  setCreditLine(accountId: string, creditLine: bigint): boolean {
    const account = this.account(accountId);
    if (account.topup + creditLine < this.countHeld(accountId).topupHeld) return false;
    account.creditLine = creditLine;
    return true;
  }

  countHeld(accountId: string): { topupHeld: bigint; planHeld: bigint; expired: bigint; openHolds: number } {
    const live = this.account(accountId).grant?.id;
    const open = [...this.holds.values()].filter((hold) => hold.accountId === accountId);
    return {
      topupHeld: sum(open.map((hold) => hold.amount - hold.planPart)),
      planHeld: sum(open.filter((hold) => hold.grantId === live).map((hold) => hold.planPart)),
      expired: sum(open.filter((hold) => hold.grantId !== live).map((hold) => hold.planPart)),
      openHolds: open.length,
    };
  }

  countOpenHolds(projectId: string): number {
    return [...this.holds.values()].filter((hold) => hold.projectId === projectId).length;
  }

  /** Returns the number of open holds that count towards a limit. */
  countLimitHolds(limit: ModelLimit): number {
    return [...this.holds.values()].filter((hold) => countsTowards(limit, hold)).length;
  }

  /** Returns what the holds of the budget's window have cost, and what those that are open hold: for one value, if it has a dimension. */
  sumUsed(budget: ModelBudget, now: number, value?: string): { spent: bigint; held: bigint } {
    const { windowStart } = findWindow(budget, now);
    const countsTokens = budget.unit === 'tokens';
    const counted = [...this.opened].filter(([, hold]) => hold.openedAt >= windowStart && countsIn(budget, hold, value));
    return {
      spent: sum(counted.map(([holdId, { usedTokens }]) => (countsTokens ? BigInt(usedTokens) : (this.costs.get(holdId) ?? 0n)))),
      held: sum(
        counted.filter(([holdId]) => this.holds.has(holdId)).map(([, hold]) => (countsTokens ? BigInt(hold.amountTokens) : hold.amount)),
      ),
    };
  }

  /** Returns what each value of a dimension has used. Those that used nothing are absent. */
  usedByValue(budget: ModelBudget, now: number): Map<string, { spent: bigint; held: bigint }> {
    const values = [...this.opened.values()].flatMap((hold) => valuesIn(budget, hold)).filter((value) => value !== undefined);
    const used = [...new Set(values)].sort().map((value) => [value, this.sumUsed(budget, now, value)] as const);
    return new Map(used.filter(([, { spent, held }]) => spent > 0n || held > 0n));
  }

  /** Returns what a service has spent on the day of `now` (UTC), holds, and has open, of all accounts. */
  sumService(service: string, now: number): { spent: bigint; held: bigint; openHolds: number } {
    const open = [...this.holds.values()].filter((hold) => hold.service === service);
    const ofDay = this.charges.filter((charge) => charge.service === service && findDay(charge.at) === findDay(now));
    return { spent: sum(ofDay.map(({ amount }) => amount)), held: sum(open.map(({ amount }) => amount)), openHolds: open.length };
  }

  /** Returns the service that an opened hold is for an item of. */
  findService(holdId: string): string | undefined {
    return this.opened.get(holdId)?.service;
  }

  private settle(settles: readonly Settle[], now: number): SettleOutcome[] {
    const ended = new Map<Settle, ModelHold>();
    const late: { holdId: string; accountId: string; due: bigint }[] = [];
    const end = (settle: Settle): SettleOutcome['status'] => {
      if (settle.holdId < this.detachedBelow) return 'unknown';
      const reaped = this.reaped.get(settle.holdId);
      const isOwn = settle.service === undefined || settle.service === this.findService(settle.holdId);
      if (reaped?.accountId === settle.accountId && settle.reason !== 'lease-expired' && isOwn) {
        this.reaped.delete(settle.holdId);
        reaped.usedTokens = sumTokens(reaped, settle.usage);
        const due = billed(reaped, settle.usage) - (this.costs.get(settle.holdId) ?? 0n);
        if (due < 0n) this.giveBack(settle, -due);
        else late.push({ holdId: settle.holdId, accountId: settle.accountId, due });
        return 'settled';
      }
      if (this.costs.has(settle.holdId)) return isOwn ? 'already' : 'unknown';
      const hold = this.holds.get(settle.holdId);
      if (!hold) {
        if (settle.reason !== 'lease-expired' && this.accounts.has(settle.accountId)) this.costs.set(settle.holdId, 0n);
        return 'unknown';
      }
      if (hold.accountId !== settle.accountId || !isOwn) return 'unknown';
      if (settle.reason === 'lease-expired' && hold.leaseUntil + this.times.reaperGraceMs >= now) return 'unknown';
      const cost = billed(hold, settle.reason === 'lease-expired' ? hold.meter : settle.usage);
      this.holds.delete(settle.holdId);
      this.costs.set(settle.holdId, cost);
      this.charges.push({ holdId: settle.holdId, service: hold.service, at: now, amount: cost });
      hold.usedTokens = sumTokens(hold, settle.reason === 'lease-expired' ? hold.meter : settle.usage);
      // Tokens that the reserve did not name are never counted.
      if (hold.tokens !== undefined) hold.tokens = hold.usedTokens;
      if (settle.reason === 'lease-expired') this.reaped.set(settle.holdId, hold);
      ended.set(settle, { ...hold, amount: cost });
      return 'settled';
    };
    // Settles of the reaper come last.
    const statuses: SettleOutcome['status'][] = [];
    for (const byReaper of [false, true])
      for (const [position, settle] of settles.entries())
        if ((settle.reason === 'lease-expired') === byReaper) statuses[position] = end(settle);
    // All holds of the batch are returned before the first is charged, one after another.
    for (const settle of settles) {
      const hold = ended.get(settle);
      if (!ended.delete(settle) || !hold) continue; // the same one may be in a batch twice
      const { accountId, amount: cost, planPart, grantId } = hold;
      const account = this.account(accountId);
      const own = grantId !== account.grant?.id ? least(cost, planPart) : 0n;
      const fromPlan = least(cost - own, account.plan - this.countHeld(accountId).planHeld);
      account.plan -= fromPlan;
      account.topup -= cost - own - fromPlan;
      this.paid.set(settle.holdId, { fromPlan, fromTopup: cost - own - fromPlan, grantId: account.grant?.id });
    }
    // Late settlements take only what is free after that.
    for (const { holdId, accountId, due } of late) {
      const account = this.account(accountId);
      const { planHeld, topupHeld } = this.countHeld(accountId);
      const cost = least(due, this.leftForLate(holdId, now) ?? due);
      const fromPlan = least(cost, account.plan - planHeld);
      const fromTopup = least(cost - fromPlan, account.topup + account.creditLine - topupHeld);
      account.plan -= fromPlan;
      account.topup -= fromTopup;
      this.costs.set(holdId, (this.costs.get(holdId) ?? 0n) + fromPlan + fromTopup);
      this.charges.push({ holdId, service: this.findService(holdId), at: now, amount: fromPlan + fromTopup });
    }
    return settles.map((settle, position) => {
      const status = statuses[position] ?? 'unknown';
      return { status, holdId: settle.holdId, costPicoUsd: String(status === 'unknown' ? 0n : this.costs.get(settle.holdId)) };
    });
  }

  /** Returns the least that a budget of the hold's cost or the day of its service has left; undefined when the hold has none. */
  private leftForLate(holdId: string, now: number): bigint | undefined {
    const hold = this.opened.get(holdId) as ModelHold;
    const hasEnded = ({ budget, value = '' }: Counting): boolean => budget.dimension === 'child' && readEnd(value) <= now;
    const isOver = (one: Counting): boolean => hold.openedAt < findWindow(one.budget, now).windowStart || hasEnded(one);
    const ofMoney = this.findBudgets(hold).filter(({ budget }) => budget.unit === 'usd');
    const left = ofMoney.map((counting) => (isOver(counting) ? 0n : this.computeLeft(counting, now)));
    const dayMax = this.ceilings.get(hold.service ?? '')?.dayMax ?? null;
    if (hold.service !== undefined && dayMax !== null) {
      const { spent, held } = this.sumService(hold.service, now);
      left.push(dayMax > spent + held ? dayMax - spent - held : 0n);
    }
    return left.length > 0 ? left.reduce(least) : undefined;
  }

  private computeLeft(counting: Counting, now: number): bigint {
    const { spent, held } = this.sumUsed(counting.budget, now, counting.value);
    const limit = this.findLimit(counting, now);
    return limit > spent + held ? limit - spent - held : 0n;
  }

  /** Returns the limit of the budget, or the lowest that the session's holds in the window and the request have named. */
  private findLimit({ budget, value, ownLimit }: Counting, now: number): bigint {
    if (!countsOwnLimits(budget)) return budget.limit;
    const { windowStart } = findWindow(budget, now);
    const holds = [...this.opened.values()].filter(
      (hold) => hold.openedAt >= windowStart && hold.amount > 0n && countsIn(budget, hold, value),
    );
    const own = holds.map((hold) => readOwnLimit(budget, value, hold));
    return [ownLimit, ...own].filter((limit) => limit !== undefined).reduce(least, budget.limit);
  }

  /** Budgets of the account first, then those of the project, then those of the key; each by name of the period. */
  private findBudgets(payer: ModelPayer): Counting[] {
    const width = ({ projectId, keyId }: ModelBudget): number => (keyId !== null ? 2 : projectId !== null ? 1 : 0);
    const order = ({ budget }: Counting): string =>
      [width(budget), budget.period, budget.unit, budget.dimension ?? '~', budget.value ?? ''].join(' ');
    return [...this.budgets.values()]
      .flatMap((budget) => valuesIn(budget, payer).map((value) => ({ budget, value })))
      .filter(({ budget, value }) => countsIn(budget, payer, value))
      .sort((a, b) => (order(a) < order(b) ? -1 : 1));
  }

  /** Returns the last budget to reset of those that have less than `amount` left: of all requests, or else of a user or tag. */
  private exceeded(reserve: ReserveRequest, rootKeyId: string, amount: bigint, now: number) {
    const findEnd = ({ budget }: Counting): number => findWindow(budget, now).windowEnd;
    const needed = ({ budget }: Counting): bigint => (budget.unit === 'tokens' ? BigInt(reserve.amountTokens ?? 0) : amount);
    const named = { attribution: {}, ...reserve, sessionLimit: readSessionLimit(reserve), childLimits: readChildLimits(reserve) };
    const all = this.findBudgets({ ...named, rootKeyId })
      .map((one): Counting => ({ ...one, ownLimit: readOwnLimit(one.budget, one.value, named) }))
      .filter((one) => needed(one) > this.computeLeft(one, now));
    const ofAll = all.filter(({ value }) => value === undefined);
    const tooLittle = ofAll.length > 0 ? ofAll : all;
    const last = tooLittle.findLast((one) => tooLittle.every((other) => findEnd(other) <= findEnd(one)));
    if (!last) return undefined;
    const { budgetId, projectId, keyId, dimension, period, unit } = last.budget;
    const limit = this.findLimit(last, now);
    const resetsAt = period === 'total' ? null : new Date(findEnd(last)).toISOString();
    const of = { projectId, keyId, ...(dimension !== undefined && { dimension, value: last.value }) };
    const left = this.computeLeft(last, now);
    const { spent, held } = this.sumUsed(last.budget, now, last.value);
    const amounts =
      unit === 'tokens'
        ? { limitTokens: Number(limit), spentTokens: Number(spent), heldTokens: Number(held), leftTokens: Number(left) }
        : { limitPicoUsd: String(limit), spentPicoUsd: String(spent), heldPicoUsd: String(held), leftPicoUsd: String(left) };
    return { budgetId, ...of, period, ...amounts, resetsAt };
  }

  /** Returns money to the top-up first, then to the plan if it is the same. */
  private giveBack({ holdId, accountId }: Settle, excess: bigint): void {
    const account = this.account(accountId);
    const { fromPlan = 0n, fromTopup = 0n, grantId } = this.paid.get(holdId) ?? {};
    const toTopup = least(excess, fromTopup);
    account.topup += toTopup;
    if (account.grant?.id === grantId) account.plan += least(excess - toTopup, fromPlan);
    this.costs.set(holdId, (this.costs.get(holdId) ?? 0n) - excess);
    const { service, at = 0 } = this.charges.find((charge) => charge.holdId === holdId) ?? {};
    this.charges.push({ holdId, service, at, amount: -excess });
  }

  private reserve(reserve: ReserveRequest, now: number): ReserveOutcome {
    const { holdId, accountId, projectId } = reserve;
    const open = this.holds.get(holdId);
    const isOther =
      open && !(open.accountId === accountId && open.projectId === projectId && String(open.amount) === reserve.amountPicoUsd);
    if (this.costs.has(holdId) || isOther || holdId < this.detachedBelow) return { status: 'closed', holdId };
    const { leaseMs = this.times.leaseMs } = reserve;
    if (open) return { status: 'held', holdId, leaseMs };
    const project = this.projects.get(projectId);
    const key = this.keys.get(reserve.keyId);
    const isKeyValid = key?.projectId === projectId && !key.disabled && now < key.expiresAt;
    if (!project?.enabled || project.accountId !== accountId || !key || !isKeyValid) {
      return { status: 'refused', holdId, code: 'invalid_api_key' };
    }
    const child = reserve.attribution?.child;
    const delegates = ({ budget }: Counting): boolean => budget.dimension === 'child' && budget.unit === 'usd';
    if (child !== undefined) {
      const chain = splitChain(child);
      const isActive = chain.every((one) => now < readEnd(one) && !key.revokedChildren?.includes(one));
      if (!isActive || !this.findBudgets({ ...reserve, rootKeyId: key.rootKeyId }).some(delegates))
        return { status: 'refused', holdId, code: 'invalid_api_key' };
    }
    const isSession = ({ budget }: Counting): boolean => budget.dimension === 'session' && budget.unit === 'usd';
    if (reserve.sessionLimitPicoUsd !== undefined && !this.findBudgets({ ...reserve, rootKeyId: key.rootKeyId }).some(isSession))
      return { status: 'refused', holdId, code: 'no_session_budget' };
    const limits = [accountId, projectId, key.rootKeyId]
      .map((targetId) => this.limits.get(targetId))
      .filter((limit) => limit !== undefined);
    const counters = this.counters(reserve, project, limits, now);
    const full = this.refusePerMinute(counters, now);
    if (full) return { status: 'refused', holdId, ...full };
    if (this.countOpenHolds(projectId) >= project.concurrencyMax) {
      return { status: 'refused', holdId, code: 'concurrency_limit', limit: project.concurrencyMax, retryAfterSeconds: 1 };
    }
    for (const limit of limits) {
      const { concurrencyMax } = limit;
      if (concurrencyMax === null || this.countLimitHolds(limit) < concurrencyMax) continue;
      return { status: 'refused', holdId, code: 'concurrency_limit', limit: concurrencyMax, retryAfterSeconds: 1, ...findOwner(limit) };
    }
    const account = this.account(accountId);
    const { topupHeld, planHeld } = this.countHeld(accountId);
    const amount = BigInt(reserve.amountPicoUsd);
    const available = account.topup + account.creditLine - topupHeld + account.plan - planHeld;
    if (amount > available || amount > 10n ** 18n) {
      return {
        status: 'refused',
        holdId,
        code: 'insufficient_balance',
        requiredPicoUsd: reserve.amountPicoUsd,
        availablePicoUsd: String(available),
      };
    }
    const budget = this.exceeded(reserve, key.rootKeyId, amount, now);
    if (budget) {
      const amounts = { requiredPicoUsd: reserve.amountPicoUsd, availablePicoUsd: String(available) };
      return { status: 'refused', holdId, code: 'insufficient_balance', ...amounts, budget };
    }
    const ceiling = this.findCeiling(reserve, amount, now);
    if (ceiling) return { status: 'refused', holdId, code: 'service_ceiling', ceiling };
    const planPart = least(amount, account.plan - planHeld);
    project.admitted.push(now);
    const hold: ModelHold = {
      accountId,
      projectId,
      keyId: reserve.keyId,
      rootKeyId: key.rootKeyId,
      attribution: reserve.attribution ?? {},
      sessionLimit: readSessionLimit(reserve),
      childLimits: readChildLimits(reserve),
      model: reserve.model,
      openedAt: now,
      amount,
      planPart,
      grantId: planPart > 0n && account.grant ? account.grant.id : null,
      price: reserve.price,
      amountTokens: reserve.amountTokens ?? 0,
      usedTokens: 0,
      tokens: counters.find(({ unit }) => unit === 'tokens')?.count,
      leaseUntil: now + leaseMs,
      meter: undefined,
      service: reserve.item?.service,
    };
    this.holds.set(holdId, hold);
    this.opened.set(holdId, hold);
    const after = this.counters(reserve, project, limits, now);
    return { status: 'held', holdId, leaseMs, ...left(after, now) };
  }

  /** Keeps the ceilings that a reserve names, and returns the one that it would exceed. */
  private findCeiling({ item }: ReserveRequest, amount: bigint, now: number): ServiceCeiling | undefined {
    if (!item) return undefined;
    const { service, dayMaxPicoUsd, openHoldsMax = null } = item;
    this.ceilings.set(service, { dayMax: dayMaxPicoUsd === undefined ? null : BigInt(dayMaxPicoUsd), openHoldsMax });
    const { spent, held, openHolds } = this.sumService(service, now);
    if (openHoldsMax !== null && openHolds + 1 > openHoldsMax) return { service, by: 'open-holds', openHoldsMax, openHolds };
    if (dayMaxPicoUsd === undefined || spent + held + amount <= BigInt(dayMaxPicoUsd)) return undefined;
    return { service, by: 'day', dayMaxPicoUsd, spentPicoUsd: String(spent), heldPicoUsd: String(held) };
  }

  /** Returns the limits per minute that a reserve counts towards: the project's own, then those of `limits`. */
  private counters(reserve: ReserveRequest, project: ModelProject, limits: readonly ModelLimit[], now: number): ModelCounter[] {
    const requests = project.admitted.map((at) => ({ at, count: 1 }));
    const counters: ModelCounter[] = [
      { owner: {}, unit: 'requests', limit: project.requestsPerMinuteMax, count: 1, waits: waits(requests, now) },
    ];
    for (const limit of limits) {
      const { modelLimits = [] } = limit;
      const all = [...this.opened.values()].filter((hold) => countsTowards(limit, hold));
      for (const { model, requestsPerMinuteMax, tokensPerMinuteMax } of [{ ...limit, model: undefined }, ...modelLimits]) {
        const isNamed = (id: string): boolean => model === undefined || modelMatcher(model)(id);
        if (!isNamed(reserve.model)) continue;
        const opened = all.filter((hold) => isNamed(hold.model));
        const times = opened.map(({ openedAt }) => ({ at: openedAt, count: 1 }));
        const tokens = opened.flatMap(({ openedAt, tokens }) => (tokens === undefined ? [] : { at: openedAt, count: tokens }));
        const count = reserve.tokensMax ?? 0;
        const of = { owner: findOwner(limit), ...(model !== undefined && { model }) };
        if (requestsPerMinuteMax)
          counters.push({ ...of, unit: 'requests', limit: requestsPerMinuteMax, count: 1, waits: waits(times, now) });
        if (tokensPerMinuteMax && count > 0) {
          counters.push({ ...of, unit: 'tokens', limit: tokensPerMinuteMax, count, waits: waits(tokens, now) });
        }
      }
    }
    return counters;
  }

  /** Returns the refusal of the limit that is reached for the longest time. */
  private refusePerMinute(counters: readonly ModelCounter[], now: number) {
    const computeWait = ({ limit, count, waits }: ModelCounter): number => {
      if (count > limit) return Number.POSITIVE_INFINITY;
      const fits = waits.find((_, gone) => total(waits.slice(gone + 1)) + count <= limit);
      return Math.ceil(((fits?.until ?? now) - now) / 1000);
    };
    const full = counters.filter(({ limit, count, waits }) => total(waits) + count > limit);
    const longest = full.find((one) => full.every((other) => computeWait(other) <= computeWait(one)));
    if (!longest) return undefined;
    const { owner, model, unit, limit, count } = longest;
    return {
      code: 'rate_limit_exceeded',
      limit,
      retryAfterSeconds: Math.min(60, computeWait(longest)),
      ...owner,
      ...(model !== undefined && { model }),
      ...(unit === 'tokens' && { requestedTokens: count }),
      ...left(counters, now),
    } as const;
  }

  private endDuePlan(accountId: string, now: number): void {
    const account = this.accounts.get(accountId);
    if (account?.grant && account.grant.endsAt <= now) Object.assign(account, { plan: 0n, grant: null });
  }

  private account(id: string): ModelAccount {
    const account = this.accounts.get(id);
    if (!account) throw new Error(`no account ${id}`);
    return account;
  }
}

function countsTowards(limit: ModelLimit, hold: ModelHold): boolean {
  const { accountId, projectId, keyId } = limit;
  return accountId === hold.accountId && (projectId ?? hold.projectId) === hold.projectId && (keyId ?? hold.rootKeyId) === hold.rootKeyId;
}

function findOwner({ accountId, projectId, keyId }: ModelLimit): ModelOwner {
  if (keyId !== null) return { keyId };
  return projectId === null ? { accountId } : {};
}

/** Returns the id of the row of a limit. */
export function findTargetId({ accountId, projectId, keyId }: ModelLimit): string {
  return keyId ?? projectId ?? accountId;
}

/** Returns the seconds with admitted requests that still count, soonest to leave first: 60 s after the last request of each. */
function waits(admitted: readonly { at: number; count: number }[], now: number): Wait[] {
  const seconds = Map.groupBy(admitted, ({ at }) => Math.floor(at / 1000)); // times only grow
  return [...seconds.values()]
    .map((within) => ({ until: (within.at(-1)?.at ?? 0) + 60_000, count: total(within) }))
    .filter(({ until, count }) => until > now && count > 0)
    .sort((a, b) => a.until - b.until);
}

/** Returns what the limits with the least remaining leave. */
function left(counters: readonly ModelCounter[], now: number): { requests: LimitLeft; tokens?: LimitLeft } {
  const least = (unit: ModelCounter['unit']): LimitLeft | undefined =>
    counters
      .filter((counter) => counter.unit === unit)
      .map(({ limit, waits }) => ({
        limit,
        remaining: Math.max(0, limit - total(waits)),
        resetSeconds: Math.ceil(((waits.at(-1)?.until ?? now) - now) / 1000),
      }))
      .sort((a, b) => a.remaining - b.remaining)[0]; // stable: of two, the first
  const tokens = least('tokens');
  return { requests: least('requests') as LimitLeft, ...(tokens && { tokens }) };
}

function total(counts: readonly { count: number }[]): number {
  return counts.reduce((sum, { count }) => sum + count, 0);
}

/** Returns the values of a budget's dimension that a request counts for: one, or each child key of a chain. Undefined: it has none. */
function valuesIn({ dimension = '', value }: ModelBudget, { attribution }: Pick<ModelPayer, 'attribution'>): (string | undefined)[] {
  const own = attribution?.[dimension];
  if (own === undefined || own !== (value ?? own)) return [undefined];
  return dimension === 'child' ? splitChain(own) : [own];
}

function splitChain(child: string): string[] {
  const ids = child.split('.');
  return ids.map((_, last) => ids.slice(0, last + 1).join('.'));
}

function readEnd(child: string): number {
  return 1_000 * Number(child.split('.').at(-1)?.split('-')[0]);
}

/** True for a budget that the limits of sessions or child keys lower. */
function countsOwnLimits({ dimension, unit }: ModelBudget): boolean {
  return (dimension === 'session' || dimension === 'child') && unit === 'usd';
}

/** Returns the limit that a request names for its session, or for a child key of its chain. */
function readOwnLimit(
  budget: ModelBudget,
  value: string | undefined,
  { attribution, sessionLimit, childLimits }: Pick<ModelHold, 'attribution' | 'sessionLimit' | 'childLimits'>,
): bigint | undefined {
  if (!countsOwnLimits(budget)) return undefined;
  return budget.dimension === 'session' ? sessionLimit : childLimits[splitChain(attribution.child ?? '').indexOf(value ?? '')];
}

function readChildLimits({ childLimitsPicoUsd = [] }: ReserveRequest): bigint[] {
  return childLimitsPicoUsd.map(BigInt);
}

function readSessionLimit({ sessionLimitPicoUsd }: ReserveRequest): bigint | undefined {
  return sessionLimitPicoUsd === undefined ? undefined : BigInt(sessionLimitPicoUsd);
}

function countsIn(budget: ModelBudget, payer: ModelPayer, value: string | undefined): boolean {
  if (budget.accountId !== payer.accountId) return false;
  if (budget.dimension !== undefined && (value === undefined || !valuesIn(budget, payer).includes(value))) return false;
  return (budget.projectId ?? payer.projectId) === payer.projectId && (budget.keyId ?? payer.rootKeyId) === payer.rootKeyId;
}

function billed(hold: ModelHold, usage: TokenUsage | undefined): bigint {
  if (!usage) return 0n;
  if (hold.service !== undefined) return least(BigInt(usage.quantity ?? 0) * BigInt(hold.price.requestPicoUsd ?? 0), hold.amount);
  const cached = Math.min(usage.cachedTokens, usage.promptTokens);
  const written = Math.min(usage.cacheWriteTokens ?? 0, usage.promptTokens - cached);
  const written1h = Math.min(usage.cacheWrite1hTokens ?? 0, usage.promptTokens - cached - written);
  const { tiers, requestPicoUsd = 0, imagePicoUsd = 0, images = 0, imageSteps = [] } = hold.price;
  const list = tiers?.find(({ tier }) => tier === usage.tier) ?? hold.price;
  const reached = (list.steps ?? []).filter(({ above }) => usage.promptTokens > above);
  const whole = reached.filter(({ reprices }) => reprices === 'whole').at(-1);
  let cost = BigInt(usage.outputTokens) * BigInt(whole?.outputPicoUsd ?? list.outputPicoUsd);
  for (let place = 1; place <= usage.promptTokens; place += 1) {
    const excess = reached.filter(({ above, reprices }) => reprices === 'excess' && place > above && above > (whole?.above ?? 0)).at(-1);
    const {
      inputPicoUsd,
      cachedInputPicoUsd,
      cacheWritePicoUsd = inputPicoUsd,
      cacheWrite1hPicoUsd = cacheWritePicoUsd,
    } = excess ?? whole ?? list;
    if (place <= cached) cost += BigInt(cachedInputPicoUsd);
    else if (place <= cached + written1h) cost += BigInt(cacheWrite1hPicoUsd);
    else if (place <= cached + written1h + written) cost += BigInt(cacheWritePicoUsd);
    else cost += BigInt(inputPicoUsd);
  }
  cost += BigInt(requestPicoUsd) + BigInt(images) * BigInt(imagePicoUsd);
  for (const step of imageSteps) cost += BigInt(step.images ?? 0) * BigInt(step.imagePicoUsd);
  return least(sumTotal(usage) === 0 ? 0n : cost, hold.amount);
}

function findWindow({ period, timeZone, startDay }: ModelBudget, now: number): BudgetWindow {
  return windowAt(period, timeZone, now, startDay);
}

function sumTokens({ service }: ModelHold, usage: TokenUsage | undefined): number {
  return service === undefined ? sumTotal(usage) : 0;
}

function findDay(time: number): number {
  return Math.floor(time / 86_400_000);
}

function sumTotal(usage: TokenUsage | undefined): number {
  return (usage?.promptTokens ?? 0) + (usage?.outputTokens ?? 0);
}

function sum(amounts: bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n);
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
