import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import { Registry } from 'prom-client';
import { connectMessaging } from '#messaging/connect-messaging.js';
import { natsAccess, natsCertificates } from '#messaging/nats-access.js';
import { NatsTransport } from '#messaging/nats-transport.js';
import { type CertificateFile, certificateFile, registerCertificateExpiry } from '#observability/certificate-expiry.js';
import { FrameworkLogger, type Logger } from '#observability/logger.js';
import { startOpsServer } from '#observability/ops-server.js';
import { startMetricsExport } from '#observability/otlp/start-metrics-export.js';
import { untilReady } from '#observability/readiness.js';
import { startTracing } from '#tracing/start-tracing.js';
import { CatalogClient } from './clients/catalog.js';
import type { GatewayConfig } from './gateway.config.js';
import { type GatewayDependencies, gatewayModule } from './gateway.module.js';
import { BodyWorkers } from './http/bodies/body-workers.js';
import { BodyReader } from './http/bodies/read-body.js';
import { corsOptions } from './http/cors.js';
import { registerGauges } from './http/gateway-metrics.js';
import { HttpServer } from './http/server/http-server.js';
import { SettleOnEnd } from './pipeline/settle-on-end.js';

const SERVICE = 'gateway';

/** Starts the gateway service. Returns a function that stops it. */
export async function startGateway(config: GatewayConfig, logger: Logger): Promise<() => Promise<void>> {
  const registry = new Registry();
  let isReady = (): boolean => false;
  const checks = [{ name: 'catalog', check: () => isReady() }];
  // The ops port opens first: the process is live, though not ready, while it waits for NATS.
  const ops = await startOpsServer({ host: config.opsHost, port: config.opsPort, checks, registry });
  const metricsExport = await startMetricsExport({ name: SERVICE, registry, logger });
  registerCertificateExpiry(registry, () => [...natsCertificates(config), ...servedCertificates(config)]);
  const messaging = await connectMessaging({ ...natsAccess(config), service: SERVICE, logger, registry, resumeMs: config.streamResumeMs });
  const tracer = await startTracing({ name: SERVICE, registry, logger });
  const app = await createGateway({ config, logger, registry, messaging, tracer });
  app.connectMicroservice({
    strategy: new NatsTransport({ messaging, name: SERVICE, description: 'Speaks the client formats over HTTP', logger }),
  });
  await app.startAllMicroservices();
  const port = await app.get(HttpServer).listen(config.port, config.host);
  logger.info({ port, host: config.host }, 'gateway listening');
  isReady = () => app.get(CatalogClient).loaded;
  await untilReady(checks, logger);
  return async () => {
    ops.drain();
    await app.close();
    await messaging.close();
    await tracer?.close();
    await metricsExport?.close();
    await ops.close();
  };
}

function servedCertificates({ servedCertificateFiles: files }: GatewayConfig): CertificateFile[] {
  return files === 'none' ? [] : files.split(',').map((file) => certificateFile(file.trim()));
}

/** Creates the gateway on a messaging connection. `HttpServer.listen` opens its port; `close` stops it and leaves the connection open. */
export async function createGateway(dependencies: GatewayDependencies): Promise<NestExpressApplication> {
  const { config, logger, registry } = dependencies;
  const app = await NestFactory.create<NestExpressApplication>(gatewayModule(dependencies), router(), {
    bodyParser: false,
    logger: new FrameworkLogger(logger),
    abortOnError: false,
  });
  const cors = corsOptions(config.corsAllowedOrigins);
  if (cors) app.enableCors(cors);
  await app.init();
  registerGauges(registry, {
    server: app.get(HttpServer),
    settlements: app.get(SettleOnEnd),
    bodies: app.get(BodyReader),
    bodyWorkers: app.get(BodyWorkers),
  });
  return app;
}

/** Express as a router only: no body parsers, no entity tags, no `x-powered-by`. */
function router(): ExpressAdapter {
  const adapter = new ExpressAdapter();
  adapter.disable('x-powered-by');
  adapter.disable('etag');
  adapter.disable('query parser');
  return adapter;
}
