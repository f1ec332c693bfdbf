import { Module } from '@nestjs/common';
import { connectPg } from '#database/pg-connection.js';
import { ForwardProxies } from '#network/forward-proxy/forward-proxies.js';
import type { HoldLanes } from '../batch/hold-lanes.js';
import { recordUndelivered } from '../billing.metrics.js';
import { DestinationClient } from '../events/destination-client.js';
import { EventDeliverer } from '../events/event-deliverer.js';
import { ReplicaAnnouncements } from '../events/replica-announcements.js';
import { WebhookClient } from '../events/webhook-client.js';
import { WebhookDeliveries } from '../events/webhook-deliveries.js';
import { type Feature, provide, type Shared } from './feature.module.js';
import { WebhooksController } from './webhooks.controller.js';

/** A suspended process must not keep the lock of the deliverer. A mark that a crash of the server loses repeats a delivery. */
const DELIVERER_SETTINGS = { idle_session_timeout: '30000', synchronous_commit: 'off' };

@Module({ controllers: [WebhooksController] })
class EventsModule {}

/** Money events on NATS and to webhooks, and the announcements of this replica. */
export function eventsModule({ config, metrics, messaging, replicaId, logger }: Shared, lanes: HoldLanes): Feature {
  const { databaseUrl: url, messageSettings: messages } = config;
  const webhooks = new WebhookClient({ proxies: new ForwardProxies(config) });
  const client = new DestinationClient(webhooks, messaging);
  const deliverer = new EventDeliverer({
    connect: () => connectPg({ url, applicationName: 'tollgate-billing-events', statementTimeoutMs: 5_000, settings: DELIVERER_SETTINGS }),
    messaging,
    webhooks: new WebhookDeliveries({ client, messages, logger }),
    intervalMs: config.eventIntervalMs,
    onCounted: (counts) => recordUndelivered(metrics, counts),
    logger,
  });
  return {
    module: { module: EventsModule, providers: [provide(DestinationClient, client)] },
    connections: [webhooks],
    work: [new ReplicaAnnouncements(replicaId, messaging, lanes), deliverer],
  };
}
