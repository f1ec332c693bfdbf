import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, normalize } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { environmentIn } from '#config/load-config.js';
import { OWN_USERS } from '#contracts/rules/bounds.js';
import { KEY_VARIABLE } from '#contracts/upstream-rules.js';
import { GatewayConfig } from '../../apps/gateway/src/gateway.config.js';
import { FORCED_CLOSE_MS } from '../../apps/gateway/src/http/server/http-server.js';
import { STOP_ORDER } from '../../apps/tollgate/src/targets.js';
import { IMAGE_FILES } from '../../scripts/image/image-files.ts';
import { NATS_USERS, natsVariable, writeNatsKeys } from '../../scripts/local/nats-keys.mjs';
import { statedMemory } from '../abuse/stated-memory.js';
import { type Container, type Manifest, manifests, migration, workloads as ofLayouts, optionalWorkloads } from './manifests.js';

/** Configuration of a container in Compose and Kubernetes. */
interface Workload {
  image: string;
  command: string[];
  ports: number[];
  variables: string[];
}

interface ComposeService {
  image: string;
  profiles?: string[];
  command?: string[];
  entrypoint?: string[];
  environment?: Record<string, string | null>;
  env_file?: { path: string }[];
  ports?: string[];
  read_only?: boolean;
  healthcheck?: object;
  networks: string[];
  volumes?: string[];
  extra_hosts?: string[];
  stop_grace_period?: string;
  mem_limit?: string;
}

interface Secret {
  stringData: Record<string, string>;
}

const compose = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }) as {
  services: Record<string, ComposeService>;
  networks: Record<string, { internal?: boolean }>;
};
const workloads = new Map([...ofLayouts, ...optionalWorkloads]);
const containers = new Map(
  [...[...workloads.values()].flatMap((spec) => spec.containers), migration].map((container) => [container.name, container]),
);
/** The services of Compose that run, in either layout: without the CLI and observability. */
const services = Object.entries(compose.services).filter(([, { profiles = [] }]) =>
  profiles.every((name) => /^(one-process|payments)$/.test(name)),
);
/** Services that run as programs of their own, or in the one process. */
const SERVICES = ['gateway', 'inference-proxy', 'billing', 'catalog', 'panel'];
/** Settings that differ between Compose and Kubernetes. */
const ONE_SIDED = /^(UPSTREAM_LOCAL_URL|PGDATA|(.+_)?NATS_PASSWORD|SERVED_CERTIFICATE_FILES|STRIPE_SECRET_KEY|STRIPE_WEBHOOK_SECRET)$/;

test('every app of the code has a service in Compose and a workload in Kubernetes', () => {
  const apps = readdirSync('apps');
  expect(Object.keys(compose.services)).toEqual(expect.arrayContaining(apps));
  expect([...workloads.keys()]).toEqual(expect.arrayContaining(apps.filter((app) => app !== 'cli')));
});

test('Compose and Kubernetes run the same workloads', () => {
  expect([...workloads.keys(), 'migrate'].sort()).toEqual(services.map(([name]) => name).sort());
});

test.each(services)('%s: the same image, command, ports and settings in both', (name, service) => {
  const container = containers.get(name);
  if (!container) throw new Error(`no container called ${name}`);
  expect(ofContainer(container)).toEqual(ofService(name, service));
});

test('services run the build output', () => {
  for (const [name, { command }] of services.filter(([, { image }]) => image === 'tollgate:local' && image)) {
    if (name !== 'migrate') expect(command?.[2]).toBe(`dist/apps/${name}/src/main.js`);
  }
});

test('docker-compose.one-process.yml replaces the services by one process, and the jobs of Prometheus by one', () => {
  const reset = { tag: '!reset', resolve: () => 'reset' };
  const { services: changed } = parse(readFileSync('docker-compose.one-process.yml', 'utf8'), {
    customTags: [reset],
    logLevel: 'error',
  }) as {
    services: Record<string, object>;
  };
  expect(changed).toEqual({
    tollgate: { profiles: [] },
    ...Object.fromEntries(SERVICES.map((name) => [name, { profiles: ['split'] }])),
    prometheus: { volumes: ['./deploy/observability/prometheus-one-process.yaml:/etc/prometheus/prometheus.yaml:ro'] },
  });
});

