import { type DynamicModule, Module } from '@nestjs/common';
import type { Stripe } from 'stripe';
import type { Messaging } from '#messaging/messaging.js';
import { Checkouts } from './checkout/create-checkout.js';
import type { PaymentsConfig } from './payments.config.js';
import { PaymentsController } from './payments.controller.js';

interface PaymentsDependencies {
  config: PaymentsConfig;
  stripe: Stripe;
  messaging: Messaging;
}

@Module({ controllers: [PaymentsController] })
class PaymentsModule {}

/** The composition root of what is asked over NATS. */
export function paymentsModule({ config, stripe, messaging }: PaymentsDependencies): DynamicModule {
  return { module: PaymentsModule, providers: [{ provide: Checkouts, useValue: new Checkouts(stripe, messaging, config) }] };
}
