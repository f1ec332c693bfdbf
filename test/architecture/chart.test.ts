import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { parse, parseAllDocuments } from 'yaml';
import { chartFiles } from '../../scripts/chart/chart-files.ts';
import { COMPONENTS, hasKubectl, type KubernetesObject, LAYOUTS, renderObjects } from '../../scripts/chart/render-objects.ts';
import { camelCase } from '../../scripts/chart/template-lines.ts';
import { renderTemplate } from './render-template.js';

interface ChartValues {
  [key: string]: unknown;
  image: { tag: string };
  components: Record<string, { enabled: boolean }>;
}

const VERSION = (JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }).version;

/** Each layout with components by themselves and together; `keda` stands for `hpa`. */
const SETS = [[], ...COMPONENTS.map((name) => [name]), COMPONENTS.filter((name) => name !== 'keda')];
const CASES = LAYOUTS.flatMap((layout) => SETS.map((components) => ({ layout, components })));

const chart = hasKubectl ? chartFiles() : {};
// Skipped without kubectl, which renders the objects.
const withChart = hasKubectl ? test : test.skip;

withChart.each(CASES)('the chart renders the objects of kustomize: $layout, $components', ({ layout, components }) => {
  const objects = renderChart((values) => {
    values.image.tag = 'local';
    values.oneProcess = layout === 'one-process';
    for (const name of components) Object.assign(values.components[camelCase(name)] ?? {}, { enabled: true });
  });
  expect(sorted(objects)).toEqual(sorted(renderObjects(components, layout)));
});

withChart('the chart and the image have the version of package.json', () => {
  expect(parse(chart['Chart.yaml'] ?? '')).toMatchObject({ version: VERSION, appVersion: VERSION });
});

withChart('values reach their places; the tag of the image is by default that of the chart', () => {
  const objects = renderChart((values) => {
    Object.assign(values, { host: 'ai.example.org', imagePullSecrets: [{ name: 'registry' }] });
    Object.assign(values.gateway as object, {
      replicas: 7,
      resources: { limits: { memory: '4Gi' } },
      env: [{ name: 'BODY_WORKERS', value: '4' }],
    });
    Object.assign(values.payments as object, { replicas: 3, env: [{ name: 'HTTPS_PROXY', value: 'http://proxy:3128' }] });
    Object.assign(values.components.payments ?? {}, { enabled: true });
    Object.assign(values.secrets as object, { nats: 'of-the-team' });
    Object.assign(values.components.gatewayApi ?? {}, { enabled: true, parentRefs: [{ name: 'shared', namespace: 'gateways' }] });
    Object.assign(values.components.trustedProxy ?? {}, { hops: 2, from: [{ ipBlock: { cidr: '10.9.0.0/16' } }] });
  });
  const find = (kind: string, name: string) => objects.find((object) => object.kind === kind && object.metadata.name === name);
  const { replicas, template } = find('Deployment', 'gateway')?.spec ?? {};
  const [container] = template.spec.containers;
  expect({ replicas, image: container.image, resources: container.resources, last: container.env.at(-1) }).toEqual({
    replicas: 7,
    image: `tollgate:${VERSION}`,
    resources: { limits: { memory: '4Gi' } },
    last: { name: 'BODY_WORKERS', value: '4' },
  });
  const payments = find('Deployment', 'payments')?.spec;
  expect([payments.replicas, payments.template.spec.containers[0].env.at(-1)]).toEqual([
    3,
    { name: 'HTTPS_PROXY', value: 'http://proxy:3128' },
  ]);
  expect(container.env).toContainEqual({
    name: 'NATS_SEED',
    valueFrom: { secretKeyRef: { name: 'of-the-team', key: 'NATS_GATEWAY_SEED', optional: true } },
  });
  expect(container.env).toContainEqual({ name: 'TRUSTED_PROXY_HOPS', value: '2' });
  expect(find('NetworkPolicy', 'clients')?.spec.ingress).toEqual([
    { from: [{ ipBlock: { cidr: '10.9.0.0/16' } }], ports: [{ port: 'http', protocol: 'TCP' }] },
  ]);
  expect(find('HTTPRoute', 'gateway')?.spec).toMatchObject({
    parentRefs: [{ name: 'shared', namespace: 'gateways' }],
    hostnames: ['ai.example.org'],
  });
  expect(find('ServiceAccount', 'panel')?.imagePullSecrets).toEqual([{ name: 'registry' }]);
});

withChart('the schema takes the values of the chart and of the clusters above, and refuses misspelled and wrong ones', () => {
  const accepts = new Ajv({ strict: true, allowUnionTypes: true }).compile(JSON.parse(chart['values.schema.json'] ?? '') as object);
  const faults = (change: (values: ChartValues) => void) => {
    const values = parse(chart['values.yaml'] ?? '') as ChartValues;
    change(values);
    return accepts(values) ? [] : (accepts.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
  };
  expect(faults(() => {})).toEqual([]);
  expect(faults((values) => Object.assign(values, { global: { any: 1 }, imagePullSecrets: [{ name: 'registry' }] }))).toEqual([]);
  expect(
    faults((values) => Object.assign(values.gateway as object, { replicas: 7, env: [{ name: 'LOG_LEVEL', value: 'debug' }] })),
  ).toEqual([]);
  expect(faults((values) => Object.assign(values, { gatway: {} }))).toEqual([' must NOT have additional properties']);
  expect(faults((values) => Object.assign(values.gateway as object, { replica: 2 }))).toEqual([
    '/gateway must NOT have additional properties',
  ]);
  expect(faults((values) => Object.assign(values.billing as object, { replicas: '2' }))).toEqual(['/billing/replicas must be integer']);
  expect(faults((values) => Object.assign(values.panel as object, { env: [{ name: 'A', value: 4 }] }))).toEqual([
    '/panel/env/0/value must be string',
  ]);
  expect(faults((values) => Object.assign(values.components, { redis: { enabled: true } }))).toEqual([
    '/components must NOT have additional properties',
  ]);
  expect(faults((values) => Object.assign(values, { panelUrl: 'panel.example.com' }))).toEqual([
    '/panelUrl must match pattern "^https?://[^/]+$"',
  ]);
});

test('a template in another form than those of the generator is refused', () => {
  for (const line of ['{{ include "tollgate.name" . }}', 'a: {{ .Values.missing }}', '{{- if eq .Values.a "b" }}', '{{- if .Values.a }}'])
    expect(() => renderTemplate(line, { a: true }, VERSION)).toThrow();
});

/** The objects of the chart with changed values. */
function renderChart(change: (values: ChartValues) => void): KubernetesObject[] {
  const values = parse(chart['values.yaml'] ?? '') as ChartValues;
  change(values);
  return Object.entries(chart)
    .filter(([path]) => path.startsWith('templates/'))
    .flatMap(([, text]) =>
      parseAllDocuments(renderTemplate(text, values, VERSION)).map((document) => document.toJS() as KubernetesObject | null),
    )
    .filter((object) => object !== null);
}

function sorted(objects: KubernetesObject[]): KubernetesObject[] {
  const key = ({ kind, metadata }: KubernetesObject) => `${kind}/${metadata.name}`;
  return [...objects].sort((one, other) => key(one).localeCompare(key(other)));
}
