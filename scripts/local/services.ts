import { join } from 'node:path';
import { readSettings, serviceEnvironment } from './environments.ts';
import { LOCAL, NODE, ROOT } from './project.mjs';
import type { DatabaseService, Secrets } from './secrets.ts';
import type { Program } from './supervisor.ts';

/** In the order of their start. */
export const SERVICES = ['billing', 'catalog', 'upstream-sim', 'inference-proxy', 'gateway', 'panel'] as const;

/** Runs where it is asked for. */
export const OPTIONAL_SERVICES = ['payments'] as const;

export type ServiceName = (typeof SERVICES | typeof OPTIONAL_SERVICES)[number];

/** The services of Tollgate in one process (`all`), or each in its own (`split`). The simulator stands for another's server. */
export type Layout = 'all' | 'split';

export type TargetName = Exclude<ServiceName, 'upstream-sim'>;

/** The services of Tollgate. */
export const TARGETS = SERVICES.filter((name) => name !== 'upstream-sim');

/** Addresses of what services connect to, and the ports of those that serve clients. */
interface Connections {
  natsUrl: string;
  databaseUrls: Record<DatabaseService, string>;
  gatewayPort: number;
  panelPort: number;
  /** Only with the service `payments`. */
  paymentsPort?: number;
}

type Ports = Partial<Record<ServiceName, number>>;

interface Parts {
  connections: Connections;
  ports: Ports;
  secrets: Secrets;
}

/** Stop order: first the gateway and the panel, so that no new requests come, then the inference-proxy, then the services that both need. */
export const STOP_ORDER: (ServiceName | 'tollgate')[][] = [
  ['gateway', 'panel', 'payments', 'tollgate'],
  ['inference-proxy'],
  ['upstream-sim', 'billing', 'catalog'],
];

const SHUTDOWN_GRACE_MS = 10_000;
/** Node keeps compiled code here: a service starts with a seventh less processor time. */
const COMPILE_CACHE = join(LOCAL, 'compile-cache');
/** Settings of a service that differ from its defaults: the panel is there to record the activity. */
const PREFERRED: ServiceEnv = { gateway: { ACTIVITY_EVENTS: 'true' } };

/**
 * A service as a program for the supervisor. It inherits only its own settings, such as `LOG_LEVEL`; only the inference-proxy gets
 * upstream keys. `env` overrides everything. `root` is the checkout whose `dist` runs, which must be built. `bundled` runs the bundle
 * of this checkout (bundles.ts), which must be there.
 */
export async function serviceProgram(
  name: ServiceName,
  {
    connections,
    ports,
    secrets,
    env = {},
    root = ROOT,
    bundled = false,
  }: Parts & { env?: Record<string, string> | undefined; root?: string | undefined; bundled?: boolean },
): Promise<Program & { cwd: string }> {
  const probePort = ports[name];
  const inherited = serviceEnvironment(name, await readSettings(name));
  const settings = name === 'upstream-sim' ? {} : natsSettings(name, { connections, ports, secrets });
  return {
    name,
    command: NODE,
    args: bundled ? [bundleOf(name)] : ['--enable-source-maps', join(root, `dist/apps/${name}/src/main.js`)],
    env: {
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      ...PREFERRED[name],
      ...withoutProxy(inherited),
      ...inherited,
      ...settings,
      ...ownSettings(name, { connections, ports, secrets }),
      ...env,
    },
    cwd: root,
    probe: () => isReady(`http://127.0.0.1:${probePort}/readyz`),
    graceMs: SHUTDOWN_GRACE_MS + 5000,
  };
}

export type ServiceEnv = Partial<Record<ServiceName, Record<string, string>>>;

/**
 * Several services as one program. A setting of one of them has its name as a prefix: `BILLING_LEASE_MS`. Settings of the shell have none,
 * as they are the same for all, nor have variables of the catalog file.
 */
