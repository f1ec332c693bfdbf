import type { Registry } from 'prom-client';
import { type ReserveOutcome, SETTLE_REASONS, type SettleReason } from '#contracts/billing/holds.js';
import type { LedgerCheckReply } from '#contracts/billing/ledger.js';
import { metricsIn } from '#observability/metrics-in.js';
import type { Applied } from './batch/batch.js';
import type { UndeliveredEvents } from './events/keep-events.js';
import type { WatchedCounts } from './ledger/auditor.js';

const RESERVE_OUTCOMES = [
  'held',
  'closed',
  'invalid_api_key',
  'account_frozen',
  'rate_limit_exceeded',
  'concurrency_limit',
  'insufficient_balance',
] as const satisfies ReserveOutcomeLabel[];

/** Label of a reserve: its status, or the code of its refusal. */
type ReserveOutcomeLabel = Exclude<ReserveOutcome['status'], 'refused'> | Extract<ReserveOutcome, { status: 'refused' }>['code'];

export type BillingMetrics = ReturnType<typeof createBillingMetrics>;

export function createBillingMetrics(registry: Registry) {
  const { counter, gauge, histogram } = metricsIn(registry);
  const metrics = {
    batchSize: histogram('tollgate_billing_batch_size', 'Settles and reserves in one batch', [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]),
    batchSeconds: histogram(
      'tollgate_billing_batch_seconds',
      'Time from sending a batch to its commit',
      [0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.5, 2],
    ),
    holdsOpen: gauge('tollgate_billing_holds_open', 'Open holds of all accounts'),
    heldPicoUsd: gauge('tollgate_billing_held_pico_usd', 'Money of the open holds of all accounts'),
    reserves: counter('tollgate_billing_reserves_total', 'Reserves by outcome: held, closed, or the error code', ['outcome']),
    settles: counter('tollgate_billing_settles_total', 'Holds ended, by reason', ['reason']),
    tombstones: counter('tollgate_billing_tombstones_total', 'Settles and releases that arrived before their reserve'),
    lateSettlements: counter(
      'tollgate_billing_late_settlements_total',
      'Requests settled after the reaper billed their last meter reading',
    ),
    writtenOffPicoUsd: counter('tollgate_billing_written_off_pico_usd_total', 'Amounts of late settlements that the account could not pay'),
    givenBackPicoUsd: counter(
      'tollgate_billing_given_back_pico_usd_total',
      'Amounts charged by the reaper and returned by late settlements',
    ),
    ledgerCheckedAt: gauge(
      'tollgate_billing_ledger_check_timestamp_seconds',
      'Time of the last ledger check of this replica; 0 when it does not check',
    ),
    ledgerCheckSeconds: gauge('tollgate_billing_ledger_check_seconds', 'Duration of the last ledger check'),
    ledgerViolations: gauge('tollgate_billing_ledger_violations', 'Violations found by the last ledger check, by invariant', ['invariant']),
    usageClosedAt: gauge(
      'tollgate_billing_usage_closed_timestamp_seconds',
      'Time of the last addition to the rollups of usage, by any replica',
    ),
    accountsFrozen: gauge('tollgate_billing_accounts_frozen', 'Frozen accounts'),
    keysExpiring: gauge(
      'tollgate_billing_keys_expiring',
      'Active API keys without a successor that expire within a week, at the last ledger check',
    ),
    monthsOverdue: gauge(
      'tollgate_billing_months_overdue',
      'Months that ended more than a week ago and are not closed, at the last ledger check',
    ),
    undeliveredEvents: gauge(
      'tollgate_billing_undelivered_events',
      'Money events that wait for their delivery, by destination; 0 on replicas that do not deliver',
      ['destination'],
    ),
    oldestUndeliveredSeconds: gauge(
      'tollgate_billing_oldest_undelivered_event_seconds',
      'Age of the oldest money event that waits for its delivery, by destination',
      ['destination'],
    ),
    deadLetters: gauge('tollgate_billing_dead_letters', 'Money events that were given up after three days, for all webhooks'),
    costPicoUsd: counter('tollgate_billing_cost_pico_usd_total', 'Amounts charged'),
    overHolds: counter('tollgate_billing_over_holds_total', 'Requests whose usage exceeded their hold'),
    overPicoUsd: counter('tollgate_billing_over_pico_usd_total', 'Usage beyond holds, which is not charged, by end of the request', [
      'reason',
    ]),
  };
  // Counters start at 0: rate() misses an increment from nothing to 1.
  for (const reason of [...SETTLE_REASONS, 'lease-expired' satisfies SettleReason]) {
    metrics.settles.inc({ reason }, 0);
    metrics.overPicoUsd.inc({ reason }, 0);
  }
  for (const outcome of RESERVE_OUTCOMES) metrics.reserves.inc({ outcome }, 0);
  return metrics;
}