test.each(SERVICES)('%s has the settings in the one process that it has as a program of its own', (name) => {
  // The playground calls the gateway of its process.
  const { GATEWAY_INTERNAL_URL: _address, ...inCompose } = compose.services[name]?.environment ?? {};
  expect(environmentIn(name, compose.services.tollgate?.environment as NodeJS.ProcessEnv)).toMatchObject(inCompose);
  const readSources = (program: string) =>
    Object.fromEntries((containers.get(program)?.env ?? []).map((entry) => [entry.name, entry.value ?? JSON.stringify(entry.valueFrom)]));
  const { GATEWAY_INTERNAL_URL: _, SHUTDOWN_GRACE_MS: grace, ...inKubernetes } = readSources(name);
  const together = environmentIn(name, readSources('tollgate'));
  expect(together).toMatchObject(inKubernetes);
  expect(Number(together.SHUTDOWN_GRACE_MS)).toBeGreaterThanOrEqual(Number(grace));
});

test('stack traces refer to sources', () => {
  const folder = 'dist/apps/gateway/src';
  const { sources } = JSON.parse(readFileSync(`${folder}/main.js.map`, 'utf8')) as { sources: string[] };
  expect(sources.map((source) => normalize(join(folder, source)))).toEqual(['apps/gateway/src/main.ts']);
});

test('only the inference-proxy, or the one process, gets secrets of upstreams; other services get only the variables in their entries', () => {
  const inCompose = Object.entries(compose.services).flatMap(([name, { env_file }]) => (env_file ? [[name, env_file[0]?.path]] : []));
  const inKubernetes = [...containers].flatMap(([name, { envFrom }]) => (envFrom ? [[name, envFrom[0]?.secretRef.name]] : []));
  expect({ inCompose, inKubernetes }).toEqual({
    inCompose: [
      ['inference-proxy', '.env.upstreams'],
      ['tollgate', '.env.upstreams'],
    ],
    inKubernetes: [
      ['inference-proxy', 'tollgate-upstream-keys'],
      ['tollgate', 'tollgate-upstream-keys'],
    ],
  });
});

test('only the gateway, the panel, payments and Grafana are published, and only on the host, and the one process as gateway and panel', () => {
  const published = Object.entries(compose.services).flatMap(([name, { ports }]) => (ports ? [[name, ports]] : []));
  expect(published).toEqual([
    ['gateway', [expect.stringMatching(/^127\.0\.0\.1:.*:8080$/)]],
    ['panel', [expect.stringMatching(/^127\.0\.0\.1:.*:8081$/)]],
    ['payments', [expect.stringMatching(/^127\.0\.0\.1:.*:8082$/)]],
    ['tollgate', ['gateway', 'panel'].flatMap((name) => compose.services[name]?.ports)],
    ['grafana', [expect.stringMatching(/^127\.0\.0\.1:.*:3000$/)]],
  ]);
});

test('the CLI and the start apply the catalog file of the operator', () => {
  const mounted = ({ volumes = [] }: ComposeService = { image: '', networks: [] }) => volumes.map((volume) => volume.split(':'));
  const seen = (name: string, path: string) =>
    mounted(compose.services[name]).some(([host, inside, mode]) => host === `./${path}` && inside === `/app/${path}` && mode === 'ro');
  expect([seen('cli', 'config'), seen('catalog', 'config/catalog.yaml'), seen('tollgate', 'config/catalog.yaml')]).toEqual([
    true,
    true,
    true,
  ]);
});

