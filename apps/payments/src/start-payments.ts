import { once } from 'node:events';
import { NestFactory } from '@nestjs/core';
import { Registry } from 'prom-client';
import { OWN_PROCESS, openService, type ServiceHost } from '#messaging/open-service.js';
import { FrameworkLogger, type Logger } from '#observability/logger.js';
import type { PaymentsConfig } from './payments.config.js';
import { createPaymentsMetrics } from './payments.metrics.js';
import { paymentsModule } from './payments.module.js';
import { createStripe } from './stripe/stripe-client.js';
import { Booking } from './webhook/book-notice.js';
import { createWebhookServer } from './webhook/webhook-server.js';

const SERVICE = 'payments';

/** Starts the payments service. Returns a function that stops it. */
export async function startPayments(config: PaymentsConfig, logger: Logger, host: ServiceHost = OWN_PROCESS): Promise<() => Promise<void>> {
  const registry = new Registry();
  const metrics = createPaymentsMetrics(registry);
  const stripe = createStripe(config.stripeSecretKey, config.stripeApiUrl);
  let isListening = false;
  const service = await openService({
    ...{ name: SERVICE, host, config, logger, registry },
    checks: (nats) => [nats, { name: 'listening', check: () => isListening }],
    certificates: () => [],
  });
  const { messaging } = service;
  const app = await NestFactory.createMicroservice(paymentsModule({ config, stripe, messaging }), {
    strategy: service.transport({ description: 'Card payments by Stripe, which become top-ups' }),
    logger: new FrameworkLogger(logger),
  });
  await app.listen();
  const booking = new Booking(messaging, { retrieve: (paymentId) => stripe.paymentIntents.retrieve(paymentId) }, metrics, logger);
  const server = createWebhookServer({ stripe, secrets: config.stripeWebhookSecret.split(','), booking, metrics, logger });
  server.listen(config.paymentsPort, config.paymentsHost);
  await once(server, 'listening');
  isListening = true;
  logger.info({ port: config.paymentsPort, host: config.paymentsHost }, 'webhook listening');
  const stop = async (withinGrace: (work: Promise<unknown>) => Promise<unknown>): Promise<void> => {
    const closed = once(server, 'close');
    server.close();
    server.closeIdleConnections();
    await withinGrace(closed);
    server.closeAllConnections();
    await app.close();
  };
  return () => service.close({ stop });
}
