import { mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PidFile } from './pid-file.ts';
import { freePort } from './ports.ts';
import { byName, DATABASE_SERVICES, type DatabaseService, loadSecrets } from './secrets.ts';
import { type ServiceName, serviceProgram } from './services.ts';
import { type StackFacts, serviceUrl } from './stack.ts';
import { type Program, Supervisor } from './supervisor.ts';

export interface Replica {
  /** Unique. */
  name: string;
  service: Exclude<ServiceName, 'upstream-sim'>;
  /** Overrides of its settings, such as `GATEWAY_URL` of a panel that calls the gateway. */
  env?: Record<string, string>;
  /** Another checkout, installed and built, whose program runs. Default: this one. */
  root?: string | undefined;
  /** Returns another program that starts the service, such as its image. */
  wrap?: (program: Program) => Program;
  /** Ports of 127.0.0.1 that replace those of the servers. */
  via?: { nats?: number; postgres?: number };
}

export interface RunningReplicas {
  /** URL of each gateway, by name. */
  gatewayUrls: Record<string, string>;
  /** Origin of each panel, by name. */
  panelUrls: Record<string, string>;
  logDir: string;
  /** Undefined between the end of a process and its restart. */
  pid(name: string): number | undefined;
  pids(): Record<string, number>;
  /** Sends a signal, SIGKILL by default, and resolves when the process has ended. The supervisor restarts it: see `ready`. */
  kill(name: string, signal?: NodeJS.Signals): Promise<void>;
  ready(name: string): Promise<void>;
  /** Stops a replica gracefully and starts it from the checkout `root`; from this one without it. Resolves when it is ready. */
  replace(name: string, root?: string): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts more processes of a running stack's services, on its NATS and Postgres, under supervision. The stack must have a Postgres of its
 * own. Stop the replicas before the stack.
 */
export async function startReplicas(stack: StackFacts, replicas: Replica[]): Promise<RunningReplicas> {
  const stackDir = dirname(stack.logDir);
  const dataDir = `${stackDir}-replicas`;
  mkdirSync(dataDir, { recursive: true });
  const pidFile = await PidFile.claim(dataDir);
  const supervisor = new Supervisor({ logDir: join(dataDir, 'logs'), pidFile, say: () => undefined });
  const stop = async () => {
    await supervisor.stopAll(
      (['gateway', 'panel', 'inference-proxy', 'billing', 'catalog'] as const).map((service) => listNames(replicas, service)),
    );
    pidFile.release();
    rmSync(dataDir, { recursive: true, force: true });
  };
  const secrets = loadSecrets(stackDir);
  const gatewayUrls: Record<string, string> = {};
  const panelUrls: Record<string, string> = {};
  const ports = new Map<string, [opsPort: number, port: number]>();
  const makeProgram = async ({ name, service, env, root, via = {}, wrap }: Replica): Promise<Program> => {
    const [opsPort, port] = ports.get(name) ?? [await freePort(), await freePort()];
    ports.set(name, [opsPort, port]);
    const url = `http://127.0.0.1:${port}`;
    if (service === 'gateway') gatewayUrls[name] = url;
    if (service === 'panel') panelUrls[name] = url;
    const databaseUrl = (owner: DatabaseService): string => throughPort(serviceUrl(stack.databaseUrl, owner, secrets), via.postgres);
    const databaseUrls = byName(DATABASE_SERVICES, databaseUrl);
    const connections = { natsUrl: throughPort(stack.natsUrl, via.nats), databaseUrls, gatewayPort: port, panelPort: port };
    const bundled = stack.bundled && !root && !wrap; // another checkout or an image has no bundles
    const options = { connections, ports: { [service]: opsPort }, secrets, env, root, bundled };
    const program = { ...(await serviceProgram(service, options)), name };
    return wrap ? wrap(program) : program;
  };
  const replace = async (name: string, root?: string): Promise<void> => {
    await supervisor.hold(name);
    const replica = replicas.find((one) => one.name === name);
    if (!replica) throw new Error(`unknown replica: ${name}`);
    await supervisor.start(await makeProgram({ ...replica, root }));
  };
  try {
    await Promise.all(replicas.map(async (replica) => supervisor.start(await makeProgram(replica))));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    gatewayUrls,
    panelUrls,
    logDir: join(dataDir, 'logs'),
    pid: (name) => supervisor.pid(name),
    pids: () => supervisor.pids(),
    kill: (name, signal) => supervisor.kill(name, signal),
    replace,
    ready: (name) => supervisor.ready(name),
    stop,
  };
}

function listNames(replicas: Replica[], service: Replica['service']): string[] {
  return replicas.filter((replica) => replica.service === service).map(({ name }) => name);
}

function throughPort(url: string, port: number | undefined): string {
  return port === undefined ? url : Object.assign(new URL(url), { port: String(port) }).href;
}
