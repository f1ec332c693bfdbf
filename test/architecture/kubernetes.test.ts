import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import {
  COMPONENTS,
  hasKubectl,
  type KubernetesObject,
  LAYOUTS,
  type Layout,
  renderFolder,
  renderObjects,
} from '../../scripts/chart/render-objects.ts';
import { typeErrors } from './kubernetes-types.js';

const NAME = 'app.kubernetes.io/name';
/** The Deployments of each layout. */
const PROGRAMS: Record<Layout, string[]> = {
  base: ['billing', 'catalog', 'gateway', 'inference-proxy', 'panel'],
  'one-process': ['tollgate'],
};

/** Objects that an operator makes or you bring, beside the secrets of secrets.example.yaml. */
const BROUGHT = new Set([
  'ConfigMap/tollgate-catalog',
  'ConfigMap/tollgate-nats-keys',
  'Secret/tollgate-tls',
  'Secret/tollgate-postgres-app',
]);

// Skipped without kubectl, which renders the objects.
const withKubectl = hasKubectl ? describe : describe.skip;
/** Objects of a layout with one component or without, or of the overlay for a laptop. */
interface Rendering {
  name: string;
  layout: Layout;
  component?: string;
  objects: KubernetesObject[];
}
const renderings: Rendering[] = hasKubectl
  ? [
      ...LAYOUTS.flatMap((layout) => [
        { name: layout, layout, objects: renderObjects([], layout) },
        ...COMPONENTS.map((component) => ({
          ...{ name: `${layout} with ${component}`, layout, component },
          objects: renderObjects([component], layout),
        })),
      ]),
      { name: 'overlays/local', layout: 'base', objects: renderFolder('k8s/overlays/local') },
    ]
  : [];
const secrets = new Map(
  parseAllDocuments(readFileSync('k8s/base/secrets.example.yaml', 'utf8')).map((document) => {
    const { metadata, stringData } = document.toJS() as KubernetesObject;
    return [metadata.name, Object.keys(stringData as object)];
  }),
);

