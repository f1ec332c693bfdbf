import { Topic } from '../endpoint.js';
import type { SettleReason, TokenUsage } from './holds.js';

/*
 * Core NATS, at most once: an event says that it is time to look, the ledger says what is so. Amounts are integer strings of
 * pico-USD. All are published after the commit they tell of.
 */

/** Keys whose cached resolution must be forgotten: one key, or every key of a project. */
export const keyChanged = new Topic<{ keyId?: string; projectId: string }>(
  'billing.v1.event.key-changed',
  'A key was revoked or its project changed',
);

export const keyRevoked = new Topic<{ keyId: string; projectId: string; revokedAt: string }>(
  'billing.v1.event.key-revoked',
  'An API key was ended for good',
);

export interface SettledHold {
  holdId: string;
  accountId: string;
  projectId: string;
  reason: SettleReason;
  costPicoUsd: string;
  usage: TokenUsage;
}

/** What one batch settled, in one message: published only where `HOLD_SETTLED_EVENTS` is on. */
export interface HoldsSettled {
  settled: SettledHold[];
}

export const holdSettled = new Topic<HoldsSettled>('billing.v1.event.hold-settled', 'Requests were charged, several in one message');

/** Once each time the balance, top-up and plan together, falls from the account's threshold or above to below it. */
export const balanceLow = new Topic<{ accountId: string; balancePicoUsd: string; lowBalancePicoUsd: string }>(
  'billing.v1.event.balance-low',
  "A balance fell below its account's threshold",
);

/** A request was refused that the whole balance could not cover, held money included. At most once a minute from each replica. */
export const balanceExhausted = new Topic<{ accountId: string; balancePicoUsd: string; requiredPicoUsd: string }>(
  'billing.v1.event.balance-exhausted',
  'A balance does not suffice for what its account asks',
);

/** `forfeitedPicoUsd`: what nobody had used or held of it. */
export const planExpired = new Topic<{ accountId: string; grantId: string; forfeitedPicoUsd: string }>(
  'billing.v1.event.plan-expired',
  'A plan grant ended: its time was over, or another took its place',
);
