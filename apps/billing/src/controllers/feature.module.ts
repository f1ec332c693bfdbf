import type { DynamicModule } from '@nestjs/common';
import type { Registry } from 'prom-client';
import type { JournalReads } from '#database/journal-reads.js';
import type { PrismaClient } from '#database/prisma-client.js';
import type { ConfirmedPublisher, Messaging } from '#messaging/messaging.js';
import type { Logger } from '#observability/logger.js';
import type { Tracer } from '#tracing/tracer.js';
import type { BillingConfig } from '../billing.config.js';
import type { BillingMetrics } from '../billing.metrics.js';

/** Configuration, connections and metrics that all features share. */
export interface Shared {
  config: BillingConfig;
  logger: Logger;
  registry: Registry;
  metrics: BillingMetrics;
  prisma: PrismaClient;
  reads: JournalReads;
  messaging: Messaging & ConfirmedPublisher;
  replicaId: string;
  /** Absent while traces are not exported. */
  tracer?: Tracer | undefined;
}

/** The Nest module of a feature, and its objects that `BackgroundWork` starts and stops. */
export interface Feature {
  module: DynamicModule;
  /** Opened before the transport takes requests, closed after it: a replica whose lanes are not connected would refuse requests. */
  connections?: readonly { open?(): Promise<void>; close(): Promise<void> }[];
  /** Started when the transport takes requests, stopped before it closes. */
  work?: readonly { start?(): void; stop(): Promise<void> | void }[];
}

/** Returns a provider of an object, by its class. */
export function provide<Provided extends object>(token: abstract new (...parameters: never[]) => Provided, useValue: Provided) {
  return { provide: token, useValue };
}
