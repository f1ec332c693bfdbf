import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import { Registry } from 'prom-client';
import { OWN_PROCESS, openService, type ServiceHost } from '#messaging/open-service.js';
import { type CertificateFile, certificateFile } from '#observability/certificate-expiry.js';
import { FrameworkLogger, type Logger } from '#observability/logger.js';
import { untilReady } from '#observability/readiness.js';
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
export async function startGateway(config: GatewayConfig, logger: Logger, host: ServiceHost = OWN_PROCESS): Promise<() => Promise<void>> {
  const registry = new Registry();
  let isReady = (): boolean => false;
  const service = await openService({
    ...{ name: SERVICE, host, config, logger, registry },
    checks: () => [{ name: 'catalog', check: () => isReady() }],
    certificates: () => servedCertificates(config),
    isTraced: true,
  });
  const { messaging, tracer } = service;
  const app = await createGateway({ config, logger, registry, messaging, tracer });
  app.connectMicroservice({
    strategy: service.transport({ description: 'Speaks the client formats over HTTP' }),
  });
  await app.startAllMicroservices();
  const port = await app.get(HttpServer).listen(config.port, config.host);
  logger.info({ port, host: config.host }, 'gateway listening');
  isReady = () => app.get(CatalogClient).loaded;
  await untilReady(service.checks, logger);
  return () => service.close({ stop: () => app.close() });
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
