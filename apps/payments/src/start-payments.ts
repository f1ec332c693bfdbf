import { once } from 'node:events';
import { NestFactory } from '@nestjs/core';
import { Registry } from 'prom-client';
import { asUnavailable } from '#database/database-outage.js';
import { ServiceDatabase } from '#database/service-database.js';
import { OWN_PROCESS, openService, type ServiceHost } from '#messaging/open-service.js';
import { ForwardProxies } from '#network/forward-proxy/forward-proxies.js';
import { FrameworkLogger, type Logger } from '#observability/logger.js';
import { AutoTopups } from './auto/auto-topups.js';
import { ChargeStore } from './auto/charge-store.js';
import { saveCard } from './auto/save-card.js';
import type { PaymentsConfig } from './payments.config.js';
import { createPaymentsMetrics } from './payments.metrics.js';
import { paymentsModule } from './payments.module.js';
import { createStripe } from './stripe/stripe-client.js';
import { Booking } from './webhook/book-notice.js';
import { createWebhookServer } from './webhook/webhook-server.js';

const SERVICE = 'payments';
const translateError = (error: unknown) => asUnavailable(error, 'The payments database cannot be reached at the moment.');

/** Starts the payments service. Returns a function that stops it. */
export async function startPayments(config: PaymentsConfig, logger: Logger, host: ServiceHost = OWN_PROCESS): Promise<() => Promise<void>> {
  const registry = new Registry();
  const metrics = createPaymentsMetrics(registry);
  const stripe = createStripe(config.stripeSecretKey, config.stripeApiUrl, new ForwardProxies(config));
  const database = new ServiceDatabase({ service: SERVICE, url: config.databaseUrl, registry });
  const store = new ChargeStore(database.prisma);
  let isListening = false;
  const service = await openService({
    ...{ name: SERVICE, host, config, logger, registry },
    checks: (nats) => [nats, ...database.checks, { name: 'listening', check: () => isListening }],
    certificates: () => database.certificates(),
  });
  const { messaging } = service;
  await database.ready(logger);
  const app = await NestFactory.createMicroservice(paymentsModule({ config, logger, prisma: database.prisma, store, stripe, messaging }), {
    strategy: service.transport({ description: 'Card payments by Stripe, which become top-ups', translateError }),
    logger: new FrameworkLogger(logger),
  });
  await app.listen();
  const payments = { retrieve: (paymentId: string) => stripe.paymentIntents.retrieve(paymentId) };
  const booking = new Booking(messaging, payments, store, metrics, logger);
  const topups = new AutoTopups({ store, stripe: stripe.paymentIntents, booking, billing: messaging, logger });
  const server = createWebhookServer({
    ...{ stripe, secrets: config.stripeWebhookSecret.split(','), booking, metrics, logger },
    saveCard: (event) => saveCard(event, stripe, store),
  });
  server.listen(config.paymentsPort, config.paymentsHost);
  await once(server, 'listening');
  isListening = true;
  topups.start(config.autoTopupIntervalMs);
  logger.info({ port: config.paymentsPort, host: config.paymentsHost }, 'webhook listening');
  const stop = async (withinGrace: (work: Promise<unknown>) => Promise<unknown>): Promise<void> => {
    const closed = once(server, 'close');
    server.close();
    server.closeIdleConnections();
    await withinGrace(Promise.all([closed, topups.stop()]));
    server.closeAllConnections();
    await app.close();
  };
  return () => service.close({ stop, disconnect: () => database.disconnect() });
}
