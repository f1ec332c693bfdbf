import { Module } from '@nestjs/common';
import type { PgConnection } from '#database/pg-connection.js';
import { Lane } from '../batch/lane.js';
import { forgetLedgerCheck, recordLedgerCheck } from '../billing.metrics.js';
import { Auditor } from '../ledger/auditor.js';
import { MoneyOperations, type OnConnection } from '../ledger/money-operations.js';
import { connectForMinutes, connectLane } from './connections.js';
import { type Feature, provide, type Shared } from './feature.module.js';
import { LedgerController } from './ledger.controller.js';
import { MoneyController } from './money.controller.js';

/** The reaper comes by within this time after a lease and its grace, even when it first extends all leases. */
const HOLD_OVERDUE_MS = 60_000;

@Module({ controllers: [MoneyController, LedgerController] })
class LedgerModule {}

/** Money in and out, and the check of the ledger. */
export function ledgerModule({ config, metrics, logger }: Shared): Feature {
  const { queueMax, applyDeadlineMs: deadlineMs } = config;
  const lane = new Lane<(connection: PgConnection) => Promise<unknown>, unknown>({
    connect: () => connectLane(config),
    batchMax: 1,
    queueMax,
    deadlineMs,
    logger,
    work: (connection, items) => Promise.all(items.map((work) => work(connection))),
  });
  const operations = new MoneyOperations(((work) => lane.push(work)) as OnConnection);
  const auditor = new Auditor({
    connect: () => connectForMinutes(config),
    overdueMs: config.reaperGraceMs + HOLD_OVERDUE_MS,
    intervalMs: config.ledgerCheckIntervalMs,
    onChecked: (report, counts) => recordLedgerCheck(metrics, report, counts),
    onFollowing: () => forgetLedgerCheck(metrics),
    logger,
  });
  return {
    module: { module: LedgerModule, providers: [provide(MoneyOperations, operations), provide(Auditor, auditor)] },
    connections: [lane],
    work: [auditor],
  };
}
