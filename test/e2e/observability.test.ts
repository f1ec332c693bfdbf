import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { parse } from 'yaml';
import { projectUpdate } from '#contracts/billing/projects.js';
import { registerCertificateExpiry } from '#observability/certificate-expiry.js';
import { freePort } from '#testing/nats-server.js';
import { stack } from '#testing/stack.js';
import { connectAdministrator, createTenant } from '#testing/tenant.js';
import { TestAuthority } from '#testing/test-certificates.js';
import { registerSpanCounts } from '#tracing/span-queue.js';
import { ProxyMetrics } from '../../apps/inference-proxy/src/metrics/proxy-metrics.js';
import { createPaymentsMetrics } from '../../apps/payments/src/payments.metrics.js';
import { prometheusConfig } from '../../scripts/local/prometheus.ts';

/** Set by `npm test` when there is a Prometheus. Without one, the suite is skipped, or fails if `CI` is set. */
const FOUND = process.env.TEST_PROMETHEUS;
// Left out on machines that have no Prometheus and cannot fetch one.
const withPrometheus = FOUND ? describe : describe.skip;

const FOLDER = 'deploy/observability';
/** The upstream-sim is not part of a deployment. */
const SERVICES = ['gateway', 'inference-proxy', 'billing', 'catalog', 'panel'] as const;
const { gatewayUrl, opsUrls } = stack();
const { prometheus, promtool } = JSON.parse(FOUND ?? '{}') as { prometheus: string; promtool: string };

/** A query of a rule or of a panel, and where it stands. */
interface Query {
  place: string;
  expr: string;
}

interface Dashboard {
  panels: Panel[];
  templating: { list: { name: string; query: string }[] };
}

interface Panel {
  title: string;
  targets?: { expr: string }[];
}

const rules = (
  parse(readFileSync(`${FOLDER}/rules.yaml`, 'utf8')) as { groups: { rules: { alert?: string; record?: string; expr: string }[] }[] }
).groups.flatMap((group) => group.rules);
const panels = readdirSync(`${FOLDER}/dashboards`).flatMap((file) => {
  const { panels: all, templating } = JSON.parse(readFileSync(`${FOLDER}/dashboards/${file}`, 'utf8')) as Dashboard;
  // A variable has the values of a label; as a selector that is a query like the others.
  const variables = templating.list.map(({ name, query }) => ({
    title: `$${name}`,
    targets: [...query.matchAll(/^label_values\((\w+), (\w+)\)$/g)].map(([, metric, label]) => ({ expr: `${metric}{${label}=~".*"}` })),
  }));
  return [...all, ...variables].flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ place: `${file}: ${title}`, expr })));
});
const queries: Query[] = [...rules.map(({ alert, record, expr }) => ({ place: alert ?? record ?? '', expr })), ...panels].map(
  ({ place, expr }) => ({ place, expr: expr.replaceAll('$__rate_interval', '1m').replaceAll(/"\$\w+"/g, '".*"') }),
);