/** Registers the metrics of the lanes, which are read when Prometheus scrapes: a lane that waits for the database ends no batch. */
export function watchLanes(registry: Registry, lanes: { readonly queued: number; readonly waitingMs: number }): void {
  const { scrapedGauge } = metricsIn(registry);
  scrapedGauge('tollgate_billing_queue', 'Settles and reserves waiting for a batch', () => lanes.queued);
  scrapedGauge('tollgate_billing_waiting_seconds', 'Age of the oldest settle or reserve without an outcome', () => lanes.waitingMs / 1_000);
}

export function recordLedgerCheck(metrics: BillingMetrics, report: LedgerCheckReply, counts: WatchedCounts): void {
  metrics.ledgerCheckedAt.set(Date.parse(report.checkedAt) / 1_000);
  metrics.ledgerCheckSeconds.set(report.milliseconds / 1_000);
  for (const { id, violations } of report.invariants) metrics.ledgerViolations.set({ invariant: id }, violations);
  metrics.accountsFrozen.set(counts.accountsFrozen);
  metrics.keysExpiring.set(counts.keysExpiring);
  metrics.monthsOverdue.set(counts.monthsOverdue);
}

/** Resets the gauges when another replica checks the ledger. */
export function forgetLedgerCheck(metrics: BillingMetrics): void {
  const { ledgerCheckedAt, ledgerCheckSeconds, ledgerViolations, accountsFrozen, keysExpiring, monthsOverdue } = metrics;
  for (const gauge of [ledgerCheckedAt, ledgerCheckSeconds, ledgerViolations, accountsFrozen, keysExpiring, monthsOverdue]) gauge.reset();
}

/** Sets the gauges of a replica that delivers events, and resets those of the others. */
export function recordUndelivered(metrics: BillingMetrics, counts: UndeliveredEvents | undefined): void {
  for (const destination of ['nats', 'webhooks'] as const) {
    const { count, oldestSeconds } = counts?.[destination] ?? { count: 0, oldestSeconds: 0 };
    metrics.undeliveredEvents.set({ destination }, count);
    metrics.oldestUndeliveredSeconds.set({ destination }, oldestSeconds);
  }
  metrics.deadLetters.set(counts?.deadLetters ?? 0);
}

/** Counts a committed batch. Money counters are floats, for graphs only. */
export function recordBatch(metrics: BillingMetrics, { rows, outcomes }: Applied, milliseconds: number): void {
  metrics.batchSize.observe(outcomes.settles.length + outcomes.reserves.length);
  metrics.batchSeconds.observe(milliseconds / 1_000);
  for (const outcome of outcomes.reserves) {
    metrics.reserves.inc({ outcome: outcome.status === 'refused' ? outcome.code : outcome.status });
  }
  for (const { reason, cost, over } of rows.settled) {
    metrics.settles.inc({ reason });
    metrics.costPicoUsd.inc(Number(cost));
    recordOver(metrics, reason, over);
  }
  for (const { settle, hold, due, over, charge } of rows.late) {
    metrics.lateSettlements.inc();
    if (due < 0n) metrics.givenBackPicoUsd.inc(Number(-due));
    else metrics.costPicoUsd.inc(Number(due - charge.writeoff));
    metrics.writtenOffPicoUsd.inc(Number(charge.writeoff));
    recordOver(metrics, settle.reason, over, hold.over);
  }
  if (rows.tombstones.length > 0) metrics.tombstones.inc(rows.tombstones.length);
}

/** `counted` is what the settlement of the reaper had beyond the hold. */
function recordOver(metrics: BillingMetrics, reason: SettleReason, over: bigint, counted = 0n): void {
  if (over <= counted) return;
  if (counted === 0n) metrics.overHolds.inc();
  metrics.overPicoUsd.inc({ reason }, Number(over - counted));
}