test('the inference-proxy resolves the documented name of the host', () => {
  for (const name of ['inference-proxy', 'tollgate'])
    expect(compose.services[name]?.extra_hosts).toEqual(['host.docker.internal:host-gateway']);
  for (const page of ['README.md', 'docs/deployment.md']) expect(readFileSync(page, 'utf8')).toContain('http://host.docker.internal:');
});

test('only services with tables reach Postgres, and only the inference-proxy reaches the internet; the one process does both', () => {
  const members = (network: string): string[] =>
    Object.entries(compose.services)
      .flatMap(([name, { networks }]) => (networks.includes(network) ? [name] : []))
      .sort();
  expect(members('data')).toEqual(['billing', 'catalog', 'migrate', 'panel', 'payments', 'postgres', 'tollgate']);
  expect(members('upstreams')).toEqual(['inference-proxy', 'tollgate', 'upstream-sim']);
  expect(compose.networks).toMatchObject({ data: { internal: true }, backbone: { internal: true } });
});

test('Compose contains no secret, and .env.example names each', () => {
  const text = readFileSync('docker-compose.yml', 'utf8');
  const needed = [...text.matchAll(/\$\{([A-Z_]+)/g)].map(([, name]) => name);
  const named = [...readFileSync('.env.example', 'utf8').matchAll(/^([A-Z_]+)=/gm)].map(([, name]) => name);
  expect([...new Set(needed)].sort()).toEqual(named.sort());
  expect(text).not.toMatch(/(PASSWORD|PEPPER|SEED): (?!\$\{)/);
});

test('no secret of Tollgate can be used as the key of an upstream', () => {
  const secrets = parseAllDocuments(readFileSync('k8s/base/secrets.example.yaml', 'utf8')).map((document) => document.toJS() as Secret);
  const named = [
    ...readFileSync('.env.example', 'utf8').matchAll(/^([A-Z_]+)=$/gm),
    ...readFileSync('docker-compose.yml', 'utf8').matchAll(/^ +([A-Z_]*(?:PASSWORD|PEPPER|SEED|DATABASE_URL)):/gm),
  ].map(([, name = '']) => name);
  named.push(...secrets.flatMap(({ stringData }) => Object.keys(stringData)));
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((name) => KEY_VARIABLE.test(name))).toEqual([]);
  expect(KEY_VARIABLE.test('UPSTREAM_KEY_HOSTED')).toBe(true);
});

test.each([...workloads])('%s meets the restricted pod security standard, with limits', (_name, spec) => {
  expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
  expect(spec.enableServiceLinks).toBe(false);
  for (const container of spec.containers) {
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(container.resources).toMatchObject({
      requests: { cpu: expect.anything(), memory: expect.anything() },
      limits: { memory: expect.anything() },
    });
  }
});

test.each(Object.entries(statedMemory()))(
  '%s: the memory it may take by default fits its limits, with a tenth to spare, and is documented',
  (name, bytes) => {
    const inKubernetes = parseBytes(containers.get(name)?.resources?.limits.memory);
    expect(inKubernetes).toBeGreaterThanOrEqual(1.1 * bytes);
    expect(parseBytes(compose.services[name]?.mem_limit)).toBe(inKubernetes);
    const [mb, mib] = [Math.ceil(bytes / 1e6).toLocaleString('en'), (inKubernetes / 2 ** 20).toLocaleString('en')];
    expect(readFileSync('docs/deployment.md', 'utf8')).toMatch(new RegExp(`^\\| ${name} \\|.*\\| ${mb} MB \\| ${mib} MiB \\|$`, 'm'));
  },
);

test.each([...workloads])('%s is probed, and has time to shut down', (_name, spec) => {
  for (const container of spec.containers) {
    expect(container).toMatchObject({ readinessProbe: expect.anything(), livenessProbe: expect.anything() });
    const waited = Number(container.lifecycle?.preStop.exec.command[1] ?? 0);
    expect(spec.terminationGracePeriodSeconds ?? 30).toBeGreaterThanOrEqual(
      waited + shutdownSeconds(container.name, readSettings(container)),
    );
  }
});

test.each(services)('%s: Compose waits for its shutdown', (name, { environment = {}, stop_grace_period: grace = '10s' }) => {
  expect(Number.parseInt(grace, 10)).toBeGreaterThanOrEqual(shutdownSeconds(name, environment as NodeJS.ProcessEnv));
});

test('metrics have a headless service of their own, so that publishing one publishes nothing else', () => {
  const services = manifests.flatMap(({ kind, spec }) => {
    const app = spec?.selector?.['app.kubernetes.io/name'];
    return kind === 'Service' ? [{ app, headless: spec.clusterIP === 'None', ports: spec.ports?.map(({ name }) => name) }] : [];
  });
  const ours = [...SERVICES, 'tollgate'];
  expect(services.filter(({ ports }) => ports?.includes('ops'))).toEqual(
    expect.arrayContaining(ours.map((app) => ({ app, headless: true, ports: ['ops'] }))),
  );
  expect(services.filter(({ app, headless }) => ours.includes(app ?? '') && !headless)).toEqual([
    { app: 'gateway', headless: false, ports: ['http'] },
    { app: 'panel', headless: false, ports: ['http'] },
  ]);
});

test('the image contains every file of commands and config maps', () => {
  const dockerfile = readFileSync('Dockerfile', 'utf8');
  expect(dockerfile).toMatch(/^USER 1000:1000$/m);
  expect(IMAGE_FILES).toEqual(expect.arrayContaining(['dist', 'config/catalog.yaml', 'scripts/prisma', 'prisma/migrations']));
  const { dependencies, devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<string, Record<string, string>>;
  const script = readdirSync('scripts/prisma')
    .filter((file) => file.endsWith('.ts') && file !== 'schema-engine.ts') // for development only
    .map((file) => readFileSync(`scripts/prisma/${file}`, 'utf8'))
    .join('');
  const imported = [...script.matchAll(/\b(?:import|from|resolve)\s*\(?\s*'((?:@[^/']+\/)?[^/'.][^/']*)/g)].flatMap(([, name]) =>
    !name || name.startsWith('node:') || name === '#database' ? [] : name,
  );
  expect(script).toContain(`from '#database/primary-client.js'`); // in dist
  for (const name of imported)
    expect({ name, runtime: name in (dependencies ?? {}), development: name in (devDependencies ?? {}) }).toEqual({
      name,
      runtime: true,
      development: false,
    });
});