const administrator = await connectAdministrator(stack());
const { apiKey } = await createTenant(administrator);
const ruled = await createTenant(administrator);
await administrator.request(projectUpdate, {
  projectId: ruled.projectId,
  policy: { name: 'away', deadlineMs: 1_000, fail: 'open', sendText: false },
});
const ask = async (content: string, stream: boolean, key = apiKey): Promise<void> => {
  const response = await fetch(`${gatewayUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim-fast', stream, messages: [{ role: 'user', content }] }),
  });
  await response.text();
};
await ask('[[sim rate=50 tokens=5]]', true); // slow enough to come in several chunks
await ask('[[sim status=503]]', false);
await ask('hello', false, ruled.apiKey); // the policy does not run
afterAll(() => administrator.close());

withPrometheus('on a live system', () => {
  let scraped: Map<string, string>;
  beforeAll(async () => {
    const texts = SERVICES.map(async (service) => [service, await (await fetch(`${opsUrls[service]}/metrics`)).text()] as const);
    scraped = new Map(await Promise.all(texts));
  });

  test.each(SERVICES)('promtool has no complaint about the metrics of %s', (service) => {
    // Node's own names are those of the client library.
    const ours = (scraped.get(service) ?? '').split('\n').filter((line) => !/^(# (HELP|TYPE) )?(nodejs|process)_/.test(line));
    const { status, stdout, stderr } = spawnSync(promtool, ['check', 'metrics'], { input: ours.join('\n'), encoding: 'utf8' });
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
  });

  test('every metric and label of a rule or panel is there; one that is not is found', async () => {
    const known = labelsByMetric([...scraped.values(), await otherMetrics()].join('\n'));
    for (const { record, expr } of rules) if (record) known.set(record, groupLabels(expr));
    expect(queries.length).toBeGreaterThan(100);
    expect(queries.flatMap((query) => unknownIn(query, known))).toEqual([]);
    const wrong = { place: 'here', expr: 'sum by (colour) (rate(tollgate_gateway_requests_total{kind="a"}[1m])) > tollgate_gone' };
    expect(unknownIn(wrong, known)).toEqual([
      'here: tollgate_gateway_requests_total has no label kind',
      'here: no metric tollgate_gone',
      'here: no metric has the label colour',
    ]);
  });

  describe('Prometheus', () => {
    let server: PrometheusProcess;
    beforeAll(async () => {
      server = await PrometheusProcess.start();
    });
    afterAll(() => server?.stop());

    test('evaluates every rule and every query of a panel without an error', async () => {
      const faults = await Promise.all(
        queries.map(async ({ place, expr }) => {
          const { status, error } = await server.get<unknown>(`/api/v1/query?${new URLSearchParams({ query: expr })}`);
          return status === 'success' ? [] : [`${place}: ${error}`];
        }),
      );
      expect(faults.flat()).toEqual([]);
      const { data } = await server.get<{ groups: { rules: { name: string; health: string }[] }[] }>('/api/v1/rules');
      const health = data.groups.flatMap((group) => group.rules).map(({ name, health: state }) => `${name}: ${state}`);
      expect(health.sort()).toEqual(rules.map(({ alert, record }) => `${alert ?? record}: ok`).sort());
    });
  });
});

/** A Prometheus that scrapes the shared system every second and evaluates the rules as often. */
class PrometheusProcess {
  private constructor(
    private readonly url: string,
    private readonly child: ChildProcess,
    private readonly folder: string,
  ) {}

  /** Resolves when every service was scraped and every rule evaluated. */
  static async start(): Promise<PrometheusProcess> {
    const folder = mkdtempSync('.local/prometheus-');
    const config = join(folder, 'prometheus.json');
    const targets = Object.fromEntries(SERVICES.map((name) => [name, opsUrls[name] ?? '']));
    writeFileSync(config, prometheusConfig({ opsUrls: targets, rules: resolve(FOLDER, 'rules.yaml'), interval: '1s' }));
    const url = `http://127.0.0.1:${await freePort()}`;
    const options = [`--config.file=${config}`, `--storage.tsdb.path=${join(folder, 'data')}`, `--web.listen-address=${new URL(url).host}`];
    const server = new PrometheusProcess(url, spawn(prometheus, options, { stdio: 'ignore' }), folder);
    while (!(await server.hasEvaluated())) await delay(100);
    return server;
  }

  async get<Data>(path: string): Promise<{ status: string; error?: string; data: Data }> {
    return (await (await fetch(this.url + path)).json()) as { status: string; error?: string; data: Data };
  }

  async stop(): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.kill();
    await ended;
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async hasEvaluated(): Promise<boolean> {
    if (this.child.exitCode !== null) throw new Error(`Prometheus ended: ${this.child.exitCode}`);
    try {
      const targets = await this.get<{ activeTargets: { health: string }[] }>('/api/v1/targets');
      const { data } = await this.get<{ groups: { rules: { health: string }[] }[] }>('/api/v1/rules');
      const healths = [...targets.data.activeTargets, ...data.groups.flatMap((group) => group.rules)].map(({ health }) => health);
      return healths.length > SERVICES.length && !healths.includes('unknown');
    } catch {
      return false; // it does not listen yet
    }
  }
}

/** Metrics of a file with a certificate, of traces, of an upstream's token and of payments: the system of the tests has none of them. */
function otherMetrics(): Promise<string> {
  const registry = new Registry();
  const upstreams = [{ upstream: 'vertex', inUse: 0, connectionsMax: 1, hasToken: true }];
  const metrics = new ProxyMetrics(registry);
  metrics.watch(() => ({ routes: [], models: [], upstreams }));
  metrics.ofRoute({ id: 'vertex', kind: 'gemini' }, 'm', 'theirs').paid(0n);
  createPaymentsMetrics(registry);
  registerSpanCounts(registry, { exported: 0, failed: 0, dropped: 0 });
  registerCertificateExpiry(registry, () => [{ name: 'ca.pem', read: () => Buffer.from(new TestAuthority().cert) }]);
  return registry.metrics();
}

/** Labels that Prometheus adds to each target, in Kubernetes or elsewhere. */
const OF_TARGETS = ['job', 'instance', 'namespace'];

function labelsByMetric(text: string): Map<string, Set<string>> {
  const known = new Map<string, Set<string>>([
    ['up', new Set(OF_TARGETS)],
    ['ALERTS', new Set(['alertname', 'alertstate', 'severity'])],
  ]);
  for (const [, name = '', inBraces = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const labels = known.get(name) ?? new Set(OF_TARGETS);
    for (const [, label = ''] of inBraces.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)) labels.add(label);
    known.set(name, labels);
  }
  return known;
}

/** Labels that the result of an aggregation keeps. */
function groupLabels(expr: string): Set<string> {
  return new Set([...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(',').map((label) => label.trim())));
}

/** Complaints about metrics and labels that the live system does not have. */
function unknownIn({ place, expr }: Query, known: Map<string, Set<string>>): string[] {
  const complaints: string[] = [];
  const present = new Set<string>();
  const selectors = expr.replaceAll(/\bby \([^)]*\)/g, '');
  for (const [, name = '', inBraces = ''] of selectors.matchAll(
    /\b((?:tollgate|gen_ai|nodejs|process)[\w:]+|up|ALERTS)\b(?:\{([^}]*)\})?/g,
  )) {
    const labels = known.get(name);
    if (!labels) complaints.push(`${place}: no metric ${name}`);
    for (const label of labels ?? []) present.add(label);
    for (const [, label = ''] of inBraces.matchAll(/(\w+)\s*[=!]~?"/g))
      if (labels && !labels.has(label)) complaints.push(`${place}: ${name} has no label ${label}`);
  }
  for (const label of groupLabels(expr)) if (!present.has(label)) complaints.push(`${place}: no metric has the label ${label}`);
  return complaints;
}
