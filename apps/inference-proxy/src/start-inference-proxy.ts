import { NestFactory } from '@nestjs/core';
import { Registry } from 'prom-client';
import { connectMessaging } from '#messaging/connect-messaging.js';
import { natsAccess, natsCertificates } from '#messaging/nats-access.js';
import { NatsTransport } from '#messaging/nats-transport.js';
import { ForwardProxies } from '#network/forward-proxy/forward-proxies.js';
import { registerCertificateExpiry } from '#observability/certificate-expiry.js';
import { FrameworkLogger, type Logger } from '#observability/logger.js';
import { startOpsServer } from '#observability/ops-server.js';
import { startMetricsExport } from '#observability/otlp/start-metrics-export.js';
import { untilReady } from '#observability/readiness.js';
import { startTracing } from '#tracing/start-tracing.js';
import type { InferenceProxyConfig } from './inference-proxy.config.js';
import { BackgroundWork, inferenceProxyModule } from './inference-proxy.module.js';
import { RouteTable } from './routing/route-table.js';
import { useForwardProxies } from './transport/upstream-connector.js';

const SERVICE = 'inference-proxy';

/**
 * Starts the inference-proxy. Returns a function that stops it: no new requests; running streams end within the grace, and what
 * gateways left unsettled is settled.
 */
export async function startInferenceProxy(config: InferenceProxyConfig, logger: Logger): Promise<() => Promise<void>> {
  const registry = new Registry();
  let isConnected = (): boolean => false;
  let areRoutesKnown = (): boolean => false;
  let isListening = false;
  const needed = [
    { name: 'nats', check: () => isConnected() },
    { name: 'routes', check: () => areRoutesKnown() },
  ];
  const checks = [...needed, { name: 'listening', check: () => isListening }];
  // The ops port opens first: the process is live, though not ready, while it waits for NATS.
  const ops = await startOpsServer({ host: config.opsHost, port: config.opsPort, registry, checks });
  const metricsExport = await startMetricsExport({ name: SERVICE, registry, logger });
  const { shutdownGraceMs, largeRequestBytesMax } = config;
  useForwardProxies(new ForwardProxies(config));
  const messaging = await connectMessaging({ ...natsAccess(config), service: SERVICE, logger, registry, resumeMs: config.streamResumeMs });
  isConnected = () => messaging.connected;
  const description = 'Runs requests on upstreams and streams what they say';
  const tracer = await startTracing({ name: SERVICE, registry, logger });
  const app = await NestFactory.createMicroservice(inferenceProxyModule({ config, logger, registry, messaging, tracer }), {
    strategy: new NatsTransport({ messaging, name: SERVICE, description, logger, shutdownGraceMs, largeRequestBytesMax }),
    logger: new FrameworkLogger(logger),
  });
  const routes = app.get(RouteTable);
  areRoutesKnown = () => routes.isKnown;
  registerCertificateExpiry(registry, () => [...natsCertificates(config), ...routes.certificates()]);
  app.get(BackgroundWork).start();
  // Subscribing earlier would take requests from replicas that know their routes.
  await untilReady([...needed, { name: 'shares', check: () => routes.hasShares }], logger);
  await app.listen();
  isListening = true;
  return async () => {
    ops.drain();
    await app.close();
    await messaging.close();
    await tracer?.close();
    await metricsExport?.close();
    await ops.close();
  };
}
