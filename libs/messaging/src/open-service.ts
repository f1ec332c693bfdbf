import { hostname } from 'node:os';
import type { Registry } from 'prom-client';
import type { ServiceConfig } from '#config/service-config.js';
import { COMMIT, VERSION } from '#config/version.js';
import type { ReplicaStatus } from '#contracts/replica-status.js';
import { type CertificateFile, registerCertificateExpiry } from '#observability/certificate-expiry.js';
import { beginGrace } from '#observability/grace.js';
import type { Logger } from '#observability/logger.js';
import { type OpsPart, startOpsServer } from '#observability/ops-server.js';
import { startMetricsExport } from '#observability/otlp/start-metrics-export.js';
import { type ReadinessCheck, readiness } from '#observability/readiness.js';
import { startTracing } from '#tracing/start-tracing.js';
import { connectMessaging } from './connect-messaging.js';
import type { LocalExchange } from './local-exchange.js';
import { LocalMessaging } from './local-messaging.js';
import { natsAccess, natsCertificates } from './nats-access.js';
import type { NatsMessaging } from './nats-messaging.js';
import { NatsTransport, type NatsTransportOptions } from './nats-transport.js';

/** The process of a service: its own, or one with other services. */
export interface ServiceHost {
  /** Opens the ops port of a service, or adds the service to that of the process. */
  openOps(service: { name: string; config: ServiceConfig; registry: Registry; checks: ReadinessCheck[] }): Promise<OpsPart>;
  /** Routes calls between services of the process. Absent: the process has one service. */
  exchange?: LocalExchange;
  /** Names of the services of the process, likewise. */
  services?: readonly string[];
}

/** A process with all of these needs NATS to start, and then serves requests without it: a load balancer must keep it. */
const SERVICES_OF_REQUESTS = ['gateway', 'inference-proxy', 'billing', 'catalog'];

export const OWN_PROCESS: ServiceHost = {
  openOps: ({ config, registry, checks }) => startOpsServer({ host: config.opsHost, port: config.opsPort, registry, checks }),
};

interface ServiceOptions {
  name: string;
  host: ServiceHost;
  config: ServiceConfig;
  logger: Logger;
  registry: Registry;
  /** Makes the checks of `/readyz` from the one that NATS is connected. */
  checks: (nats: ReadinessCheck) => ReadinessCheck[];
  /** Files with certificates of the service, besides those of NATS. */
  certificates: () => CertificateFile[];
  /** True when the service makes spans. */
  isTraced?: boolean;
}

type OwnTransportOptions = Omit<NatsTransportOptions, 'messaging' | 'exchange' | 'name' | 'logger' | 'status'>;

/** The parts that a service stops by itself. */
interface ServiceParts {
  /** Takes no more requests, and ends those that run. `withinGrace` waits until `graceMs` after the stop began. */
  stop: (withinGrace: ReturnType<typeof beginGrace>) => Promise<void>;
  /** Leaves the databases, within the grace. */
  disconnect?: () => Promise<void>;
  /** Default: `SHUTDOWN_GRACE_MS`. */
  graceMs?: number;
}

/**
 * Opens the ops port, then the exports and the connection to NATS: the process is live, though not ready, while it waits for NATS. `close`
 * stops the parts of the service, then these. The ops port closes last.
 */
export async function openService(options: ServiceOptions) {
  const { name, host, config, logger, registry, checks: makeChecks, certificates, isTraced } = options;
  const { exchange } = host;
  let connection: NatsMessaging | undefined;
  const servesAlone = SERVICES_OF_REQUESTS.every((one) => host.services?.includes(one));
  const checks = makeChecks({ name: 'nats', check: () => connection !== undefined && (servesAlone || connection.connected) });
  const ops = await host.openOps({ name, config, registry, checks });
  const metricsExport = await startMetricsExport({ name, registry, logger });
  registerCertificateExpiry(registry, () => [...natsCertificates(config), ...certificates()]);
  const nats = await connectMessaging({ ...natsAccess(config), service: name, logger, registry, resumeMs: config.streamResumeMs });
  connection = nats;
  const messaging = exchange === undefined ? nats : new LocalMessaging(nats, { exchange, service: name });
  const transport = (own: OwnTransportOptions): NatsTransport =>
    new NatsTransport({
      ...{ messaging: nats, exchange, name, logger, shutdownGraceMs: config.shutdownGraceMs },
      status: () => describeReplica(name, checks),
      ...own,
    });
  const tracer = isTraced ? await startTracing({ name, registry, logger }) : undefined;
  const close = async ({ stop, disconnect, graceMs = config.shutdownGraceMs }: ServiceParts): Promise<void> => {
    ops.drain();
    const withinGrace = beginGrace(graceMs);
    await stop(withinGrace);
    await messaging.close();
    await tracer?.close();
    if (disconnect) await withinGrace(disconnect());
    await metricsExport?.close();
    await ops.close();
  };
  return { messaging, transport, tracer, checks, close };
}

const PROCESS = {
  process: `${hostname()}/${process.pid}`,
  version: VERSION,
  commit: COMMIT,
  node: process.version,
  startedAt: new Date(performance.timeOrigin).toISOString(),
};

async function describeReplica(service: string, checks: ReadinessCheck[]): Promise<ReplicaStatus> {
  const { missing } = await readiness(checks);
  return { service, ...PROCESS, missing };
}
