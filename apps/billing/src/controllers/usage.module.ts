import { Module } from '@nestjs/common';
import { MonthReports } from '../ledger/month-reports.js';
import { UsageCloser } from '../usage/usage-closer.js';
import { connectForMinutes } from './connections.js';
import { type Feature, provide, type Shared } from './feature.module.js';
import { UsageController } from './usage.controller.js';

@Module({ controllers: [UsageController] })
class UsageModule {}

export function usageModule({ config, metrics, logger }: Shared): Feature {
  const closer = new UsageCloser({
    connect: () => connectForMinutes(config),
    intervalMs: config.usageCloseIntervalMs,
    onClosed: (at) => metrics.usageClosedAt.set(at.getTime() / 1_000),
    logger,
  });
  const reports = new MonthReports(() => connectForMinutes(config, 'rerate'));
  return {
    module: { module: UsageModule, providers: [provide(UsageCloser, closer), provide(MonthReports, reports)] },
    work: [closer, reports],
  };
}
