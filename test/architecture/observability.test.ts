import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { observabilityFiles, RUNBOOKS } from '../../scripts/observability/observability-files.ts';

interface Rules {
  groups: { rules: { alert?: string; expr: string; annotations?: { summary: string; runbook_url: string } }[] }[];
}

interface RuleTests {
  tests: { name: string; promql_expr_test: { exp_samples: { labels: string; value: number }[] }[] }[];
}

interface Compose {
  services: Record<string, { profiles?: string[]; environment?: Record<string, string | null>; volumes?: string[]; networks: string[] }>;
}

interface ScrapeConfig {
  scrape_configs: ScrapeJob[];
}

interface ScrapeJob {
  job_name: string;
  honor_labels?: boolean;
  static_configs?: { targets: string[] }[];
  /** Names that may be unknown. */
  dns_sd_configs?: { names: string[]; type: 'A'; port: number }[];
}

const FOLDER = 'deploy/observability';
const rules = parse(readFileSync(`${FOLDER}/rules.yaml`, 'utf8')) as Rules;
const alerts = rules.groups.flatMap(({ rules: some }) => some).filter(({ alert }) => alert !== undefined);
const runbooks = readFileSync('docs/runbooks.md', 'utf8');

test('the files that `node scripts/observability.ts` writes are current', () => {
  const written = observabilityFiles();
  const committed = Object.fromEntries(Object.keys(written).map((path) => [path, readFileSync(path, 'utf8')]));
  expect(committed).toEqual(written);
});

describe('a dashboard', () => {
  const dashboards = readdirSync(`${FOLDER}/dashboards`).map((file) => readFileSync(`${FOLDER}/dashboards/${file}`, 'utf8'));

  test('has the types of Grafana’s SDK', () => {
    expect(dashboards.length).toBe(3);
    expect(dashboards.map(typeFaults)).toEqual(['', '', '']);
  });

  test.each([
    ['an unknown field of a panel', '"gridPos"', '"gridPosition"'],
    ['an unknown field of a query', '"expr"', '"expression"'],
    ['a value of a wrong type', '"unit": "reqps"', '"unit": 1'],
  ])('with %s is found', (_fault, before, after) => {
    expect(typeFaults(readFileSync(`${FOLDER}/dashboards/traffic.json`, 'utf8').replace(before, after))).toMatch(/error TS2/);
  });
});

/** Types of the SDK as JSON: an enum is its values, and a query is one for Prometheus. */
const JSON_TYPES = `
import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import type { Dataquery } from '@grafana/grafana-foundation-sdk/prometheus';
type Json<T> = T extends string ? \`\${T}\` : T extends number | boolean ? T : unknown extends T ? unknown
  : T extends readonly (infer Item)[] ? Json<Item>[]
  : { [Key in keyof T as T[Key] extends () => void ? never : Key]: Key extends 'targets' ? Json<Dataquery>[] : Json<T[Key]> };
`;

/** Returns what the compiler says against a dashboard. */
function typeFaults(dashboard: string): string {
  mkdirSync('.local', { recursive: true });
  const folder = mkdtempSync('.local/dashboard-');
  const file = join(folder, 'dashboard.ts');
  writeFileSync(file, `${JSON_TYPES}export const dashboard: Json<Dashboard> = ${dashboard};`);
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2023', '--ignoreConfig'];
  const { stdout, stderr } = spawnSync(process.execPath, ['node_modules/typescript-7/bin/tsc', ...options, file], { encoding: 'utf8' });
  rmSync(folder, { recursive: true });
  return stdout + stderr;
}

test('each metric of docs/metrics.md is in a panel', () => {
  const dashboards = readdirSync(`${FOLDER}/dashboards`).map((file) => readFileSync(`${FOLDER}/dashboards/${file}`, 'utf8'));
  const shown = new Set(dashboards.flatMap((text) => text.match(/\b(?:tollgate|gen_ai)_\w+/g) ?? []));
  const isShown = (name: string) => [name, `${name}_bucket`, `${name}_sum`].some((series) => shown.has(series));
  const names = [...readFileSync('docs/metrics.md', 'utf8').matchAll(/^\| `(\w+)` \| (?:counter|gauge|histogram) /gm)].map(
    ([, name]) => name,
  );
  expect(names.length).toBeGreaterThan(60);
  expect(names.filter((name = '') => !isShown(name))).toEqual([]);
});

test('promtool sees each alert silent and then firing alone', () => {
  const { tests } = parse(readFileSync(`${FOLDER}/rules.test.yaml`, 'utf8'), { maxAliasCount: -1 }) as RuleTests;
  const shown = tests.map(({ name, promql_expr_test }) => [name, promql_expr_test.map(({ exp_samples }) => exp_samples)]);
  expect(shown).toEqual(alerts.map(({ alert }) => [alert, [[], [{ labels: `{alertname="${alert}"}`, value: 1 }]]]));
});

