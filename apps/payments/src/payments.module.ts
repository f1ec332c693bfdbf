import { type DynamicModule, Module } from '@nestjs/common';
import type { Stripe } from 'stripe';
import type { PrismaClient } from '#database/prisma-client.js';
import type { Messaging } from '#messaging/messaging.js';
import type { Logger } from '#observability/logger.js';
import type { ChargeStore } from './auto/charge-store.js';
import { RuledAccounts } from './auto/ruled-accounts.js';
import { Checkouts } from './checkout/create-checkout.js';
import type { PaymentsConfig } from './payments.config.js';
import { LOGGER, PaymentsController, PRISMA } from './payments.controller.js';

interface PaymentsDependencies {
  config: PaymentsConfig;
  logger: Logger;
  prisma: PrismaClient;
  store: ChargeStore;
  stripe: Stripe;
  messaging: Messaging;
}

@Module({ controllers: [PaymentsController] })
class PaymentsModule {}

/** The composition root of what is asked over NATS. */
export function paymentsModule({ config, logger, prisma, store, stripe, messaging }: PaymentsDependencies): DynamicModule {
  return {
    module: PaymentsModule,
    providers: [
      { provide: PRISMA, useValue: prisma },
      { provide: LOGGER, useValue: logger },
      { provide: RuledAccounts, useValue: new RuledAccounts(store, messaging) },
      { provide: Checkouts, useValue: new Checkouts(stripe, messaging, store, config, logger) },
    ],
  };
}
