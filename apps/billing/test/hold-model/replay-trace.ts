import type { Plain } from './plain-value.js';
import type { Trace, TraceStep } from './trace.js';

/** Billing as a trace drives it. Requests are numbered from 1. */
export interface ReplayedBilling {
  /** Returns the status of the outcome. */
  reserve(request: number, pricePicoUsd: number): Promise<string>;
  renew(request: number, tokens: number): Promise<void>;
  /** Without tokens: releases the hold. */
  settle(request: number, tokens?: number): Promise<void>;
  reaperRound(): Promise<void>;
  /** Half of lease and grace passes. */
  tick(): Promise<void>;
  crash(): Promise<void>;
  start(): Promise<void>;
  /** Returns the variable `ledger` of the model. */
  readLedger(): Promise<ModelLedger>;
}

export interface ModelLedger {
  paid: number;
  topup: number;
  held: number;
  budgets: Record<'key' | 'session', { limit: number; spent: number; held: number }>;
  holds: Record<string, { amount: number; price: number; lease: number; reading: number }>;
  settlements: Record<string, ModelSettlement>;
}

export interface ModelSettlement {
  amount: number;
  price: number;
  tokens: number;
  cost: number;
  over: number;
  writtenOff: number;
  reaped: boolean;
  late: boolean;
}

/** Ticks of a lease with its grace. */
export const LEASE_TICKS = 2;
/** Output cap of a request. */
const OUT_MAX = 1;

export function holdAmount(pricePicoUsd: number): bigint {
  return BigInt(OUT_MAX * pricePicoUsd);
}

/** Requests of the session. */
export function isInSession(request: number): boolean {
  return request % 2 === 1;
}

/** Does in billing what a trace of the model does, and compares what billing stores after each step that concerns it. */
export async function replayTrace(trace: Trace, open: (ledger: ModelLedger) => ReplayedBilling | Promise<ReplayedBilling>): Promise<void> {
  const billing = await open(trace.begin.ledger as unknown as ModelLedger);
  for (const [at, step] of trace.steps.entries()) {
    const answered = await replayStep(step, billing);
    if (answered === undefined) continue;
    const found = { step: at + 1, did: describe(step), answered, ledger: await billing.readLedger() };
    expect(found).toEqual({ ...found, answered: expectedAnswer(step, answered), ledger: step.state.ledger });
  }
}

/** Returns the answer of billing, if it has one, and undefined for a step that does not concern it. */
async function replayStep(step: TraceStep, billing: ReplayedBilling): Promise<string | undefined> {
  switch (step.action) {
    case 'deliver':
      return deliver(step.picks.message as [string, Plain], billing);
    case 'reaperRound':
      await billing.reaperRound();
      return '';
    case 'tick':
      await billing.tick();
      return '';
    case 'crashBilling':
      await billing.crash();
      return undefined;
    case 'startBilling':
      await billing.start();
      return '';
    default:
      return undefined;
  }
}

async function deliver([kind, content]: [string, Plain], billing: ReplayedBilling): Promise<string> {
  if (kind === 'Release') {
    await billing.settle(content as number);
    return '';
  }
  const { id, price, tokens } = content as Record<'id' | 'price' | 'tokens', number>;
  if (kind === 'Reserve') return billing.reserve(id, price);
  await (kind === 'Renew' ? billing.renew(id, tokens) : billing.settle(id, tokens));
  return '';
}

/** The gateway shows what it was answered; if the answer is lost, any is right. */
function expectedAnswer({ picks, state }: TraceStep, answered: string): unknown {
  const [kind, content] = (picks.message ?? []) as [string, { id: number }];
  if (kind !== 'Reserve' || picks.answered !== true) return answered;
  const { gateway } = (state.requests as Record<string, { gateway: string }>)[content.id] as { gateway: string };
  return gateway === 'running' ? 'held' : expect.stringMatching('^(refused|closed)$');
}

function describe({ action, picks }: TraceStep): string {
  return `${action} ${JSON.stringify(picks)}`;
}