test('each alert has a section of docs/runbooks.md with its meaning, three commands and its end; there is no other section', () => {
  const sections = new Map(
    runbooks
      .split(/^### /m)
      .slice(1)
      .map((section) => [section.split('\n', 1)[0] ?? '', section]),
  );
  const named = alerts.map(({ annotations }) => annotations?.runbook_url);
  const anchors = [...sections.keys()].map((title) => `${RUNBOOKS}#${title.toLowerCase()}`);
  expect([...new Set(named)]).toEqual(anchors);
  expect(URL.canParse(RUNBOOKS)).toBe(true);
  const faults = [...sections].filter(([, section]) => {
    const [, commands = ''] = /```sh\n([\s\S]*?)\n```/.exec(section) ?? [];
    return commands.split('\n').length !== 3 || !/\*\*Means\.\*\*[\s\S]+\*\*Customers see\*\*[\s\S]+```sh[\s\S]+\*\*Ends\*\*/.test(section);
  });
  expect(faults.map(([title]) => title)).toEqual([]);
});

test.each([
  ['prometheus.yaml', ['gateway', 'inference-proxy', 'billing', 'catalog', 'panel', 'payments']],
  ['prometheus-one-process.yaml', ['tollgate', 'payments']],
])('%s: Prometheus in Compose scrapes every program, as a job of its name, over a network that both have', (file, programs) => {
  const { services } = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }) as Compose;
  const networks = new Set(services.prometheus?.networks);
  const reached = programs.flatMap((name) => {
    const { environment = {}, networks: own = [] } = services[name] ?? {};
    return environment.OPS_PORT && own.some((network) => networks.has(network)) ? [[name, [`${name}:${environment.OPS_PORT}`]]] : [];
  });
  const { scrape_configs: jobs } = parse(readFileSync(`${FOLDER}/${file}`, 'utf8')) as ScrapeConfig;
  const targets = ({ static_configs: fixed = [], dns_sd_configs: found = [] }: ScrapeJob) => [
    ...fixed.flatMap((config) => config.targets),
    ...found.flatMap(({ names, port }) => names.map((name) => `${name}:${port}`)),
  ];
  expect(jobs.map((job) => [job.job_name, targets(job)])).toEqual(reached);
  // One that may not run has no target then, so that no alert fires.
  expect(jobs.filter(({ dns_sd_configs: found }) => found).map(({ job_name: name }) => name)).toEqual(
    programs.filter((name) => services[name]?.profiles?.includes(name)),
  );
  expect(reached.map(([name]) => name)).toEqual(programs);
  expect(jobs.filter(({ honor_labels: honors }) => honors).map(({ job_name: name }) => name)).toEqual(
    programs.filter((name) => name === 'tollgate'),
  );
});

/** Services with an ops port. */
const measured = readdirSync('apps').filter((app) =>
  readdirSync(`apps/${app}/src`).some(
    (file) => /^start-.*\.ts$/.test(file) && readFileSync(`apps/${app}/src/${file}`, 'utf8').includes('openService('),
  ),
);

test('an alert that names several jobs names every program', () => {
  const named = alerts.flatMap(({ expr }) => [...expr.matchAll(/job=~"([^"]+)"/g)].map(([, jobs = '']) => jobs.split('|').sort()));
  expect(named.length).toBeGreaterThan(1);
  expect(named).toEqual(named.map(() => [...measured, 'tollgate'].sort()));
});

test('every service with metrics or traces in Compose takes the endpoint of the shell, and shares a network with the collector', () => {
  const { services } = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }) as Compose;
  const collected = services['otel-collector']?.networks ?? [];
  const exporting = Object.entries(services).filter(([, { environment = {} }]) => environment.OTEL_EXPORTER_OTLP_ENDPOINT === null);
  expect(exporting.map(([name]) => name).sort()).toEqual([...measured, 'tollgate']);
  expect(exporting.filter(([, { networks }]) => !networks.some((network) => collected.includes(network)))).toEqual([]);
  const { receivers } = parse(readFileSync(`${FOLDER}/otel-collector.yaml`, 'utf8')) as {
    receivers: { otlp: { protocols: { http: { endpoint: string } } } };
  };
  const { port } = new URL(`http://${receivers.otlp.protocols.http.endpoint}`);
  for (const page of ['docs/observability.md', 'docker-compose.yml', '.env.example'])
    expect(readFileSync(page, 'utf8')).toContain(`OTEL_EXPORTER_OTLP_ENDPOINT=http://otel-collector:${port}`);
});

test('files that Compose mounts exist', () => {
  const { services } = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }) as Compose;
  const files = Object.values(services).flatMap(({ profiles, volumes = [] }) =>
    profiles?.includes('observability')
      ? volumes.map((volume) => volume.split(':', 1)[0] ?? '').filter((path) => path.startsWith('./'))
      : [],
  );
  expect(files.length).toBeGreaterThan(5);
  expect(files.filter((path) => !existsSync(path))).toEqual([]);
});
