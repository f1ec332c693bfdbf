import { NestFactory } from '@nestjs/core';
import { Registry } from 'prom-client';
import { OWN_PROCESS, openService, type ServiceHost } from '#messaging/open-service.js';
import { ForwardProxies } from '#network/forward-proxy/forward-proxies.js';
import { FrameworkLogger, type Logger } from '#observability/logger.js';
import { untilReady } from '#observability/readiness.js';
import type { InferenceProxyConfig } from './inference-proxy.config.js';
import { BackgroundWork, inferenceProxyModule } from './inference-proxy.module.js';
import { RouteTable } from './routing/route-table.js';
import { useForwardProxies } from './transport/upstream-connector.js';

const SERVICE = 'inference-proxy';

/**
 * Starts the inference-proxy. Returns a function that stops it: no new requests; running streams end within the grace, and what
 * gateways left unsettled is settled.
 */
export async function startInferenceProxy(
  config: InferenceProxyConfig,
  logger: Logger,
  host: ServiceHost = OWN_PROCESS,
): Promise<() => Promise<void>> {
  const registry = new Registry();
  let routes: RouteTable | undefined;
  let isListening = false;
  const areRoutesKnown = { name: 'routes', check: () => routes?.isKnown === true };
  const service = await openService({
    ...{ name: SERVICE, host, config, logger, registry },
    checks: (nats) => [nats, areRoutesKnown, { name: 'listening', check: () => isListening }],
    certificates: () => routes?.certificates() ?? [],
    isTraced: true,
  });
  const { messaging, tracer } = service;
  const { largeRequestBytesMax } = config;
  useForwardProxies(new ForwardProxies(config));
  const description = 'Runs requests on upstreams and streams what they say';
  const app = await NestFactory.createMicroservice(inferenceProxyModule({ config, logger, registry, messaging, tracer }), {
    strategy: service.transport({ description, largeRequestBytesMax }),
    logger: new FrameworkLogger(logger),
  });
  const table = app.get(RouteTable);
  routes = table;
  app.get(BackgroundWork).start();
  // Subscribing earlier would take requests from replicas that know their routes.
  const haveShares = { name: 'shares', check: () => table.hasShares };
  await untilReady([...service.checks.slice(0, 2), haveShares], logger);
  await app.listen();
  isListening = true;
  return () => service.close({ stop: () => app.close() });
}
