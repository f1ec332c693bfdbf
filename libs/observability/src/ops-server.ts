import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client';
import { VERSION } from '#config/version.js';

/** A dependency that the service needs to work. Only readiness checks it: liveness never depends on another process. */
export interface ReadinessCheck {
  name: string;
  check(): boolean | Promise<boolean>;
  /** The reason for the last result, for the operator. */
  detail?(): string | undefined;
}

export interface OpsServer {
  readonly port: number;
  /** Makes `/readyz` answer 503, so that load balancers send no new work. */
  drain(): void;
  close(): Promise<void>;
}

/** Serves `/livez`, `/readyz` and `/metrics` on a port of their own. A 503 names the failed checks. */
export async function startOpsServer(options: {
  host: string;
  port: number;
  checks: ReadinessCheck[];
  registry: Registry;
}): Promise<OpsServer> {
  const { host, port, checks, registry } = options;
  collectDefaultMetrics({ register: registry });
  registerBuildInfo(registry);
  let draining = false;
  const server = createServer((request, response) => {
    const reply = (status: number, body: string, type = 'application/json'): void => {
      response.writeHead(status, { 'content-type': type }).end(body);
    };
    const path = (request.url ?? '').split('?')[0];
    if (path === '/livez') return reply(200, '{"status":"ok"}');
    if (path === '/readyz') {
      void readiness(checks, draining).then(({ ready, missing, notes }) =>
        reply(ready ? 200 : 503, JSON.stringify({ status: ready ? 'ok' : 'unavailable', missing, notes })),
      );
      return;
    }
    if (path === '/metrics') {
      registry.metrics().then(
        (text) => reply(200, text, registry.contentType),
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

/** A metric that is always 1, with the version as a label. Join it with another metric to see which version changed that one. */
export function registerBuildInfo(registry: Registry): void {
  const labels = { version: VERSION, node: process.version };
  new Gauge({
    name: 'tollgate_build_info',
    help: 'Version of the running service; the value is always 1',
    labelNames: Object.keys(labels),
    registers: [registry],
  }).set(labels, 1);
}

/** Runs every check. A check that throws has failed. `notes` has the details of checks that passed. */
async function readiness(checks: ReadinessCheck[], draining = false): Promise<{ ready: boolean; missing: string[]; notes?: string[] }> {
  const results = await Promise.all(checks.map(attempt));
  const named = (passed: boolean): string[] => results.flatMap((result) => (result.passed === passed ? result.text : []));
  const missing = [...(draining ? ['shutting-down'] : []), ...named(false)];
  const notes = named(true);
  return { ready: missing.length === 0, missing, ...(notes.length > 0 && { notes }) };
}

/** `text` is the name of a failed check and its detail, if any. For a passed check it is empty without a detail. */
async function attempt(one: ReadinessCheck): Promise<{ passed: boolean; text: string | [] }> {
  try {
    const passed = await one.check();
    const detail = one.detail?.();
    if (detail !== undefined) return { passed, text: `${one.name}: ${detail}` };
    return { passed, text: passed ? [] : one.name };
  } catch {
    return { passed: false, text: one.name };
  }
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
}
