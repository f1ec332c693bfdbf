import { collectDefaultMetrics, Registry } from 'prom-client';
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
    const checks = (): ReadinessCheck[] => expected.flatMap((name) => shared.listChecks(name));
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

  private listChecks(name: string): ReadinessCheck[] {
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

const COMMENT = /^# (?:HELP|TYPE|UNIT) (\S+)/;
const EOF = '# EOF';

/** Joins texts of metrics to one, in which each metric stands once with the samples of all texts. Both formats forbid to repeat a metric. */
function mergeMetrics(texts: readonly string[]): string {
  const families = new Map<string, { from: number; head: string[]; samples: string[] }>();
  for (const [from, text] of texts.entries()) {
    let name = '';
    for (const line of text.split('\n').filter((one) => one !== '' && one !== EOF)) {
      name = COMMENT.exec(line)?.[1] ?? name;
      const family = families.get(name) ?? { from, head: [], samples: [] };
      families.set(name, family);
      if (!line.startsWith('# ')) family.samples.push(line);
      else if (family.from === from) family.head.push(line);
    }
  }
  const isOpen = texts.some((text) => text.endsWith(`${EOF}\n`));
  const lines = [...families.values()].flatMap(({ head, samples }) => [...head, ...samples]);
  return `${[...lines, ...(isOpen ? [EOF] : [])].join('\n')}\n`;
}
