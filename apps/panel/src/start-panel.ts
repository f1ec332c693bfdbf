import 'reflect-metadata';
import { fileURLToPath } from 'node:url';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import { Registry } from 'prom-client';
import { requireAbove } from '#config/find-above.js';
import { ConfigError, loadNamedConfigs } from '#config/load-config.js';
import { ServiceDatabase } from '#database/service-database.js';
import { OWN_PROCESS, openService, type ServiceHost } from '#messaging/open-service.js';
import { FrameworkLogger, type Logger } from '#observability/logger.js';
import { LiveRequests } from './activity/live-requests.js';
import { limitConnections } from './http/connection-shares.js';
import { createPanelMetrics } from './http/panel-metrics.js';
import { requestLog } from './http/request-log.js';
import { API_PREFIX } from './http/routes.js';
import { staticFiles } from './http/static-files.js';
import { stopServing } from './http/stop-serving.js';
import { PROVIDERS_PREFIX, SsoProviderConfig } from './identity/sso/sso-provider.config.js';
import { SIGN_INS_AT_ONCE } from './identity/turns.js';
import { serveDocument } from './openapi/serve-document.js';
import type { PanelConfig } from './panel.config.js';
import { type PanelDependencies, panelModule } from './panel.module.js';

const SERVICE = 'panel';
/** Connections for traffic, activity and the journal: sign-ins and sessions have others. One is always left to operators, and one to accounts. */
const READS_MAX = 3;
const ACCOUNT_READS_MAX = 1;
/** Files of the built UI, in `dist`. */
const UI_FOLDER = 'apps/panel/ui';

/** Limits for receiving a request, against slow and endless ones, as the gateway has. Replies have no deadline. */
const LIMITS = { headersTimeout: 10_000, requestTimeout: 60_000, connectionsCheckingInterval: 5_000 };

/** Milliseconds beyond the shutdown grace in which activity that waits is written. */
const WRITE_MS = 2_000;

/** Starts the panel. Returns a function that stops it. */
export async function startPanel(config: PanelConfig, logger: Logger, host: ServiceHost = OWN_PROCESS): Promise<() => Promise<void>> {
  const providers = loadNamedConfigs(SsoProviderConfig, PROVIDERS_PREFIX);
  if (config.panelPasswords === 'off' && providers.size === 0)
    throw new ConfigError(
      `PANEL_PASSWORDS: off needs a provider: set ${PROVIDERS_PREFIX}<NAME>_ISSUER and ${PROVIDERS_PREFIX}<NAME>_CLIENT_ID`,
    );
  if (config.smtpUrl !== 'none' && config.smtpFrom === 'none') throw new ConfigError('SMTP_FROM: must be set, because SMTP_URL is');
  const registry = new Registry();
  const database = new ServiceDatabase({ service: SERVICE, url: config.databaseUrl, registry });
  const signIns = database.pool('sign-ins', { connectionsMax: SIGN_INS_AT_ONCE });
  const reads = database.reads({ runningMax: READS_MAX, shareMax: ACCOUNT_READS_MAX });
  let isListening = false;
  const service = await openService({
    ...{ name: SERVICE, host, config, logger, registry },
    checks: (nats) => [nats, ...database.checks, { name: 'listening', check: () => isListening }],
    certificates: () => database.certificates(),
  });
  const { messaging } = service;
  const { shutdownGraceMs } = config;
  await database.ready(logger);
  await database.connect();
  const app = await createPanel(
    { config, logger, prisma: database.prisma, signIns, reads, messaging, providers, processServices: host.services ?? [SERVICE] },
    registry,
  );
  app.connectMicroservice({
    strategy: service.transport({ description: 'API and pages for people' }),
  });
  await app.startAllMicroservices();
  await app.listen(config.panelPort, config.panelHost);
  isListening = true;
  logger.info({ port: config.panelPort, host: config.panelHost }, 'panel listening');
  return () =>
    service.close({
      graceMs: shutdownGraceMs + WRITE_MS,
      stop: async (withinGrace) => {
        await stopServing(app.getHttpServer(), app.get(LiveRequests), shutdownGraceMs);
        await withinGrace(app.close());
      },
      disconnect: () => database.disconnect(),
    });
}

/** Creates the panel, with the pages in a folder. `listen` opens its port. */
export async function createPanel(
  dependencies: PanelDependencies,
  registry: Registry,
  uiFolder = fileURLToPath(requireAbove(UI_FOLDER)),
): Promise<NestExpressApplication> {
  const { config, logger } = dependencies;
  const metrics = createPanelMetrics(registry);
  const app = await NestFactory.create<NestExpressApplication>(panelModule(dependencies, metrics), new ExpressAdapter(), {
    bodyParser: false,
    logger: new FrameworkLogger(logger),
    abortOnError: false,
    forceCloseConnections: true,
  });
  app.disable('x-powered-by').disable('etag');
  const server = Object.assign(app.getHttpServer(), LIMITS);
  limitConnections(server, config.connectionsMax, config.trustedProxyHops);
  const { furtherOrigins } = config;
  if (furtherOrigins.length > 0) app.enableCors({ origin: furtherOrigins, credentials: true });
  app.use(requestLog({ logger, metrics, trustedProxyHops: config.trustedProxyHops }));
  app.use('/panel/openapi.json', serveDocument());
  const files = staticFiles(uiFolder);
  app.use((request: { path: string }, response: { redirect(to: string): void }, next: () => void) =>
    request.path === '/' || request.path === '/panel' ? response.redirect('/panel/') : next(),
  );
  app.use('/panel', (...[request, response, next]: Parameters<typeof files>) =>
    isApi(request.originalUrl) ? next() : files(request, response, next),
  );
  app.use(API_PREFIX, (_request: unknown, response: { setHeader(name: string, value: string): void }, next: () => void) => {
    response.setHeader('cache-control', 'no-store');
    response.setHeader('x-content-type-options', 'nosniff');
    next();
  });
  await app.init();
  return app;
}

function isApi(url: string): boolean {
  return url === API_PREFIX || /^\/panel\/(v1[/?]|openapi\.json)/.test(url);
}