withKubectl('Kubernetes', () => {
  test('every object has only fields of its API, with their types; one with another field is found', () => {
    const objects = renderings.flatMap(({ objects: rendered }) => rendered);
    const distinct = [...new Map(objects.map((object) => [JSON.stringify(object), object])).values()];
    const broken = structuredClone(ofKind(distinct, 'Deployment')[0]) as KubernetesObject;
    broken.spec.template.spec.containers[0].ports[0].portName = 'http';
    expect(typeErrors([...distinct, broken])).toEqual([expect.stringMatching(/^Deployment billing: .*'"?portName"?' does not exist/)]);
  });

  test.each(LAYOUTS)('%s names no namespace, and brings no catalog and no secret', (layout) => {
    const objects = renderObjects([], layout);
    expect(objects.filter(({ metadata }) => metadata.namespace !== undefined)).toEqual([]);
    expect([...new Set(objects.map(({ kind }) => kind))].sort()).toEqual([
      'Deployment',
      'NetworkPolicy',
      'PodDisruptionBudget',
      'Service',
      'ServiceAccount',
    ]);
  });

  describe.each(renderings)('$name', ({ layout, component = '', objects }) => {
    const programs = PROGRAMS[layout];
    const pods = objects.filter(({ spec }) => spec?.template?.spec);
    const readLabels = ({ spec }: KubernetesObject) => spec.template.metadata.labels as Record<string, string>;

    test('pods meet the restricted pod security standard, with limits and without a token', () => {
      for (const { metadata, spec } of pods) {
        const pod = spec.template.spec;
        expect({ name: metadata.name, ...pod }).toMatchObject({
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
        });
        for (const container of [...(pod.initContainers ?? []), ...pod.containers]) {
          expect(container).toMatchObject({
            securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
            resources: { requests: { cpu: expect.anything(), memory: expect.anything() }, limits: { memory: expect.anything() } },
          });
        }
      }
    });

    test('pods are closed in both directions except for their policies, and every policy has pods', () => {
      const policies = ofKind(objects, 'NetworkPolicy').map(({ metadata, spec }) => ({ name: metadata.name, ...spec }));
      const closed = pods.map((pod) => {
        const types = policies
          .filter(({ podSelector }) => isSelected(podSelector, readLabels(pod)))
          .flatMap(({ policyTypes }) => policyTypes);
        return { name: pod.metadata.name, types: [...new Set(types)].sort() };
      });
      expect(closed).toEqual(pods.map(({ metadata }) => ({ name: metadata.name, types: ['Egress', 'Ingress'] })));
      const ofOperators = new Set(['cnpg.io/cluster']);
      const idle = policies.filter(
        ({ podSelector }) =>
          !Object.keys(podSelector.matchLabels ?? {}).some((label) => ofOperators.has(label)) &&
          !pods.some((pod) => isSelected(podSelector, readLabels(pod))),
      );
      expect(idle).toEqual([]);
    });

    test('clients reach the ports directly only where no proxy is trusted; the panel always reaches the gateway [sec-forwarded-address]', () => {
      const open = ofKind(objects, 'NetworkPolicy').flatMap(({ metadata, spec }) =>
        (spec.ingress ?? [])
          .filter(({ ports }: { ports: { port: string }[] }) => ports.some(({ port }) => port === 'http'))
          .map(({ from }: { from?: object[] }) => ({ name: metadata.name, from })),
      );
      const trusting = pods
        .filter(({ spec }) => JSON.stringify(spec).includes('"TRUSTED_PROXY_HOPS"'))
        .map(({ metadata }) => metadata.name);
      const hasProxy = ['gateway-api', 'ingress-nginx', 'trusted-proxy'].includes(component);
      const namespaces = { key: 'kubernetes.io/metadata.name', operator: 'In', values: ['gateways', 'ingress-nginx'] };
      expect({ trusting, open: open.filter(({ name }) => name !== 'simulator') }).toEqual({
        trusting: hasProxy ? programs.filter((name) => ['gateway', 'panel', 'tollgate'].includes(name)) : [],
        open: [
          { name: 'clients', from: hasProxy ? [{ namespaceSelector: { matchExpressions: [namespaces] } }] : undefined },
          ...(layout === 'base' ? [{ name: 'playground-gateway', from: [{ podSelector: { matchLabels: { [NAME]: 'panel' } } }] }] : []),
        ],
      });
    });

    test('a drain takes one pod of a service at a time, and pods of one version are spread over zones and hosts', () => {
      const budgets = ofKind(objects, 'PodDisruptionBudget').map(({ spec }) => spec);
      for (const name of programs) {
        expect(budgets).toContainEqual({
          maxUnavailable: 1,
          unhealthyPodEvictionPolicy: 'AlwaysAllow',
          selector: { matchLabels: { [NAME]: name } },
        });
        const pod = pods.find(({ metadata }) => metadata.name === name)?.spec.template.spec;
        expect(pod.topologySpreadConstraints).toEqual(
          ['topology.kubernetes.io/zone', 'kubernetes.io/hostname'].map((topologyKey) => ({
            maxSkew: 1,
            topologyKey,
            whenUnsatisfiable: 'ScheduleAnyway',
            labelSelector: { matchLabels: { [NAME]: name } },
            matchLabelKeys: ['pod-template-hash'],
          })),
        );
        expect(pod.serviceAccountName).toBe(name);
      }
    });

    test('a pod that uses tables starts after the migration, which alone has the URL of the owner', () => {
      const databaseKeys = (container: { env?: { valueFrom?: { secretKeyRef?: { name: string; key: string } } }[] }) =>
        (container.env ?? []).flatMap(({ valueFrom }) =>
          valueFrom?.secretKeyRef && /^tollgate-(database|postgres-app)/.test(valueFrom.secretKeyRef.name)
            ? [valueFrom.secretKeyRef.key]
            : [],
        );
      const found = pods
        .filter(({ metadata }) => programs.includes(metadata.name))
        .map(({ metadata, spec: { template } }) => ({
          name: metadata.name,
          before: (template.spec.initContainers ?? []).map(databaseKeys),
          keys: template.spec.containers.flatMap(databaseKeys),
        }));
      const owner = [
        component === 'postgres-cloudnativepg' ? 'uri' : 'DATABASE_URL',
        'BILLING_DATABASE_URL',
        'CATALOG_DATABASE_URL',
        'PANEL_DATABASE_URL',
        'PAYMENTS_DATABASE_URL',
      ];
      const expected = [
        { name: 'billing', before: [owner], keys: ['BILLING_DATABASE_URL'] },
        { name: 'catalog', before: [owner], keys: ['CATALOG_DATABASE_URL'] },
        { name: 'gateway', before: [], keys: [] },
        { name: 'inference-proxy', before: [], keys: [] },
        { name: 'panel', before: [owner], keys: ['PANEL_DATABASE_URL'] },
        { name: 'tollgate', before: [owner], keys: ['BILLING_DATABASE_URL', 'CATALOG_DATABASE_URL', 'PANEL_DATABASE_URL'] },
      ];
      expect(found).toEqual(expected.filter(({ name }) => programs.includes(name)));
    });

    test('what an object names exists', () => {
      const present = new Set([...BROUGHT, ...[...secrets.keys()].map((name) => `Secret/${name}`), ...objects.map(describeObject)]);
      const missing = objects.flatMap((object) => listReferences(object).filter((id) => !present.has(id)));
      expect(missing).toEqual([]);
    });

    test('ports of services and policies exist on the pods that they select', () => {
      const wanted = [
        ...ofKind(objects, 'Service').flatMap(({ metadata, spec }) =>
          spec.ports.map(({ targetPort }: { targetPort: string }) => ({
            from: `Service ${metadata.name}`,
            selector: { matchLabels: spec.selector },
            port: targetPort,
          })),
        ),
        ...ofKind(objects, 'NetworkPolicy').flatMap(({ metadata, spec }) =>
          (spec.ingress ?? []).flatMap(({ ports }: { ports: { port: string | number }[] }) =>
            ports
              .filter(({ port }) => typeof port === 'string')
              .map(({ port }) => ({ from: `NetworkPolicy ${metadata.name}`, selector: spec.podSelector, port })),
          ),
        ),
      ];
      const listPorts = ({ spec }: KubernetesObject) =>
        spec.template.spec.containers.flatMap(({ ports = [] }: { ports?: { name: string }[] }) => ports.map(({ name }) => name));
      const broken = wanted.filter(({ selector, port }) => {
        const selected = pods.filter((pod) => isSelected(selector, readLabels(pod)));
        return selected.length === 0 || selected.some((pod) => !listPorts(pod).includes(port));
      });
      expect(broken).toEqual([]);
    });
  });

  test.each(LAYOUTS)('the overlay of docs/kubernetes.md renders with %s', (layout) => {
    const [, example = ''] = /```yaml\n([\s\S]*?)```/.exec(readFileSync('docs/kubernetes.md', 'utf8')) ?? [];
    const isSplit = layout === 'base';
    const overlay = isSplit ? example : changedForOneProcess(example);
    const folder = mkdtempSync('.local/overlay-');
    writeFileSync(join(folder, 'kustomization.yaml'), overlay.replaceAll('tollgate/k8s', '../../k8s'));
    writeFileSync(join(folder, 'catalog.yaml'), 'models: []\n');
    writeFileSync(join(folder, 'nats-keys.conf'), 'authorization {}\n');
    copyFileSync('k8s/overlays/local/namespace.yaml', join(folder, 'namespace.yaml'));
    const objects = renderFolder(folder);
    rmSync(folder, { recursive: true });
    expect(objects.filter(({ kind, metadata }) => kind !== 'Namespace' && metadata.namespace !== 'tollgate')).toEqual([]);
    const catalogs = ofKind(objects, 'ConfigMap').filter(({ metadata }) => metadata.name.startsWith('tollgate-catalog'));
    const deployments = ofKind(objects, 'Deployment');
    const pod = (name: string) => deployments.find(({ metadata }) => metadata.name === (isSplit ? name : 'tollgate'))?.spec.template.spec;
    expect({
      programs: deployments.map(({ metadata }) => metadata.name).sort(),
      catalog: catalogs.map(({ data }) => data),
      mounted: pod('catalog').volumes[0].configMap.name,
      users: ofKind(objects, 'ConfigMap').find(({ metadata }) => metadata.name === 'tollgate-nats-keys')?.data,
      image: pod('gateway').containers[0].image,
      panel: pod('panel').containers.map(({ env }: { env: object[] }) => env),
      hosts: ofKind(objects, 'HTTPRoute').map(({ spec }) => spec.hostnames),
      scaled: ofKind(objects, 'HorizontalPodAutoscaler').map(({ spec }) => spec.scaleTargetRef.name),
    }).toEqual({
      programs: PROGRAMS[layout],
      catalog: [{ 'catalog.yaml': 'models: []\n' }],
      mounted: catalogs[0]?.metadata.name,
      users: { 'nats-keys.conf': 'authorization {}\n' },
      image: 'registry.example.com/tollgate:0.1.0',
      panel: [
        expect.arrayContaining(
          [
            { name: 'PANEL_URL', value: 'https://ai.example.com' },
            { name: 'CATALOG_FILE', value: '/etc/tollgate/catalog.yaml' },
          ].slice(0, isSplit ? 1 : 2),
        ),
      ],
      hosts: [['ai.example.com'], ['ai.example.com']],
      scaled: isSplit ? ['gateway', 'inference-proxy'] : ['tollgate'],
    });
  });

  test('metrics of autoscalers and alerts exist', () => {
    const objects = renderings.flatMap(({ objects: rendered }) => rendered);
    const watching = objects.filter(({ kind }) => ['HorizontalPodAutoscaler', 'ScaledObject', 'PrometheusRule'].includes(kind));
    const named = new Set(
      JSON.stringify(watching)
        .match(/tollgate_\w+/g)
        ?.map((name) => name.replace(/_(bucket|count|sum)$/, '')),
    );
    expect(named.size).toBeGreaterThan(10);
    const page = readFileSync('docs/metrics.md', 'utf8');
    expect([...named].filter((name) => !page.includes(`| \`${name}\` |`))).toEqual([]);
  });

  test('routes neither buffer nor end a stream', () => {
    const rules = ofKind(renderObjects(['gateway-api']), 'HTTPRoute').flatMap(({ spec }) => spec.rules);
    expect(rules.map(({ timeouts }) => timeouts)).toEqual(rules.map(() => ({ request: '0s', backendRequest: '0s' })));
    const [ingress] = ofKind(renderObjects(['ingress-nginx']), 'Ingress');
    expect(ingress?.metadata).toMatchObject({
      annotations: {
        'nginx.ingress.kubernetes.io/proxy-buffering': 'off',
        'nginx.ingress.kubernetes.io/proxy-request-buffering': 'off',
        'nginx.ingress.kubernetes.io/proxy-body-size': '0',
      },
    });
  });

  test('a server of the NATS cluster warns its clients, goes alone, and is reached by a monitor', () => {
    const objects = renderObjects(['nats-cluster']);
    const matchLabels = { [NAME]: 'nats' };
    const named = (kind: string, name: string) => ofKind(objects, kind).find(({ metadata }) => metadata.name === name)?.spec;
    const pod = named('StatefulSet', 'nats').template.spec;
    expect({
      servers: named('StatefulSet', 'nats').replicas,
      preStop: pod.containers[0].lifecycle.preStop.exec.command,
      spread: pod.topologySpreadConstraints,
      budget: named('PodDisruptionBudget', 'nats'),
      monitor: named('Service', 'nats-routes').ports.filter(({ name }: { name: string }) => name === 'monitor'),
      allowed: named('NetworkPolicy', 'nats-server').ingress.filter(
        ({ ports }: { ports: { port: string }[] }) => ports[0]?.port === 'monitor',
      ),
    }).toEqual({
      servers: 3,
      preStop: ['nats-server', '--signal', 'ldm=/run/nats/nats.pid'],
      spread: ['topology.kubernetes.io/zone', 'kubernetes.io/hostname'].map((topologyKey) => ({
        maxSkew: 1,
        topologyKey,
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: { matchLabels },
      })),
      budget: { maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow', selector: { matchLabels } },
      monitor: [{ name: 'monitor', port: 8222, targetPort: 'monitor' }],
      allowed: [
        {
          from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
          ports: [{ protocol: 'TCP', port: 'monitor' }],
        },
      ],
    });
    // Lame duck mode takes two minutes, and the pid file that the signal needs is written by the server.
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(120);
    expect(pod.containers[0].args).toContain('--pid=/run/nats/nats.pid');
  });

  test.each([
    ['base', 'hpa', 'HorizontalPodAutoscaler', ['gateway', 'inference-proxy']],
    ['base', 'keda', 'ScaledObject', ['gateway', 'inference-proxy']],
    ['one-process', 'hpa', 'HorizontalPodAutoscaler', ['tollgate']],
    ['one-process', 'keda', 'ScaledObject', ['tollgate']],
  ] as const)('%s: %s sets the replicas alone, and takes one pod at a time', (layout, component, kind, scaled) => {
    const objects = renderObjects([component], layout);
    const scalers = ofKind(objects, kind);
    const free = ofKind(objects, 'Deployment').filter(({ spec }) => spec.replicas === undefined);
    expect(scalers.map(({ spec }) => spec.scaleTargetRef.name)).toEqual(scaled);
    expect(free.map(({ metadata }) => metadata.name)).toEqual(scaled);
    const behaviors = scalers.map(({ spec }) => (spec.advanced?.horizontalPodAutoscalerConfig ?? spec).behavior.scaleDown);
    const slow = { stabilizationWindowSeconds: 900, policies: [{ type: 'Pods', value: 1, periodSeconds: 300 }] };
    expect(behaviors).toEqual(scaled.map(() => slow));
  });

  test('external secrets are those that the services read', () => {
    const objects = renderObjects(['external-secrets']);
    const made = ofKind(objects, 'ExternalSecret').map(({ spec }) => spec.target.name);
    expect(made.sort()).toEqual([...secrets.keys()].sort());
  });

  test('every key of a secret that a pod reads is in secrets.example.yaml', () => {
    const read = renderings
      .filter(({ name }) => name !== 'overlays/local')
      .flatMap(({ objects }) => JSON.stringify(objects).match(/"secretKeyRef":\{[^}]+\}/g) ?? [])
      .map((text) => (JSON.parse(`{${text}}`) as { secretKeyRef: { name: string; key: string } }).secretKeyRef);
    expect(read.length).toBeGreaterThan(10);
    const brought = read.filter(({ name }) => !BROUGHT.has(`Secret/${name}`));
    // A password may stand in place of a seed.
    const isNamed = (name: string, key: string) =>
      [key, key.replace(/_PASSWORD$/, '_SEED')].some((one) => secrets.get(name)?.includes(one));
    expect(brought.filter(({ name, key }) => !isNamed(name, key))).toEqual([]);
  });
});

