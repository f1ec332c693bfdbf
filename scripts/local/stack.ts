import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { localNats, natsAnswers, refusedUsers } from './nats.ts';
import { PASSWORD_USERS, type PasswordUser } from './nats-keys.mjs';
import { PidFile } from './pid-file.ts';
import { claimPort, freePort, otherPort, rememberPorts } from './ports.ts';
import { ROOT, StartError } from './project.mjs';
import { prometheusConfig, prometheusProgram } from './prometheus.ts';
import { byName, type DatabaseService, loadSecrets, passwordVariable, readPrivate, type Secrets, writePrivate } from './secrets.ts';
import { createDemo, createPanelLink, type Demo, type DemoOptions, keyWorks } from './seed.ts';
import {
  type Layout,
  OPTIONAL_SERVICES,
  SERVICES,
  type ServiceEnv,
  type ServiceName,
  STOP_ORDER,
  serviceProgram,
  tollgateProgram,
} from './services.ts';
import { MIGRATED_FILE, migrateDatabase, serverAt, startDatabase } from './stack-database.ts';
import { createStatus, type Status } from './status.mjs';
import { Supervisor } from './supervisor.ts';
import { removeOwnedFolder } from './unprivileged.ts';

export type ProgramName = ServiceName | 'tollgate' | 'postgres' | 'nats';

/** Addresses and secrets of a running stack, as plain JSON. */
export interface StackFacts {
  /** Without `/v1`. */
  gatewayUrl: string;
  /** Origin of the panel. */
  panelUrl: string;
  /** Address of the webhook of Stripe; absent without the service `payments`. */
  webhookUrl?: string;
  /** One-time link that makes the first admin; absent when there is an admin. */
  panelLink?: string;
  /** Key of the demo project, with its account and project. */
  apiKey: string;
  accountId: string;
  projectId: string;
  /** URL of the database owner. */
  databaseUrl: string;
  serviceDatabaseUrls: Record<DatabaseService, string>;
  natsUrl: string;
  natsPasswords: Record<PasswordUser, string>;
  /** The simulated upstream, without `/v1`. */
  upstreamUrl: string;
  /** `/livez`, `/readyz` and `/metrics` of each service. */
  opsUrls: Record<ServiceName, string>;
  /** With the option `prometheus`. */
  prometheusUrl?: string;
  logDir: string;
  /** The services run from their bundles. */
  bundled: boolean;
  layout: Layout;
}

interface StackControls {
  /** Undefined between the end of a process and its restart. */
  pid(name: ProgramName): number | undefined;
  pids(): Partial<Record<ProgramName, number>>;
  /** Sends a signal, SIGKILL by default, and resolves when the process has ended. The supervisor restarts it: see `ready`. */
  kill(name: ProgramName, signal?: NodeJS.Signals): Promise<void>;
  /** Stops a program gracefully until `resume`, which resolves when it is ready. */
  hold(name: ProgramName): Promise<void>;
  resume(name: ProgramName): Promise<void>;
  /** Resolves when its probe succeeds: `/readyz` of a service. */
  ready(name: ProgramName): Promise<void>;
  /** Kills all programs, if `stop` takes too long. */
  killAll(): void;
}

export interface RunningStack extends StackFacts, StackControls {
  /** Stops all programs in order. */
  stop(): Promise<void>;
}

export interface StackOptions {
  /** Folder of data, logs and secrets; one running stack each. */
  dataDir: string;
  /** The claim on `dataDir`, if the caller has made it already. */
  pidFile?: PidFile;
  /** Port of the gateway. 0, the default, takes a free one. */
  port?: number;
  /** Port of the panel. 0, the default, takes a free one. */
  panelPort?: number;
  /** Port of the webhook of Stripe, with the service `payments`. 0, the default, takes a free one. */
  paymentsPort?: number;
  /** Settings for every service, such as `{ LEASE_MS: '2000' }`. */
  env?: Record<string, string>;
  /** Settings for one service. */
  serviceEnv?: ServiceEnv;
  /** Services in one process, or each in its own. Default: `split`. */
  layout?: Layout;
  /** Default: all. Without the gateway there is no demo account. */
  services?: readonly ServiceName[];
  /** Existing servers; absent: starts its own. */
  databaseUrl?: string | undefined;
  natsUrl?: string | undefined;
  /** URLs of the services on that server; absent: `databaseUrl`. */
  serviceDatabaseUrls?: Partial<Record<DatabaseService, string | undefined>>;
  /** False: the database is migrated already, with its users. */
  migrate?: boolean;
  /** False: Postgres does not wait for the disk. */
  durable?: boolean;
  /** The services run from their bundles (bundles.ts). Default: false. */
  bundled?: boolean;
  demo?: false | DemoOptions;
  /** Path of a Prometheus that watches the services. */
  prometheus?: string | undefined;
  quiet?: boolean;
  /** Aborts the start, and stops the system. */
  signal?: AbortSignal;
}