const kubectl = spawnSync('kubectl', ['kustomize', 'k8s/overlays/local'], { encoding: 'utf8' });
// Skipped without kubectl; the tests above check the files themselves.
(kubectl.error ? test.skip : test)('kustomize renders the local overlay', () => {
  expect({ status: kubectl.status, stderr: kubectl.stderr }).toEqual({ status: 0, stderr: '' });
  const rendered = parseAllDocuments(kubectl.stdout).map((document) => document.toJS() as Manifest);
  const names = rendered.map(({ kind, metadata }) => `${kind}/${metadata.name.replace(/-[a-z0-9]{10}$/, '')}`);
  for (const name of ofLayouts.keys())
    if (name !== 'tollgate') expect(names).toContainEqual(expect.stringMatching(`^(Deployment|StatefulSet)/${name}$`));
  const text = (name: string, file: string): string | undefined =>
    rendered.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.replace(/-[a-z0-9]{10}$/, '') === name)?.data?.[file];
  expect(text('tollgate-nats-keys', 'nats-keys.conf')).toBe(readFileSync('k8s/overlays/local/nats-keys.conf', 'utf8'));
  expect(text('tollgate-nats', 'nats.conf')).toBe(readFileSync('config/nats.conf', 'utf8'));
  expect(text('tollgate-demo-catalog', 'catalog.yaml')).toBe(readFileSync('config/catalog.yaml', 'utf8'));
});

test('no internal service may have the name of a user of config/nats.conf', () => {
  expect(OWN_USERS).toEqual([...NATS_USERS, 'service']);
});

