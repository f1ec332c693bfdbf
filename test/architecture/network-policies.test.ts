import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { isAddressAllowed } from '#network/address-guard.js';
import { hasKubectl, renderObjects } from '../../scripts/chart/render-objects.ts';
import { manifests, workloads } from './manifests.js';

interface Selector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values: string[] }[];
}

interface Rule {
  from?: { podSelector?: Selector; namespaceSelector?: Selector }[];
  to?: { podSelector?: Selector; namespaceSelector?: Selector; ipBlock?: { cidr: string; except?: string[] } }[];
  ports: { protocol: string; port: number | string; endPort?: number }[];
}

interface Policy {
  podSelector: Selector;
  policyTypes: string[];
  ingress?: Rule[];
  egress?: Rule[];
}

const NAME = 'app.kubernetes.io/name';
/** Workloads that the policies of the files select: k8s/one-process patches them for its own. */
const names = [...workloads.keys()].filter((name) => name !== 'tollgate').sort();
const policies = manifests.filter(({ kind }) => kind === 'NetworkPolicy').map(({ spec }) => spec as unknown as Policy);
/** Each rule with its workloads. */
const rulesIn = listRules('ingress');
const rulesOut = listRules('egress');

/** Members of the networks in Compose, which express the same rules. */
const compose = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }) as { services: Record<string, { networks: string[] }> };
const listClients = (server: string, network: string): string[] =>
  names.filter((name) => name !== server && compose.services[name]?.networks.includes(network));

test('pods have the labels that the policies select', () => {
  const labels = manifests.flatMap(({ spec }) => spec?.template?.metadata.labels[NAME] ?? []);
  expect(labels.sort()).toEqual([...names, 'tollgate'].sort());
});

test.each(names)('%s is closed in both directions except for its policies', (name) => {
  const types = policies.filter(({ podSelector }) => selected(podSelector).includes(name)).flatMap(({ policyTypes }) => policyTypes);
  expect([...new Set(types)].sort()).toEqual(['Egress', 'Ingress']);
});

test('egress: NATS for services, Postgres for services with tables, the gateway for the panel, the internet for the inference-proxy and webhooks', () => {
  const opened = rulesOut.map(({ who, rule: { to, ports } }) => ({
    who,
    to: to?.map(({ podSelector, ipBlock }) => (podSelector ? selected(podSelector).join() : (ipBlock?.cidr ?? 'names'))) ?? 'anywhere',
    ports: [...new Set(ports.map(({ port, endPort = port }) => `${port}-${endPort}`))],
  }));
  expect(opened).toEqual([
    { who: ['billing', 'catalog', 'gateway', 'inference-proxy', 'panel'], to: ['names', '169.254.20.10/32'], ports: ['53-53'] },
    { who: listClients('nats', 'backbone'), to: 'anywhere', ports: ['4222-4222'] },
    { who: listClients('postgres', 'data'), to: 'anywhere', ports: ['5432-5432'] },
    { who: ['panel'], to: ['gateway'], ports: ['8080-8080'] },
    { who: listClients('upstream-sim', 'upstreams'), to: ['0.0.0.0/0', '::/0'], ports: ['1-65535'] },
    { who: listClients('', 'webhooks'), to: ['0.0.0.0/0', '::/0'], ports: ['443-443'] },
  ]);
});

test('ingress: clients to gateway and panel, the panel to the gateway, Prometheus to every service, services to their servers', () => {
  const opened = rulesIn.map(({ who, rule: { from, ports } }) => ({
    who,
    from: from?.map(({ podSelector, namespaceSelector }) =>
      podSelector ? selected(podSelector) : Object.values(namespaceSelector?.matchLabels ?? {}),
    ),
    ports: ports.map(({ port }) => port),
  }));
  expect(opened).toEqual([
    { who: ['gateway', 'panel'], from: undefined, ports: ['http'] },
    { who: ['gateway'], from: [['panel']], ports: ['http'] },
    { who: ['billing', 'catalog', 'gateway', 'inference-proxy', 'panel'], from: [['monitoring']], ports: ['ops'] },
    { who: ['nats'], from: [listClients('nats', 'backbone')], ports: ['nats'] },
    { who: ['postgres'], from: [listClients('postgres', 'data')], ports: ['postgres'] },
    { who: ['upstream-sim'], from: [listClients('upstream-sim', 'upstreams')], ports: ['http'] },
  ]);
});

test('named ports exist on their workloads', () => {
  const unknown = rulesIn.flatMap(({ who, rule: { ports } }) =>
    ports.flatMap(({ port }) => who.filter((name) => !listPorts(name).includes(String(port))).map((name) => `${name}: ${port}`)),
  );
  expect(unknown).toEqual([]);
});

test('the network blocks the addresses that the inference-proxy must never reach', () => {
  const refused = rulesOut.flatMap(({ rule: { to = [] } }) => to.flatMap(({ ipBlock }) => ipBlock?.except ?? []));
  expect(refused).toEqual(
    expect.arrayContaining(['169.254.0.0/16', '100.100.100.200/32', '168.63.129.16/32', 'fe80::/10', 'fd00:ec2::/32', 'fd20:ce::/32']),
  );
  // Nothing more: an upstream may be inside the cluster.
  expect(refused.filter((range) => isAddressAllowed(range.split('/')[0] ?? '', true))).toEqual([]);
});

// Skipped without kubectl, which renders the policies.
(hasKubectl ? test : test.skip)('the one process may what its services may; NATS and Postgres of the components let it in', () => {
  const rendered = renderObjects(['nats-cluster', 'postgres-cloudnativepg'], 'one-process')
    .filter(({ kind }) => kind === 'NetworkPolicy')
    .map(({ spec }) => spec as unknown as Policy);
  const own = rendered.filter(({ podSelector }) => selected(podSelector).includes('tollgate'));
  const ports = (direction: 'ingress' | 'egress') =>
    own.flatMap((policy) =>
      (policy[direction] ?? []).flatMap((rule) => rule.ports.map(({ port, endPort = port }) => `${port}-${endPort}`)),
    );
  const servers = rendered.flatMap(({ podSelector, ingress = [] }) =>
    ingress.flatMap(({ from = [] }) =>
      from.flatMap((peer) => (selected(peer.podSelector ?? {}).includes('tollgate') ? Object.values(podSelector.matchLabels ?? {}) : [])),
    ),
  );
  expect({ in: ports('ingress'), out: [...new Set(ports('egress'))], servers: servers.sort() }).toEqual({
    in: ['http-http', 'panel-panel', 'ops-ops'],
    out: ['5432-5432', '53-53', '4222-4222', '1-65535'],
    servers: ['nats', 'tollgate-postgres'],
  });
  expect(own.flatMap(({ egress = [] }) => egress.flatMap(({ to = [] }) => to.flatMap(({ ipBlock }) => ipBlock?.except ?? [])))).toContain(
    '169.254.0.0/16',
  );
});

function listRules(direction: 'ingress' | 'egress'): { who: string[]; rule: Rule }[] {
  return policies.flatMap((policy) => (policy[direction] ?? []).map((rule) => ({ who: selected(policy.podSelector), rule })));
}

function selected({ matchLabels, matchExpressions = [] }: Selector): string[] {
  const listed = matchExpressions.flatMap(({ key, operator, values }) => (key === NAME && operator === 'In' ? values : []));
  return [...(matchLabels?.[NAME] ? [matchLabels[NAME]] : []), ...listed].sort();
}

function listPorts(workload: string): string[] {
  return (workloads.get(workload)?.containers ?? []).flatMap(({ ports = [] }) => ports.map(({ name }) => name));
}