interface Running {
  supervisor: Supervisor;
  status: Status;
}

/** Starts the whole system on 127.0.0.1 and keeps it running. Packages must be installed and `dist` built. */
export async function startStack(options: StackOptions): Promise<RunningStack> {
  const { dataDir, quiet = false } = options;
  const status = createStatus({ quiet });
  mkdirSync(dataDir, { recursive: true });
  const pidFile = options.pidFile ?? (await PidFile.claim(dataDir));
  const supervisor = new Supervisor({ logDir: join(dataDir, 'logs'), pidFile, say: status.say });
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopping ??= supervisor.stopAll(STOP_ORDER).finally(() => pidFile.release());
    return stopping;
  };
  options.signal?.addEventListener('abort', stop);
  try {
    const facts = await bringUp({ ...options, supervisor, status });
    return { ...facts, ...controls(supervisor, facts.layout), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function bringUp({
  dataDir,
  port = 0,
  panelPort: wantedPanelPort = 0,
  paymentsPort: wantedPaymentsPort = 0,
  env = {},
  serviceEnv = {},
  services = SERVICES,
  bundled = false,
  layout = 'split',
  supervisor,
  status,
  ...options
}: StackOptions & Running): Promise<StackFacts> {
  const gatewayPort = port === 0 ? await freePort() : port;
  const panelPort = wantedPanelPort === 0 ? await freePort() : wantedPanelPort;
  const paymentsPort = wantedPaymentsPort === 0 ? await freePort() : wantedPaymentsPort;
  await claimPort(gatewayPort, otherPort('PORT', gatewayPort));
  await claimPort(panelPort, otherPort('PANEL_PORT', panelPort));
  const prometheusPort = options.prometheus ? (['prometheus'] as const) : [];
  const ports = await rememberPorts(join(dataDir, 'ports.json'), [
    'postgres',
    'nats',
    'tollgate',
    ...SERVICES,
    ...OPTIONAL_SERVICES,
    ...prometheusPort,
  ]);
  const secrets = loadSecrets(dataDir);
  if (options.natsUrl) secrets.natsPasswords = passwordsFromEnvironment();

  const [databaseUrls, natsUrl] = await Promise.all([
    startDatabase({ ...options, dataDir, port: ports.postgres, secrets, supervisor, status }),
    nats({ ...options, port: ports.nats, passwords: secrets.natsPasswords, supervisor, status }),
  ]);
  const connections = { databaseUrls, natsUrl, gatewayPort, panelPort, paymentsPort };
  const gatewayUrl = `http://127.0.0.1:${gatewayPort}`;
  const startServices = async (): Promise<string> => {
    const program = (name: ServiceName) =>
      serviceProgram(name, { connections, ports, secrets, env: { ...env, ...serviceEnv[name] }, bundled });
    const together = layout === 'all' ? services.filter((name) => name !== 'upstream-sim') : [];
    const alone = services.filter((name) => !together.some((other) => other === name));
    const programs = alone.map(program);
    if (together.length > 0) programs.push(tollgateProgram(together, { connections, ports, secrets, env, serviceEnv, bundled }));
    await Promise.all(programs.map(async (one) => supervisor.start(await one)));
    return `ready: ${services.join(', ')}`;
  };
  const { migrate = true } = options;
  const migrations = migrate ? migrateDatabase({ dataDir, urls: databaseUrls, isOwn: !options.databaseUrl, status }) : undefined;
  await migrations?.schemaIsThere;
  await Promise.all([migrations?.done, status.step('services', startServices)]);
  const hasDemo = services.includes('gateway') && options.demo !== false;
  // Without passwords an invite needs the e-mail that the provider knows.
  const hasPanelLink = hasDemo && services.includes('panel') && process.env.PANEL_PASSWORDS !== 'off';
  const [demo, panelLink] = await Promise.all([
    hasDemo ? readDemo({ dataDir, gatewayUrl, natsUrl, secrets, demo: options.demo, status }) : ({} as Demo),
    hasPanelLink ? createPanelLink({ natsUrl, natsPassword: secrets.natsPasswords.cli }) : undefined,
  ]);
  const panel = { panelUrl: `http://127.0.0.1:${panelPort}`, ...(panelLink && { panelLink }) };
  const { owner: databaseUrl, ...serviceDatabaseUrls } = databaseUrls;
  const payments = services.includes('payments') && { webhookUrl: `http://127.0.0.1:${paymentsPort}/stripe/webhook` };
  const facts = { gatewayUrl, ...panel, ...payments, ...demo, databaseUrl, natsUrl };
  writePrivate(join(dataDir, 'demo.json'), facts);
  const opsUrls = byName(services, (name) => `http://127.0.0.1:${ports[programOf(name, layout)]}`);
  const { prometheus } = options;
  if (prometheus) await status.step('prometheus', () => watch({ prometheus, dataDir, opsUrls, port: ports.prometheus, supervisor }));
  return {
    ...facts,
    ...(prometheus && { prometheusUrl: `http://127.0.0.1:${ports.prometheus}` }),
    serviceDatabaseUrls,
    natsPasswords: secrets.natsPasswords,
    upstreamUrl: `http://127.0.0.1:${ports['upstream-sim']}`,
    opsUrls,
    logDir: join(dataDir, 'logs'),
    bundled,
    layout,
  };
}

/** The program that runs a service. */
function programOf<Name extends ProgramName>(name: Name, layout: Layout): Name | 'tollgate' {
  const isTogether = layout === 'all' && name !== 'upstream-sim' && SERVICES.some((service) => service === name);
  return isTogether ? 'tollgate' : name;
}

async function nats({
  natsUrl,
  port,
  passwords,
  supervisor,
  status,
}: Pick<StackOptions, 'natsUrl'> & Running & { port: number; passwords: Record<string, string> }): Promise<string> {
  if (natsUrl) {
    const { host, port: natsPort } = await serverAt('NATS_URL', natsUrl, 'nats://host:4222', natsAnswers);
    const refused = await refusedUsers(host, natsPort, passwords);
    if (refused.length > 0)
      throw new StartError(`NATS_URL: the server refuses ${refused.join(', ')}: wrong ${refused.map(passwordVariable).join(', ')}`);
    status.say('nats', 'uses NATS_URL');
    return natsUrl;
  }
  const local = await localNats({ port, passwords, step: status.step });
  await supervisor.start(local.program);
  status.say('nats', `127.0.0.1:${port}`);
  return local.url;
}

function passwordsFromEnvironment(): Record<PasswordUser, string> {
  const missing = PASSWORD_USERS.map(passwordVariable).filter((name) => !process.env[name]);
  if (missing.length > 0) throw new StartError(`NATS_URL also needs the passwords of its users: ${missing.join(', ')}`);
  return byName(PASSWORD_USERS, (user) => process.env[passwordVariable(user)] ?? '');
}

/** Starts Prometheus with the alert rules. The upstream-sim has no metrics. */
async function watch({
  prometheus,
  dataDir,
  opsUrls: { 'upstream-sim': _, ...opsUrls },
  port,
  supervisor,
}: {
  prometheus: string;
  dataDir: string;
  opsUrls: Record<string, string>;
  port: number;
  supervisor: Supervisor;
}): Promise<string> {
  const configFile = join(dataDir, 'prometheus.json');
  writeFileSync(configFile, prometheusConfig({ opsUrls, rules: join(ROOT, 'deploy/observability/rules.yaml'), interval: '5s' }));
  await supervisor.start(prometheusProgram({ prometheus, configFile, dataDir: join(dataDir, 'prometheus'), port }));
  return `http://127.0.0.1:${port}`;
}

/** The demo account of the last start if its key works; else a new one. */
async function readDemo({
  dataDir,
  gatewayUrl,
  natsUrl,
  secrets,
  demo,
  status,
}: {
  dataDir: string;
  gatewayUrl: string;
  natsUrl: string;
  secrets: Secrets;
  demo: StackOptions['demo'];
  status: Status;
}): Promise<Demo> {
  const file = join(dataDir, 'demo.json');
  const { accountId, projectId, apiKey } = readPrivate<Demo>(file);
  if (apiKey && accountId && projectId && (await keyWorks(gatewayUrl, apiKey))) return { apiKey, accountId, projectId };
  const creation = createDemo({ natsUrl, natsPassword: secrets.natsPasswords.cli, ...demo });
  await status.step('demo account', () => creation.then(() => 'created, with a project, a key and money'));
  return await creation;
}

/** With all services in one process, the name of each stands for that process. */
function controls(supervisor: Supervisor, layout: Layout): StackControls {
  const program = (name: ProgramName): ProgramName => programOf(name, layout);
  return {
    pid: (name) => supervisor.pid(program(name)),
    pids: () => supervisor.pids(),
    kill: (name, signal) => supervisor.kill(program(name), signal),
    hold: (name) => supervisor.hold(program(name)),
    resume: (name) => supervisor.resume(program(name)),
    ready: (name) => supervisor.ready(program(name)),
    killAll: () => supervisor.killAll(),
  };
}

/** Deletes everything of a stopped stack: data, secrets, the demo key, logs. */
export function removeStack(dataDir: string): void {
  removeOwnedFolder(dataDir, 'postgres');
  for (const name of [
    'demo.json',
    'demo-traffic.json',
    'secrets.json',
    'ports.json',
    MIGRATED_FILE,
    'prometheus.json',
    'prometheus',
    'logs',
  ])
    rmSync(join(dataDir, name), { recursive: true, force: true });
}
