import 'reflect-metadata';
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Registry } from 'prom-client';
import { ServiceConfig } from '#config/service-config.js';
import { MONEY_EVENT_KINDS } from '#contracts/billing/events.js';
import { watchPool } from '#database/pool-metrics.js';
import { createNatsMetrics } from '#messaging/nats-metrics.js';
import { ForwardProxyConfig } from '#network/forward-proxy/forward-proxy.config.js';
import { registerCertificateExpiry } from '#observability/certificate-expiry.js';
import { registerProcessMetrics } from '#observability/ops-server.js';
import { MetricsExportConfig } from '#observability/otlp/metrics-export.config.js';
import { registerSpanCounts } from '#tracing/span-queue.js';
import { TracingConfig } from '#tracing/tracing.config.js';
import { BillingConfig } from '../../apps/billing/src/billing.config.js';
import { createBillingMetrics, watchLanes } from '../../apps/billing/src/billing.metrics.js';
import { CatalogConfig } from '../../apps/catalog/src/catalog.config.js';
import { createCatalogMetrics } from '../../apps/catalog/src/catalog.metrics.js';
import { GatewayConfig } from '../../apps/gateway/src/gateway.config.js';
import { createGatewayMetrics, registerGauges } from '../../apps/gateway/src/http/gateway-metrics.js';
import { InferenceProxyConfig } from '../../apps/inference-proxy/src/inference-proxy.config.js';
import { ProxyMetrics } from '../../apps/inference-proxy/src/metrics/proxy-metrics.js';
import { createPanelMetrics } from '../../apps/panel/src/http/panel-metrics.js';
import { SsoProviderConfig } from '../../apps/panel/src/identity/sso/sso-provider.config.js';
import { PanelConfig } from '../../apps/panel/src/panel.config.js';
import { PaymentsConfig } from '../../apps/payments/src/payments.config.js';
import { createPaymentsMetrics } from '../../apps/payments/src/payments.metrics.js';

/** Pages whose links, settings and metrics are checked. */
const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CHANGELOG.md',
  ...pagesBelow('docs'),
  ...pagesBelow('apps'),
  ...pagesBelow('libs'),
  ...pagesBelow('bench'),
  ...pagesBelow('conformance'),
];
/** Pages with tables of settings and metrics. */
const OPERATIONS = ['docs/operations.md', 'docs/metrics.md', 'docs/panel.md', 'docs/tracing.md', 'docs/observability.md']
  .map((page) => readFileSync(page, 'utf8'))
  .join('\n\n');

function pagesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return ['node_modules', 'generated', 'src', '__fixtures__'].includes(entry.name) ? [] : pagesBelow(path);
    return entry.name.endsWith('.md') ? [path] : [];
  });
}