/** The overlay with the changes that docs/kubernetes.md names for one process. */
function changedForOneProcess(overlay: string): string {
  return overlay
    .replace('tollgate/k8s/base', 'tollgate/k8s/one-process')
    .replace('tollgate/k8s/components/hpa', 'tollgate/k8s/one-process/hpa')
    .replaceAll('name: panel', 'name: tollgate');
}

function ofKind(objects: KubernetesObject[], kind: string): KubernetesObject[] {
  return objects.filter((object) => object.kind === kind);
}

function describeObject({ kind, metadata }: KubernetesObject): string {
  return `${kind}/${metadata.name}`;
}

interface Selector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values: string[] }[];
}

function isSelected({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Record<string, string>): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values }) => operator === 'In' && values.includes(labels[key] ?? ''))
  );
}

/** Sources of the files of a volume. */
interface Source {
  configMap?: { name: string };
}

/** Objects that this one names, as `Kind/name`. Optional secrets do not count. */
function listReferences({ kind, spec }: KubernetesObject): string[] {
  const pod = spec?.template?.spec;
  const containers = [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])];
  const text = JSON.stringify(containers);
  return [
    ...(pod?.serviceAccountName ? [`ServiceAccount/${pod.serviceAccountName}`] : []),
    ...[...text.matchAll(/"secret(?:Key)?Ref":\{[^}]*"name":"([^"]+)"(?![^}]*"optional":true)/g)].map(([, name]) => `Secret/${name}`),
    ...(pod?.volumes ?? [])
      .flatMap((volume: Source & { projected?: { sources: Source[] } }) => volume.projected?.sources ?? [volume])
      .flatMap(({ configMap }: Source) => (configMap ? [`ConfigMap/${configMap.name}`] : [])),
    ...(kind === 'HTTPRoute'
      ? spec.rules.flatMap(({ backendRefs }: { backendRefs: { name: string }[] }) => backendRefs.map(({ name }) => `Service/${name}`))
      : []),
    ...(kind === 'Ingress'
      ? [
          ...spec.tls.map(({ secretName }: { secretName: string }) => `Secret/${secretName}`),
          ...spec.rules[0].http.paths.map(({ backend }: { backend: { service: { name: string } } }) => `Service/${backend.service.name}`),
        ]
      : []),
    ...(kind === 'HorizontalPodAutoscaler' || kind === 'ScaledObject' ? [`Deployment/${spec.scaleTargetRef.name}`] : []),
    ...(kind === 'StatefulSet' ? [`Service/${spec.serviceName}`] : []),
  ];
}
