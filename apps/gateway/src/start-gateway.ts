import 'reflect-metadata';
import type { RequestListener } from 'node:http';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import { FrameworkLogger } from '#observability/logger.js';
import type { ReadinessCheck } from '#observability/ops-server.js';
import { BodyWorkers } from './bodies/body-workers.js';
import { BodyReader } from './bodies/read-body.js';
import { ApiKeys } from './clients/api-keys.js';
import { CatalogClient } from './clients/catalog.js';
import { type GatewayFoundation, gatewayModule } from './gateway.module.js';
import { AccessLog } from './http/access-log.js';
import { corsOptions } from './http/cors.js';
import { GatewayMetrics } from './http/gateway-metrics.js';
import { HttpServer } from './http/server/http-server.js';
import { Readiness } from './http/server/readiness.js';
import { SettleOnEnd } from './pipeline/settle-on-end.js';

export interface RunningGateway {
  readonly port: number;
  readonly readinessChecks: ReadinessCheck[];
  /** Lets running replies finish within the grace, then settles what is open. The messaging connection is the caller's to close. */
  close(): Promise<void>;
}

/** Builds the gateway on a messaging connection and opens its port. */
export async function startGateway(foundation: GatewayFoundation): Promise<RunningGateway> {
  const { config, logger } = foundation;
  const app = await NestFactory.create<NestExpressApplication>(gatewayModule(foundation), router(), {
    bodyParser: false,
    logger: new FrameworkLogger(logger),
    abortOnError: false,
  });
  const cors = corsOptions(config.corsAllowedOrigins);
  if (cors) app.enableCors(cors);
  await app.init();

  const handler = app.getHttpAdapter().getInstance() as RequestListener;
  const readiness = app.get(Readiness);
  const server = new HttpServer(handler, app.get(AccessLog), logger, config, () => readiness.isReady());
  const settlements = app.get(SettleOnEnd);
  const bodies = app.get(BodyReader);
  const bodyWorkers = app.get(BodyWorkers);
  const metrics = app.get(GatewayMetrics);
  metrics.gauge('tollgate_gateway_requests_in_flight', 'Requests not yet answered and settled', () => server.requestsRunning);
  metrics.gauge('tollgate_gateway_connections_open', 'Client connections', () => server.connectionsOpen);
  metrics.gauge('tollgate_gateway_settlements_pending', 'Settlements billing has not confirmed', () => settlements.pending);
  metrics.gauge('tollgate_gateway_body_bytes_in_flight', 'Bytes of the request bodies in flight', () => bodies.bytesInFlight);
  metrics.gauge('tollgate_gateway_bodies_waiting', 'Large request bodies that wait for a worker thread', () => bodyWorkers.waiting);
  const stops = [app.get(ApiKeys).start(), app.get(CatalogClient).start()];
  const port = await server.listen(config.port, config.host);
  logger.info({ port, host: config.host }, 'gateway listening');

  return {
    port,
    readinessChecks: readiness.checks,
    close: async () => {
      readiness.drain();
      await server.close(config.shutdownGraceMs);
      const left = await settlements.flush(config.settleFlushMs);
      if (left > 0) logger.error({ left }, 'settlements left to their leases');
      for (const stop of stops) stop();
      await bodyWorkers.close();
      await app.close();
    },
  };
}

/** Express as a router and nothing else: no body parsers, no entity tags, no word about itself. */
function router(): ExpressAdapter {
  const adapter = new ExpressAdapter();
  adapter.disable('x-powered-by');
  adapter.disable('etag');
  adapter.disable('query parser');
  return adapter;
}
