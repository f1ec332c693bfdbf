import { Module } from '@nestjs/common';
import { SigningKey } from '#receipts/signing-key.js';
import { MonthKeeper } from '../months/month-keeper.js';
import { Months } from '../months/months.js';
import { Receipts } from '../receipts/receipts.js';
import { connectForMinutes } from './connections.js';
import { type Feature, provide, type Shared } from './feature.module.js';
import { MonthsController } from './months.controller.js';
import { ReceiptsController } from './receipts.controller.js';

/** Longest statement of closing, detaching or attaching a month: some 300 million settlements. */
const MONTH_TIMEOUT_MS = 3_600_000;

@Module({ controllers: [MonthsController, ReceiptsController] })
class MonthsModule {}

export function monthsModule({ config, prisma, logger }: Shared): Feature {
  const connect = () => connectForMinutes(config, 'months', MONTH_TIMEOUT_MS);
  const months = new Months({ connect, prisma });
  const { receiptSigningKey } = config;
  const receipts = new Receipts(prisma, receiptSigningKey === 'none' ? undefined : new SigningKey(receiptSigningKey));
  return {
    module: { module: MonthsModule, providers: [provide(Months, months), provide(Receipts, receipts)] },
    work: [months, new MonthKeeper(prisma, months, logger)],
  };
}