export async function tollgateProgram(
  names: readonly TargetName[],
  {
    env = {},
    serviceEnv = {},
    root = ROOT,
    bundled = false,
    ...parts
  }: Parts & {
    env?: Record<string, string> | undefined;
    root?: string | undefined;
    serviceEnv?: ServiceEnv | undefined;
    bundled?: boolean;
    ports: { tollgate: number };
  },
): Promise<Program & { cwd: string }> {
  const own = names.map(async (name) => {
    const prefix = `${name.toUpperCase().replaceAll('-', '_')}_`;
    const known = await readSettings(name);
    const inherited = serviceEnvironment(name, known);
    const settings = {
      NATS_PASSWORD: parts.secrets.natsPasswords[name],
      ...PREFERRED[name],
      ...ownSettings(name, parts),
      ...serviceEnv[name],
    };
    const prefixed = Object.entries(settings).map(([variable, value]) => [known.includes(variable) ? prefix + variable : variable, value]);
    return { inherited, prefixed: Object.fromEntries(prefixed) as Record<string, string> };
  });
  const services = await Promise.all(own);
  const inherited = Object.assign({}, ...services.map((service) => service.inherited));
  const { ports } = parts;
  return {
    name: 'tollgate',
    command: NODE,
    args: [
      ...(bundled ? [bundleOf('tollgate')] : ['--enable-source-maps', join(root, 'dist/apps/tollgate/src/main.js')]),
      `--target=${names.join()}`,
    ],
    env: {
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      ...withoutProxy(inherited),
      ...inherited,
      ...processSettings(parts.connections, ports.tollgate),
      ...env,
      ...Object.assign({}, ...services.map(({ prefixed }) => prefixed)),
    },
    cwd: root,
    probe: () => isReady(`http://127.0.0.1:${ports.tollgate}/readyz`),
    graceMs: 3 * SHUTDOWN_GRACE_MS + 5000,
  };
}

/** The program of a service's bundle. */
export function bundleOf(name: ServiceName | 'tollgate'): string {
  return join(ROOT, `dist/apps/${name}/bundle/main.js`);
}

/** The command line, which every build bundles. */
export const COMMAND_LINE = join(ROOT, 'dist/apps/cli/bundle/tollgate.cjs');

/** A forward proxy of the shell is not for the parts of this system, which are all on loopback. Another `NO_PROXY` replaces this one. */
function withoutProxy(inherited: Record<string, string>): Record<string, string> {
  const hasProxy = Object.keys(inherited).some((name) => /^https?_proxy$/i.test(name));
  return hasProxy && !inherited.no_proxy ? { NO_PROXY: 'localhost,127.0.0.1,[::1]' } : {};
}

function natsSettings(name: Exclude<ServiceName, 'upstream-sim'>, { connections, ports, secrets }: Parts): Record<string, string> {
  return { ...processSettings(connections, ports[name]), NATS_USER: name, NATS_PASSWORD: secrets.natsPasswords[name] };
}

/** Settings of a process, whether it runs one service or several. */
function processSettings({ natsUrl }: Connections, opsPort: number | undefined): Record<string, string> {
  return {
    NATS_URL: natsUrl,
    OPS_HOST: '127.0.0.1',
    OPS_PORT: String(opsPort),
    SHUTDOWN_GRACE_MS: String(SHUTDOWN_GRACE_MS),
  };
}

function ownSettings(name: ServiceName, { connections, ports, secrets }: Parts): Record<string, string> {
  const upstreamPort = String(ports['upstream-sim']);
  switch (name) {
    case 'billing':
      return {
        DATABASE_URL: connections.databaseUrls.billing,
        KEY_PEPPER: secrets.keyPepper,
        RECEIPT_SIGNING_KEY: secrets.receiptSigningKey,
        PANEL_URL: `http://127.0.0.1:${connections.panelPort}`,
      };
    case 'catalog':
      return { DATABASE_URL: connections.databaseUrls.catalog, UPSTREAM_LOCAL_URL: `http://127.0.0.1:${upstreamPort}/v1` };
    case 'gateway':
      return { HOST: '127.0.0.1', PORT: String(connections.gatewayPort) };
    case 'panel': {
      const { databaseUrls, gatewayPort, panelPort } = connections;
      const renderUrl = (port: number): string => `http://127.0.0.1:${port}`;
      const urls = { PANEL_URL: renderUrl(panelPort), GATEWAY_URL: renderUrl(gatewayPort) };
      return { DATABASE_URL: databaseUrls.panel, PANEL_PORT: String(panelPort), ...urls };
    }
    case 'payments': {
      const { databaseUrls, panelPort, paymentsPort } = connections;
      return { DATABASE_URL: databaseUrls.payments, PAYMENTS_PORT: String(paymentsPort), PANEL_URL: `http://127.0.0.1:${panelPort}` };
    }
    case 'upstream-sim':
      return { HOST: '127.0.0.1', UPSTREAM_SIM_PORT: upstreamPort };
    default:
      return {};
  }
}

async function isReady(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2000) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}
