import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { type ReserveOutcome, SETTLE_REASONS, type SettleReason } from '#contracts/billing/holds.js';
import type { LedgerCheckReply } from '#contracts/billing/ledger.js';
import { registerScrapedGauge } from '#observability/scraped-gauge.js';
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
  const registers = [registry];
  const metrics = {
    batchSize: new Histogram({
      name: 'tollgate_billing_batch_size',
      help: 'Settles and reserves in one batch',
      buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
      registers,
    }),
    batchSeconds: new Histogram({
      name: 'tollgate_billing_batch_seconds',
      help: 'Time from sending a batch to its commit',
      buckets: [0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.5, 2],
      registers,
    }),
    holdsOpen: new Gauge({ name: 'tollgate_billing_holds_open', help: 'Open holds of all accounts', registers }),
    heldPicoUsd: new Gauge({ name: 'tollgate_billing_held_pico_usd', help: 'Money of the open holds of all accounts', registers }),
    reserves: new Counter({
      name: 'tollgate_billing_reserves_total',
      help: 'Reserves by outcome: held, closed, or the error code',
      labelNames: ['outcome'] as const,
      registers,
    }),
    settles: new Counter({
      name: 'tollgate_billing_settles_total',
      help: 'Holds ended, by reason',
      labelNames: ['reason'] as const,
      registers,
    }),
    tombstones: new Counter({
      name: 'tollgate_billing_tombstones_total',
      help: 'Settles and releases that arrived before their reserve',
      registers,
    }),
    lateSettlements: new Counter({
      name: 'tollgate_billing_late_settlements_total',
      help: 'Requests settled after the reaper billed their last meter reading',
      registers,
    }),
    writtenOffPicoUsd: new Counter({
      name: 'tollgate_billing_written_off_pico_usd_total',
      help: 'Amounts of late settlements that the account could not pay',
      registers,
    }),
    givenBackPicoUsd: new Counter({
      name: 'tollgate_billing_given_back_pico_usd_total',
      help: 'Amounts charged by the reaper and returned by late settlements',
      registers,
    }),
    ledgerCheckedAt: new Gauge({
      name: 'tollgate_billing_ledger_check_timestamp_seconds',
      help: 'Time of the last ledger check of this replica; 0 when it does not check',
      registers,
    }),
    ledgerCheckSeconds: new Gauge({ name: 'tollgate_billing_ledger_check_seconds', help: 'Duration of the last ledger check', registers }),
    ledgerViolations: new Gauge({
      name: 'tollgate_billing_ledger_violations',
      help: 'Violations found by the last ledger check, by invariant',
      labelNames: ['invariant'] as const,
      registers,
    }),
    usageClosedAt: new Gauge({
      name: 'tollgate_billing_usage_closed_timestamp_seconds',
      help: 'Time of the last addition to the rollups of usage, by any replica',
      registers,
    }),
    accountsFrozen: new Gauge({ name: 'tollgate_billing_accounts_frozen', help: 'Frozen accounts', registers }),
    keysExpiring: new Gauge({
      name: 'tollgate_billing_keys_expiring',
      help: 'Active API keys without a successor that expire within a week, at the last ledger check',
      registers,
    }),
    monthsOverdue: new Gauge({
      name: 'tollgate_billing_months_overdue',
      help: 'Months that ended more than a week ago and are not closed, at the last ledger check',
      registers,
    }),
    undeliveredEvents: new Gauge({
      name: 'tollgate_billing_undelivered_events',
      help: 'Money events that wait for their delivery, by destination; 0 on replicas that do not deliver',
      labelNames: ['destination'] as const,
      registers,
    }),
    oldestUndeliveredSeconds: new Gauge({
      name: 'tollgate_billing_oldest_undelivered_event_seconds',
      help: 'Age of the oldest money event that waits for its delivery, by destination',
      labelNames: ['destination'] as const,
      registers,
    }),
    deadLetters: new Gauge({
      name: 'tollgate_billing_dead_letters',
      help: 'Money events that were given up after three days, for all webhooks',
      registers,
    }),
    costPicoUsd: new Counter({ name: 'tollgate_billing_cost_pico_usd_total', help: 'Amounts charged', registers }),
    overHolds: new Counter({ name: 'tollgate_billing_over_holds_total', help: 'Requests whose usage exceeded their hold', registers }),
    overPicoUsd: new Counter({ name: 'tollgate_billing_over_pico_usd_total', help: 'Usage beyond holds, which is not charged', registers }),
  };
  // Counters start at 0: rate() misses an increment from nothing to 1.
  for (const reason of [...SETTLE_REASONS, 'lease-expired' satisfies SettleReason]) metrics.settles.inc({ reason }, 0);
  for (const outcome of RESERVE_OUTCOMES) metrics.reserves.inc({ outcome }, 0);
  return metrics;
}

/** Registers the metrics of the lanes, which are read when Prometheus scrapes: a lane that waits for the database ends no batch. */
export function watchLanes(registry: Registry, lanes: { readonly queued: number; readonly waitingMs: number }): void {
  const gauge = registerScrapedGauge.bind(undefined, registry);
  gauge('tollgate_billing_queue', 'Settles and reserves waiting for a batch', () => lanes.queued);
  gauge('tollgate_billing_waiting_seconds', 'Age of the oldest settle or reserve without an outcome', () => lanes.waitingMs / 1_000);
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
    if (over === 0n) continue;
    metrics.overHolds.inc();
    metrics.overPicoUsd.inc(Number(over));
  }
  for (const { due, charge } of rows.late) {
    metrics.lateSettlements.inc();
    if (due < 0n) metrics.givenBackPicoUsd.inc(Number(-due));
    else metrics.costPicoUsd.inc(Number(due - charge.writeoff));
    metrics.writtenOffPicoUsd.inc(Number(charge.writeoff));
  }
  if (rows.tombstones.length > 0) metrics.tombstones.inc(rows.tombstones.length);
}
