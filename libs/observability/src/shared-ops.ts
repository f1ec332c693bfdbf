import { collectDefaultMetrics, Registry } from 'prom-client';
import { mergeMetrics } from './merge-metrics.js';
import { writeMetrics } from './open-metrics.js';
import { type OpsPart, type OpsServer, registerProcessMetrics, serveOps } from './ops-server.js';
import type { ReadinessCheck } from './readiness.js';

interface Part {
  name: string;
  registry: Registry;
  checks: readonly ReadinessCheck[];
}

/**
 * The ops port of a process with several services. `/readyz` names the service of each check. Metrics of a service have it as their label
 * `job`, which a scrape with `honor_labels` keeps: rules and dashboards are those of services with processes of their own.
 */
export class SharedOps {
  private readonly process = new Registry();
  private readonly parts: Part[] = [];
  private server: OpsServer | undefined;

  private constructor() {
    collectDefaultMetrics({ register: this.process });
    registerProcessMetrics(this.process);
  }

  /** Opens the port. The process is ready when the parts that are added are; `expected` names them. */
  static async start({ host, port, expected }: { host: string; port: number; expected: readonly string[] }): Promise<SharedOps> {
    const shared = new SharedOps();
    const checks = (): ReadinessCheck[] => expected.flatMap((name) => shared.checksOf(name));
    shared.server = await serveOps({ host, port, checks, metrics: (isOpen) => shared.metrics(isOpen) });
    return shared;
  }

  get port(): number {
    return this.server?.port ?? 0;
  }

  /** Adds a service. Its drain is that of the process; its metrics stay until the process ends. */
  add(part: Part): OpsPart {
    this.parts.push(part);
    return { drain: () => this.server?.drain(), close: () => Promise.resolve() };
  }

  async close(): Promise<void> {
    await this.server?.close();
  }

  private checksOf(name: string): ReadinessCheck[] {
    const part = this.parts.find((one) => one.name === name);
    if (part === undefined) return [{ name, check: () => false }];
    return part.checks.map((one) => ({ name: `${name}: ${one.name}`, check: () => one.check(), detail: () => one.detail?.() }));
  }

  private async metrics(isOpen: boolean): Promise<string> {
    const own = this.parts.map(({ name, registry }) => writeMetrics(registry, isOpen, { job: name }));
    const texts = [writeMetrics(this.process, isOpen), ...own];
    return mergeMetrics(await Promise.all(texts));
  }
}
