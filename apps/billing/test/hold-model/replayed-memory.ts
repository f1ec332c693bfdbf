import type { ReserveRequest, TokenUsage } from '#contracts/billing/holds.js';
import type { Batch, Settle } from '../../src/batch/batch.js';
import type { Hold } from '../../src/batch/hold.js';
import type { BudgetState } from '../../src/budgets/budget.js';
import { windowAt } from '../../src/calendar/budget-window.js';
import { MemoryLedger } from '../memory-ledger.js';
import { holdAmount, isInSession, LEASE_TICKS, type ModelLedger, type ModelSettlement, type ReplayedBilling } from './replay-trace.js';

const TIMES = { leaseMs: 60_000, reaperGraceMs: 30_000 };
const LEASE_AND_GRACE_MS = TIMES.leaseMs + TIMES.reaperGraceMs;
const TICK_MS = LEASE_AND_GRACE_MS / LEASE_TICKS + 1;
const CUSTOMER = { accountId: 'account', projectId: 'project', keyId: 'key' };
const NONE = { spent: 0n, held: 0n, thresholds: [], passed: 0 };

/** `foldBatch` with the tables in memory. Renewals and restarted leases, which are SQL, are done by the ledger of the tests. */
export class ReplayedMemory implements ReplayedBilling {
  private readonly ledger = new MemoryLedger(TIMES);
  private readonly settlements: Record<string, ModelSettlement> = {};
  private now = 0;
  private restartsLeases = false;

  constructor(private readonly begun: ModelLedger) {
    const { accountId, projectId, keyId } = CUSTOMER;
    const project = { projectId, keyId, rotatedKeyId: 'rotated', requestsPerMinuteMax: 100_000, concurrencyMax: 100_000 };
    this.ledger.addTenant({ accountId, projects: [project] }, BigInt(begun.paid));
    this.addBudget('key', { projectId, keyId });
    this.addBudget('session', { projectId: null, keyId: null, dimension: 'session' });
  }

  private addBudget(budgetId: 'key' | 'session', target: Pick<BudgetState, 'projectId' | 'keyId' | 'dimension'>): void {
    const window = { period: 'total', timeZone: 'UTC', startDay: 1, ...windowAt('total', 'UTC', 0, 1) } as const;
    const { accountId } = CUSTOMER;
    this.ledger.budgets.set(budgetId, {
      budgetId,
      accountId,
      ...target,
      ...window,
      unit: 'usd',
      limit: BigInt(this.begun.budgets[budgetId].limit),
      ...NONE,
    });
  }

  async reserve(request: number, pricePicoUsd: number): Promise<string> {
    const reserve: ReserveRequest = { ...CUSTOMER, ...makeHold(request, pricePicoUsd) };
    return this.apply({ settles: [], reserves: [reserve] }).outcomes.reserves[0]?.status ?? '';
  }

  async renew(request: number, tokens: number): Promise<void> {
    const read = this.ledger.holds.get(nameHold(request))?.meter?.outputTokens ?? 0;
    this.ledger.meter(nameHold(request), makeUsage(Math.max(read, tokens)), this.now + TIMES.leaseMs);
  }

  async settle(request: number, tokens?: number): Promise<void> {
    const outcome = tokens === undefined ? { reason: 'released' as const } : { reason: 'completed' as const, usage: makeUsage(tokens) };
    this.apply({ settles: [{ holdId: nameHold(request), accountId: CUSTOMER.accountId, ...outcome }], reserves: [] });
  }

  async reaperRound(): Promise<void> {
    const open = [...this.ledger.holds.values()];
    if (!this.restartsLeases) {
      const settles = open.map(({ holdId, accountId }): Settle => ({ holdId, accountId, reason: 'lease-expired' }));
      this.apply({ settles, reserves: [] });
    }
    for (const { holdId, meter } of this.restartsLeases ? open : [])
      this.ledger.meter(holdId, meter ?? makeUsage(0), this.now + TIMES.leaseMs);
    this.restartsLeases = false;
  }