test('every link resolves in the repository', () => {
  expect(PAGES.length).toBeGreaterThan(15);
  const links = PAGES.flatMap((page) =>
    [...readFileSync(page, 'utf8').matchAll(/\]\(([^)#\s]+)/g)].map(([, target = '']) => ({ page, target })),
  ).filter(({ target }) => !/^[a-z]+:/.test(target));
  expect(links.length).toBeGreaterThan(20);
  expect(links.filter(({ page, target }) => !existsSync(join(dirname(page), target)))).toEqual([]);
});

test('every file and folder that a page names exists', () => {
  const paths = readdirSync('.');
  for (const folder of ['apps', 'libs', 'docs', 'k8s', 'scripts', 'test', 'bench', 'conformance', 'config', 'prisma', 'site']) {
    const below = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => !path.includes('node_modules'));
    paths.push(...below.map((path) => `${folder}/${path}`));
  }
  const endings = new Set(paths.flatMap((path) => path.split('/').map((_, at, parts) => parts.slice(at).join('/'))));
  const named = PAGES.flatMap((page) =>
    [
      ...readFileSync(page, 'utf8').matchAll(
        /`((?:apps|libs|docs|k8s|scripts|test|bench|conformance|config|prisma)\/[^`\s<*…]+|[\w./-]+\.(?:ts|mjs))`/g,
      ),
    ].map(([, name = '']) => ({ page, name: name.replace(/\/$/, '') })),
  );
  expect(named.length).toBeGreaterThan(100);
  expect(named.filter(({ name }) => !endings.has(name))).toEqual([]);
});

test.each([
  [
    'metric of every service',
    (registry) => {
      registerProcessMetrics(registry);
      createNatsMetrics(registry);
      registerCertificateExpiry(registry, () => []);
    },
  ],
  ['metric of billing, catalog, panel and payments', (registry) => watchPool({} as Parameters<typeof watchPool>[0], registry)],
  ['metric of the gateway', gatewayMetrics],
  ['metric of billing', billingMetrics],
  ['metric of the catalog', createCatalogMetrics],
  ['metric of the panel', createPanelMetrics],
  ['metric of payments', createPaymentsMetrics],
  ['metric of traces', (registry) => registerSpanCounts(registry, { exported: 0, failed: 0, dropped: 0 })],
  ['metric of the inference-proxy', (registry) => new ProxyMetrics(registry).watch(() => ({ routes: [], models: [], upstreams: [] }))],
] as [string, (registry: Registry) => unknown][])(
  'the pages have each metric with its type, its labels and its number of series, and no other: %s',
  (title, register) => {
    const registry = new Registry();
    register(registry);
    const exported = registry.getMetricsAsArray() as unknown as { name: string; type: string; labelNames: string[] }[];
    const rows = findTable(title).filter(([name = '']) => name.startsWith('`'));
    expect(rows.filter(([, , , series]) => !/^\d/.test(series ?? ''))).toEqual([]);
    const documented = rows.map(([name = '', type, labels = '']) => ({ name: name.replaceAll('`', ''), type, labels: labelsIn(labels) }));
    // Labels of `gen_ai` metrics are set elsewhere. The page lists the labels of a route once, above the table.
    const expected = exported.map(({ name, type, labelNames }) => ({
      name,
      type,
      labels: name.startsWith('gen_ai') ? expect.anything() : labelNames,
    }));
    expect(documented.sort(byName)).toEqual(expected.sort(byName));
  },
);

test('docs/webhooks.md names the writer of each kind of money event', () => {
  const [, table = ''] = /^\| kind \| written by \|\n.*\n((?:\|.*\n)+)/m.exec(readFileSync('docs/webhooks.md', 'utf8')) ?? [];
  const writers = table
    .trimEnd()
    .split('\n')
    .flatMap((row) => {
      const [kinds = [], places = []] = row.split(' | ').map((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name));
      return kinds.map((kind) => ({ kind, places }));
    });
  const migrations = globSync('prisma/migrations/*/migration.sql')
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');
  const readText = (place: string): string => {
    if (place.includes('/')) return readFileSync(place, 'utf8');
    const [trigger = '', name = ''] =
      new RegExp(`^CREATE TRIGGER ${place} .*?EXECUTE FUNCTION ([\\w.]+)\\([^)]*\\);$`, 'ms').exec(migrations) ?? [];
    return trigger + (new RegExp(`^CREATE FUNCTION ${name}\\(.*?^\\$\\$;$`, 'ms').exec(migrations)?.[0] ?? '');
  };
  expect(writers.map(({ kind }) => kind).sort()).toEqual([...MONEY_EVENT_KINDS].sort());
  expect(
    writers.flatMap(({ kind, places }) =>
      places.filter((place) => !readText(place).includes(`'${kind}'`)).map((place) => `${place}: ${kind}`),
    ),
  ).toEqual([]);
});

const METRIC_NAMES = /(?<=name: '|(?:counter|[gG]auge|histogram)\(\s*'|scrape\(\w+, '|countByRoute\(')(?:tollgate|gen_ai)_\w+(?=')/g;

test('the pages name exactly the metrics of the code', () => {
  const inCode = new Set(['apps', 'libs'].flatMap(sourcesBelow).flatMap((text) => text.match(METRIC_NAMES) ?? []));
  const inTables = OPERATIONS.matchAll(/^\| `((?:tollgate|gen_ai)_\w+)` \| (?:counter|gauge|histogram) \|/gm);
  expect([...inTables].map(([, name]) => name).sort()).toEqual([...inCode].sort());
  const named = PAGES.flatMap((page) =>
    [...readFileSync(page, 'utf8').matchAll(/`(tollgate_(?:nats|gateway|billing|catalog|panel|payments|upstream|model)_\w+)/g)].map(
      ([, name = '']) => name,
    ),
  );
  expect(named.filter((name) => !inCode.has(name))).toEqual([]);
});

function byName(one: { name: string }, other: { name: string }): number {
  return one.name.localeCompare(other.name);
}

function labelsIn(cell: string): string[] {
  const own = [...cell.matchAll(/`(\w+)`/g)].map(([, label = '']) => label);
  return cell.startsWith('those of a route') ? ['upstream', 'model', 'upstream_model', ...own] : own;
}

function billingMetrics(registry: Registry): void {
  createBillingMetrics(registry);
  watchLanes(registry, { queued: 0, waitingMs: 0 });
}

function gatewayMetrics(registry: Registry): void {
  createGatewayMetrics(registry);
  registerGauges(registry, {} as Parameters<typeof registerGauges>[1]);
}

function sourcesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .map((file) => readFileSync(join(folder, file), 'utf8'));
}

test.each([
  ['every service on NATS', ServiceConfig, []],
  ['billing, inference-proxy, panel and payments', ForwardProxyConfig, Object.keys(new ServiceConfig())],
  ['gateway', GatewayConfig, Object.keys(new ServiceConfig())],
  ['billing', BillingConfig, Object.keys(new ForwardProxyConfig())],
  ['catalog', CatalogConfig, Object.keys(new ServiceConfig())],
  ['panel', PanelConfig, Object.keys(new ForwardProxyConfig())],
  ['payments', PaymentsConfig, Object.keys(new ForwardProxyConfig())],
  ['setting of a provider', SsoProviderConfig, []],
  ['inference-proxy', InferenceProxyConfig, Object.keys(new ForwardProxyConfig())],
  ['setting of traces', TracingConfig, ['otelExporterOtlpEndpoint', 'otelExporterOtlpTracesEndpoint']],
  [
    'setting of metrics by OTLP',
    MetricsExportConfig,
    ['otelExporterOtlpEndpoint', 'otelExporterOtlpMetricsEndpoint', 'otelExporterOtlpProtocol'],
  ],
] as [string, new () => object, string[]][])('the pages name each setting with its default: %s', (title, Config, shared) => {
  const settings = Object.entries(new Config())
    .filter(([property]) => !shared.includes(property))
    .map(([property, initial]) => [variableName(property), initial === '' || Number.isNaN(initial) ? 'required' : String(initial)]);
  expect(Object.fromEntries(settingsIn(title))).toEqual(Object.fromEntries(settings));
});

test.each([
  ['billing', BillingConfig],
  ['catalog', CatalogConfig],
  ['inference-proxy', InferenceProxyConfig],
  ['gateway', GatewayConfig],
  ['panel', PanelConfig],
  ['payments', PaymentsConfig],
] as [string, new () => object][])(
  'the README of a service names each setting of its own, or the page that does: %s',
  (service, Config) => {
    const page = readFileSync(`apps/${service}/README.md`, 'utf8');
    const own = Object.keys(new Config()).filter((property) => !(property in new ServiceConfig()));
    const missing = own.map(variableName).filter((name) => !page.includes(`\`${name}\``));
    expect(/docs\/(operations|panel)\.md#settings/.test(page) ? [] : missing).toEqual([]);
  },
);

/** Settings of a table with their defaults. A row may have several names, with one default each or one for all. */
function settingsIn(title: string): [string, string][] {
  return findTable(title).flatMap(([names = '', defaults = '']) => {
    const values = defaults.split(',').map((value) => value.replaceAll('`', '').trim());
    const found = [...names.matchAll(/`([A-Z][A-Z_]+)`/g)];
    return found.map(([, name = ''], index): [string, string] => [name, values[values.length === 1 ? 0 : index] ?? '']);
  });
}

/** Cells of the table whose first heading is `title`. */
function findTable(title: string): string[][] {
  const table = OPERATIONS.split(/\n\n/).find((block) => block.startsWith(`| ${title} |`));
  if (!table) throw new Error(`no page has a table "${title}"`);
  return table.split('\n').map((row) =>
    row
      .split('|')
      .slice(1)
      .map((cell) => cell.trim()),
  );
}

function variableName(property: string): string {
  return property.replace(/[A-Z]/g, (capital) => `_${capital}`).toUpperCase();
}