test('every user of config/nats.conf has a password for npm start, and a seed and its public key in the local overlay', () => {
  const conf = (path: string) => readFileSync(path, 'utf8');
  const users = [...conf('config/nats.conf').matchAll(/^([\w-]+) \{$/gm)].map(([, user]) => user);
  expect(users).toEqual(NATS_USERS);
  const withPasswords = NATS_USERS.map(
    (user) => `    { user: ${user}, password: $${natsVariable(user, 'PASSWORD')}, permissions: $${user} }\n`,
  );
  expect(conf('config/nats-passwords.conf')).toContain(`  users = [\n${withPasswords.join('')}    # An internal service`);

  const folder = mkdtempSync(join(tmpdir(), 'nats-keys-'));
  const [seedsFile, usersFile] = ['nats-seeds.env', 'nats-keys.conf'].map((name) => {
    copyFileSync(join('k8s/overlays/local', name), join(folder, name));
    return join(folder, name);
  }) as [string, string];
  writeNatsKeys({ seedsFile, usersFile }); // completes seeds, and writes the keys of all
  expect([conf(seedsFile), conf(usersFile)]).toEqual([
    conf('k8s/overlays/local/nats-seeds.env'),
    conf('k8s/overlays/local/nats-keys.conf'),
  ]);
  rmSync(folder, { recursive: true });
});

function ofContainer({ image, command, args, ports, env }: Container): Workload {
  return {
    image: image === 'tollgate' ? 'tollgate:local' : image,
    command: command ?? args ?? [],
    ports: (ports ?? []).map(({ containerPort }) => containerPort).sort(),
    variables: (env ?? []).flatMap(({ name }) => (ONE_SIDED.test(name) ? [] : [name])).sort(),
  };
}

/** Compose publishes only the gateway, the panel and payments: ports of other services follow from their settings. */
function ofService(name: string, { image, command, environment = {} }: ComposeService): Workload {
  const own: Record<string, number> = { nats: 4222, postgres: 5432 };
  const ports = [
    environment.PORT,
    environment.PANEL_PORT,
    environment.PAYMENTS_PORT,
    environment.OPS_PORT,
    environment.UPSTREAM_SIM_PORT,
    own[name],
  ].flatMap((port) => (port ? [Number(port)] : []));
  return {
    image,
    command: command ?? [],
    ports: ports.sort(),
    variables: Object.entries(environment)
      .flatMap(([variable, value]) => (value === null || ONE_SIDED.test(variable) ? [] : [variable])) // null: passed on if it is set
      .sort(),
  };
}

function readSettings({ env = [] }: Container): Record<string, string> {
  return Object.fromEntries(env.map(({ name, value = '' }) => [name, value]));
}

/** Seconds beyond its grace that a service may take to stop (docs/deployment.md, "Start, stop, upgrade"). */
const MARGINS: Record<string, number> = {
  gateway: (FORCED_CLOSE_MS + new GatewayConfig().settleFlushMs) / 1000,
  ...{ 'inference-proxy': 10, billing: 5, catalog: 5, panel: 5, payments: 5 },
};

/** Longest shutdown of a program in seconds: those of its services one after another, as the one process stops them. */
function shutdownSeconds(program: string, settings: NodeJS.ProcessEnv): number {
  const ofService = (name: string) => Number(environmentIn(name, settings).SHUTDOWN_GRACE_MS ?? 0) / 1000 + (MARGINS[name] ?? 0);
  const groups: readonly (readonly string[])[] = program === 'tollgate' ? STOP_ORDER : [[program]];
  return groups.reduce((sum, names) => sum + Math.max(...names.map(ofService)), 0);
}

/** Bytes of a quantity as Kubernetes (`1Gi`, `512Mi`) or Compose (`512m`) writes it. */
function parseBytes(quantity = ''): number {
  const [, count, unit] = /^(\d+)(m|Mi|Gi)$/.exec(quantity) ?? [];
  return Number(count) * (unit === 'Gi' ? 2 ** 30 : 2 ** 20);
}
