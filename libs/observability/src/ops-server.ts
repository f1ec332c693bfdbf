import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { COMMIT, VERSION } from '#config/version.js';
import { OPENMETRICS_CONTENT_TYPE, writeMetrics } from './open-metrics.js';
import { type ReadinessCheck, readiness } from './readiness.js';

/** The part of an ops server that belongs to one service. */
export interface OpsPart {
  /** Makes `/readyz` answer 503, so that load balancers send no new work. */
  drain(): void;
  close(): Promise<void>;
}

export interface OpsServer extends OpsPart {
  readonly port: number;
}

const TEXT_CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;
const SHUTTING_DOWN: ReadinessCheck = { name: 'shutting-down', check: () => false };

/**
 * Serves `/livez`, `/readyz` and `/metrics` on a port of their own. A 503 names the failed checks. Metrics are OpenMetrics for a client that
 * accepts it, as Prometheus does, otherwise Prometheus' older text format.
 */
export async function startOpsServer(options: {
  host: string;
  port: number;
  checks: ReadinessCheck[];
  registry: Registry;
}): Promise<OpsServer> {
  const { registry, checks } = options;
  collectDefaultMetrics({ register: registry });
  registerProcessMetrics(registry);
  const metrics = (isOpen: boolean) => writeMetrics(registry, isOpen);
  return serveOps({ ...options, metrics, checks: () => checks });
}

interface OpsContent {
  host: string;
  port: number;
  checks(): readonly ReadinessCheck[];
  /** Returns the text of all metrics, as OpenMetrics or in Prometheus' older format. */
  metrics(isOpen: boolean): Promise<string>;
}

/** Serves `/livez`, `/readyz` and `/metrics` until it is closed. */
export async function serveOps({ host, port, checks, metrics }: OpsContent): Promise<OpsServer> {
  let draining = false;
  const server = createServer((request, response) => {
    const reply = (status: number, body: string, type = 'application/json'): void => {
      response.writeHead(status, { 'content-type': type }).end(body);
    };
    const path = (request.url ?? '').split('?')[0];
    if (path === '/livez') return reply(200, '{"status":"ok"}');
    if (path === '/readyz') {
      void readiness(draining ? [SHUTTING_DOWN, ...checks()] : checks()).then(({ ready, missing, notes }) => {
        const body = { status: ready ? 'ok' : 'unavailable', missing, ...(notes.length > 0 && { notes }) };
        reply(ready ? 200 : 503, JSON.stringify(body));
      });
      return;
    }
    if (path === '/metrics') {
      const isOpen = request.headers.accept?.includes('application/openmetrics-text') === true;
      metrics(isOpen).then(
        (text) => reply(200, text, isOpen ? OPENMETRICS_CONTENT_TYPE : TEXT_CONTENT_TYPE),
        () => reply(500, '{"status":"error"}'),
      );
      return;
    }
    reply(404, '{"status":"not found"}');
  });
  await listen(server, host, port);
  return {
    port: (server.address() as AddressInfo).port,
    drain: () => {
      draining = true;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Registers the metrics of a process that Node's own lack. */
export function registerProcessMetrics(registry: Registry): void {
  registerBuildInfo(registry);
  registerEventLoopUtilization(registry);
}

/** A metric that is always 1, with the build as labels. Join it with another metric to see which version changed that one. */
function registerBuildInfo(registry: Registry): void {
  const labels = { version: VERSION, commit: COMMIT, node: process.version };
  new Gauge({
    name: 'tollgate_build_info',
    help: 'Build of the running service; the value is always 1',
    labelNames: Object.keys(labels),
    registers: [registry],
  }).set(labels, 1);
}

/** A metric of how busy the one thread of this process is. The lag of the event loop is among Node's own metrics. */
function registerEventLoopUtilization(registry: Registry): void {
  let before = performance.eventLoopUtilization();
  new Gauge({
    name: 'tollgate_event_loop_utilization',
    help: 'Share of the time since the last scrape in which the event loop was busy, from 0 to 1',
    registers: [registry],
    collect() {
      const now = performance.eventLoopUtilization();
      this.set(performance.eventLoopUtilization(now, before).utilization);
      before = now;
    },
  });
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
}
