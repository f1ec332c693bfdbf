import { type DynamicModule, Module } from '@nestjs/common';
import type { PrismaClient } from '#database/prisma-client.js';
import type { Messaging } from '#messaging/messaging.js';
import { BillingConfig } from './billing.config.js';
import { AccountsController } from './controllers/accounts.controller.js';
import { HoldsController } from './controllers/holds.controller.js';
import { MESSAGING, PRISMA } from './controllers/injected.js';
import { KeysController } from './controllers/keys.controller.js';
import { LedgerController } from './controllers/ledger.controller.js';
import { MoneyController } from './controllers/money.controller.js';
import { UsageController } from './controllers/usage.controller.js';
import { BillingEvents } from './events/billing-events.js';
import { HoldLanes } from './holds/hold-lanes.js';
import { Renewals } from './holds/renewals.js';
import { KeyLookups } from './keys/key-lookups.js';
import { Auditor } from './ledger/auditor.js';
import { Treasury } from './ledger/treasury.js';

export interface BillingParts {
  config: BillingConfig;
  prisma: PrismaClient;
  messaging: Messaging;
  lanes: HoldLanes;
  renewals: Renewals;
  lookups: KeyLookups;
  treasury: Treasury;
  auditor: Auditor;
  events: BillingEvents;
}

@Module({})
class BillingModule {}

/** The framework gets what `start-billing.ts` made; lifetimes stay there. */
export function billingModule(parts: BillingParts): DynamicModule {
  return {
    module: BillingModule,
    controllers: [HoldsController, MoneyController, KeysController, AccountsController, UsageController, LedgerController],
    providers: [
      { provide: BillingConfig, useValue: parts.config },
      { provide: PRISMA, useValue: parts.prisma },
      { provide: MESSAGING, useValue: parts.messaging },
      { provide: HoldLanes, useValue: parts.lanes },
      { provide: Renewals, useValue: parts.renewals },
      { provide: KeyLookups, useValue: parts.lookups },
      { provide: Treasury, useValue: parts.treasury },
      { provide: Auditor, useValue: parts.auditor },
      { provide: BillingEvents, useValue: parts.events },
    ],
  };
}