  async tick(): Promise<void> {
    this.now += TICK_MS;
  }

  async crash(): Promise<void> {
    // The tables are all that billing keeps.
  }

  async start(): Promise<void> {
    this.restartsLeases = true;
  }

  async readLedger(): Promise<ModelLedger> {
    const { funds } = this.ledger.accounts.get(CUSTOMER.accountId) as { funds: { topup: bigint; topupHeld: bigint } };
    const [key, session] = ['key', 'session'].map((id) => this.ledger.budgets.get(id) as BudgetState) as [BudgetState, BudgetState];
    const ofSession = this.ledger.valuesAt(session, this.now).get('session') ?? NONE;
    return {
      paid: this.begun.paid,
      topup: Number(funds.topup),
      held: Number(funds.topupHeld),
      budgets: {
        key: { limit: Number(key.limit), spent: Number(key.spent), held: Number(key.held) },
        session: { limit: Number(session.limit), spent: Number(ofSession.spent), held: Number(ofSession.held) },
      },
      holds: Object.fromEntries([...this.ledger.holds.values()].map((hold) => [readRequest(hold), this.describeHold(hold)])),
      settlements: this.settlements,
    };
  }

  private describeHold({ amount, price, leaseUntil, meter }: Hold) {
    const leftMs = leaseUntil + TIMES.reaperGraceMs - this.now;
    const lease = Math.max(0, Math.ceil(leftMs / TICK_MS));
    return { amount: Number(amount), price: Number(price.outputPicoUsd), lease, reading: meter?.outputTokens ?? 0 };
  }

  private apply(batch: Batch) {
    const holds = new Map(this.ledger.holds);
    const applied = this.ledger.apply(batch, this.now);
    const { rows } = applied;
    for (const { holdId, reason, over, usage } of rows.settled) {
      const { amount, price } = holds.get(holdId) as Hold;
      const [reaped, cost] = [reason === 'lease-expired', this.readCost(holdId)];
      const pinned = { amount: Number(amount), price: Number(price.outputPicoUsd) };
      this.record(holdId, { ...pinned, tokens: usage.outputTokens, cost, over: Number(over), writtenOff: 0, reaped, late: false });
    }
    for (const { settle, hold, over, charge, usage } of rows.late) {
      const pinned = { amount: Number(hold.amount), price: Number(hold.price.outputPicoUsd), reaped: true, late: true };
      const parts = { cost: this.readCost(settle.holdId), over: Number(over), writtenOff: Number(charge.writeoff) };
      this.record(settle.holdId, { ...pinned, tokens: usage.outputTokens, ...parts });
    }
    for (const { holdId } of rows.tombstones) {
      const nothing = { amount: 0, price: 0, tokens: 0, cost: 0, over: 0, writtenOff: 0 };
      this.record(holdId, { ...nothing, reaped: false, late: false });
    }
    return applied;
  }

  private readCost(holdId: string): number {
    return Number(this.ledger.settlements.get(holdId));
  }

  private record(holdId: string, settlement: ModelSettlement): void {
    this.settlements[readRequest({ holdId })] = settlement;
  }
}

function makeHold(request: number, pricePicoUsd: number): Omit<ReserveRequest, keyof typeof CUSTOMER> {
  const holdId = nameHold(request);
  const price = { version: pricePicoUsd, inputPicoUsd: '0', cachedInputPicoUsd: '0', outputPicoUsd: String(pricePicoUsd) };
  const attribution = isInSession(request) && { attribution: { session: 'session' } };
  return { holdId, requestId: `request ${request}`, model: 'm', amountPicoUsd: String(holdAmount(pricePicoUsd)), price, ...attribution };
}

function makeUsage(outputTokens: number): TokenUsage {
  return { promptTokens: 0, cachedTokens: 0, outputTokens, reasoningTokens: 0, promptSource: 'reported', outputSource: 'reported' };
}

function nameHold(request: number): string {
  return `hold ${request}`;
}

function readRequest({ holdId }: { holdId: string }): string {
  return holdId.slice('hold '.length);
}
