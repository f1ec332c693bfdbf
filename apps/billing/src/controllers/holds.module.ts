import { Module } from '@nestjs/common';
import { HoldLanes } from '../batch/hold-lanes.js';
import { recordBatch, watchLanes } from '../billing.metrics.js';
import { SettledEvents } from '../events/settled-events.js';
import { Reaper } from '../holds/reaper.js';
import { Renewals } from '../holds/renewals.js';
import { connectLane } from './connections.js';
import { type Feature, provide, type Shared } from './feature.module.js';
import { HoldsController } from './holds.controller.js';

/** Renewals are many and small: those of a whole proxy fit in one batch. */
const RENEWAL_BATCH_MAX = 4_096;
const RENEWAL_QUEUE_MAX = 65_536;

@Module({ controllers: [HoldsController] })
class HoldsModule {}

/** Reserves, settles and renewals of requests, and the reaper of lost holds. */
export function holdsModule({ config, logger, registry, metrics, messaging, tracer }: Shared): Feature & { lanes: HoldLanes } {
  const { leaseMs, reaperGraceMs, batchMax, queueMax, accountQueueMax, applyDeadlineMs: deadlineMs } = config;
  const connect = () => connectLane(config);
  const settledEvents = config.holdSettledEvents ? new SettledEvents(messaging, logger) : undefined;
  const lanes = new HoldLanes({
    lanes: config.lanes,
    times: { leaseMs, reaperGraceMs },
    connect,
    batchMax,
    queueMax,
    accountQueueMax,
    deadlineMs,
    logger,
    tracer,
    onApplied: (applied, milliseconds) => {
      recordBatch(metrics, applied, milliseconds);
      settledEvents?.applied(applied);
    },
  });
  watchLanes(registry, lanes);
  const renewals = new Renewals(leaseMs, { connect, batchMax: RENEWAL_BATCH_MAX, queueMax: RENEWAL_QUEUE_MAX, deadlineMs, logger });
  const reaper = new Reaper({
    connect,
    lanes,
    times: { leaseMs, reaperGraceMs },
    intervalMs: config.reaperIntervalMs,
    sweepIntervalMs: config.planSweepIntervalMs,
    renewalsArrive: async () => messaging.connected && (await renewals.canStore()),
    onOpenHolds: (count, picoUsd) => {
      metrics.holdsOpen.set(count);
      metrics.heldPicoUsd.set(picoUsd);
    },
    logger,
  });
  return {
    module: { module: HoldsModule, providers: [provide(HoldLanes, lanes), provide(Renewals, renewals)] },
    connections: [lanes, renewals],
    work: [reaper],
    lanes,
  };
}
