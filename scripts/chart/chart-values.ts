/** The values of the chart: where they stand in the objects, and what they are by default. */
import { stringify } from 'yaml';
import { RUNBOOKS } from '../observability/observability-files.ts';
import type { KubernetesObject } from './render-objects.ts';
import { camelCase, Placeholder } from './template-lines.ts';

/** Programs whose replicas, resources and settings are values. */
const SERVICES = ['gateway', 'inference-proxy', 'billing', 'catalog', 'panel', 'payments', 'tollgate'];

const IMAGE = 'tollgate:local';

/** Secrets by the key of their name in the values. */
const SECRETS = {
  nats: 'tollgate-nats',
  natsTls: 'tollgate-nats-tls',
  natsClientTls: 'tollgate-nats-client-tls',
  database: 'tollgate-database',
  billing: 'tollgate-billing',
  payments: 'tollgate-payments',
  upstreamKeys: 'tollgate-upstream-keys',
  upstreamFiles: 'tollgate-upstream-files',
  tls: 'tollgate-tls',
};

/** Values of the proxies in front, for each component with a way in. */
const TRUSTED_PROXY = '.Values.components.trustedProxy';
const PROXIES = {
  namespaceSelector: {
    matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'In', values: ['gateways', 'ingress-nginx'] }],
  },
};

/** A text of the objects that is a value, by the key or keys that it stands under. */
interface Text {
  keys: string[];
  /** The key above. */
  within?: string;
  text: string;
  /** More text may follow. */
  isStart?: boolean;
  place: string;
}

const TEXTS: Text[] = [
  { keys: ['image'], text: IMAGE, place: '"{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"' },
  ...Object.entries(SECRETS).map(([key, text]) => ({ keys: ['name', 'secretName'], text, place: inText(`secrets.${key}`) })),
  { keys: ['host', 'hosts', 'hostnames', 'dnsNames'], text: 'tollgate.example.com', place: inText('host') },
  { keys: ['value'], text: 'http://127.0.0.1:8081', place: inText('panelUrl') },
  { keys: ['value'], text: 'http://127.0.0.1:8080', place: inText('gatewayUrl') },
  { keys: ['ingressClassName'], text: 'nginx', place: inText('components.ingressNginx.className') },
  { keys: ['kind'], within: 'issuerRef', text: 'ClusterIssuer', place: inText('components.certManager.issuerKind') },
  { keys: ['name'], within: 'issuerRef', text: 'letsencrypt', place: inText('components.certManager.issuer') },
  { keys: ['kind'], within: 'secretStoreRef', text: 'SecretStore', place: inText('components.externalSecrets.storeKind') },
  { keys: ['name'], within: 'secretStoreRef', text: 'tollgate', place: inText('components.externalSecrets.store') },
  { keys: ['serverAddress'], text: 'http://prometheus-operated.monitoring.svc:9090', place: inText('components.keda.prometheus') },
  { keys: ['runbook_url'], text: RUNBOOKS, isStart: true, place: inText('components.serviceMonitor.runbooks') },
];

/** Returns the object with placeholders in the places of values. */
export function withValues(object: KubernetesObject): KubernetesObject {
  const copy = withTexts(object) as KubernetesObject;
  const { kind, metadata, spec } = copy;
  if (kind === 'ServiceAccount') copy.imagePullSecrets = new Placeholder('optional', '.Values.imagePullSecrets');
  if (kind === 'HTTPRoute') spec.parentRefs = new Placeholder('block', '.Values.components.gatewayApi.parentRefs');
  if (kind === 'NetworkPolicy' && metadata.name === 'clients' && spec.ingress[0].from !== undefined)
    spec.ingress[0].from = new Placeholder('block', `${TRUSTED_PROXY}.from`);
  if (kind !== 'Deployment' || !SERVICES.includes(metadata.name)) return copy;
  const place = `.Values.${camelCase(metadata.name)}`;
  if (spec.replicas !== undefined) spec.replicas = new Placeholder('text', `{{ ${place}.replicas }}`);
  const [container] = spec.template.spec.containers;
  const hops = container.env.find(({ name }: { name: string }) => name === 'TRUSTED_PROXY_HOPS');
  if (hops !== undefined) hops.value = new Placeholder('text', `"{{ ${TRUSTED_PROXY}.hops }}"`);
  container.resources = new Placeholder('block', `${place}.resources`);
  container.env.push(new Placeholder('append', `${place}.env`));
  return copy;
}

/** Text of charts/tollgate/values.yaml for the objects of both layouts, with those of payments. */
export function valuesText(objects: KubernetesObject[], components: string[]): string {
  const services = SERVICES.map((name) => {
    const spec = objects.find((object) => object.kind === 'Deployment' && object.metadata.name === name)?.spec;
    return stringify({ [camelCase(name)]: { replicas: spec.replicas, resources: spec.template.spec.containers[0].resources, env: [] } });
  });
  const options: Record<string, object> = {
    'gateway-api': { parentRefs: [{ name: 'tollgate' }] },
    'ingress-nginx': { className: 'nginx' },
    'trusted-proxy': { hops: 1, from: [PROXIES] },
    'cert-manager': { issuerKind: 'ClusterIssuer', issuer: 'letsencrypt' },
    'external-secrets': { storeKind: 'SecretStore', store: 'tollgate' },
    'service-monitor': { runbooks: RUNBOOKS },
    keda: { prometheus: 'http://prometheus-operated.monitoring.svc:9090' },
  };
  const switches = Object.fromEntries(components.map((name) => [camelCase(name), { enabled: false, ...options[name] }]));
  return `# Written by scripts/chart.ts from k8s.

# The image. Without a tag it is that of the chart's version.
image:
  repository: tollgate
  tag: ''
imagePullSecrets: []

# True: the five services in one process, the Deployment tollgate.
oneProcess: false

# The host of clients and people, for the components with routes and certificates.
host: tollgate.example.com
# The https origin of the panel in browsers, and the address of the gateway that it shows.
panelUrl: http://127.0.0.1:8081
gatewayUrl: http://127.0.0.1:8080

# Names of secrets in the namespace of the release, with the keys of k8s/base/secrets.example.yaml. The chart holds no secret.
secrets:
${indented(stringify(SECRETS))}
# The services, \`payments\` with its component, and \`tollgate\` with \`oneProcess\`. \`env\` adds settings (docs/operations.md) as a list of \`{ name, value }\`.
${services.join('')}
# What the cluster offers (docs/kubernetes.md).
components:
${indented(stringify(switches))}`;
}

function withTexts(value: unknown, key = '', within = ''): unknown {
  if (Array.isArray(value)) return value.map((item) => withTexts(item, key, within));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withTexts(member, name, key)]));
  }
  if (typeof value !== 'string') return value;
  const found = TEXTS.find(
    ({ keys, text, isStart, within: wanted = within }) =>
      keys.includes(key) && wanted === within && (text === value || (isStart && value.startsWith(text))),
  );
  return found ? new Placeholder('text', found.place.replace(/"$/, `${value.slice(found.text.length)}"`)) : value;
}

function inText(path: string): string {
  return `"{{ .Values.${path} }}"`;
}

function indented(text: string): string {
  return text.replace(/^(?=.)/gm, '  ');
}
