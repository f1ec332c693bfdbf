import { mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PidFile } from './pid-file.ts';
import { freePort } from './ports.ts';
import { byName, DATABASE_SERVICES, loadSecrets } from './secrets.ts';
import { type ServiceEnv, STOP_ORDER, serviceProgram, TARGETS, type TargetName, tollgateProgram } from './services.ts';
import type { StackFacts } from './stack.ts';
import { type Program, Supervisor } from './supervisor.ts';

export interface Replica {
  /** Unique. */
  name: string;
  /** `tollgate` is one process of several services. */
  service: TargetName | 'tollgate';
  /** Services of a `tollgate`. Default: all. */
  targets?: readonly TargetName[] | undefined;
  /** Overrides of its settings, such as `GATEWAY_URL` of a panel that calls the gateway. */
  env?: Record<string, string>;
  /** Overrides of the settings of one service of a `tollgate`. */
  serviceEnv?: ServiceEnv;
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

/** Starts more processes of a running stack's services, on its NATS and Postgres, under supervision. Stop the replicas before the stack. */
export async function startReplicas(stack: StackFacts, replicas: Replica[]): Promise<RunningReplicas> {
  const stackDir = dirname(stack.logDir);
  const dataDir = `${stackDir}-replicas`;
  mkdirSync(dataDir, { recursive: true });
  const pidFile = await PidFile.claim(dataDir);
  const supervisor = new Supervisor({ logDir: join(dataDir, 'logs'), pidFile, say: () => undefined });
  const stop = async () => {
    await supervisor.stopAll(STOP_ORDER.map((group) => replicas.filter(({ service }) => group.includes(service)).map(({ name }) => name)));
    pidFile.release();
    rmSync(dataDir, { recursive: true, force: true });
  };
  const secrets = { ...loadSecrets(stackDir), natsPasswords: stack.natsPasswords };
  const gatewayUrls: Record<string, string> = {};
  const panelUrls: Record<string, string> = {};
  const taken = new Map<string, [opsPort: number, gatewayPort: number, panelPort: number]>();
  const makeProgram = async ({ name, service, targets = TARGETS, env, serviceEnv, root, via = {}, wrap }: Replica): Promise<Program> => {
    const own = taken.get(name) ?? [await freePort(), await freePort(), await freePort()];
    taken.set(name, own);
    const [opsPort, gatewayPort, panelPort] = own;
    const runs = service === 'tollgate' ? targets : [service];
    if (runs.includes('gateway')) gatewayUrls[name] = `http://127.0.0.1:${gatewayPort}`;
    if (runs.includes('panel')) panelUrls[name] = `http://127.0.0.1:${panelPort}`;
    // An image has a file system of its own, without the socket of the server.
    const postgresPort = via.postgres ?? (wrap && Number(new URL(stack.databaseUrl).port));
    const databaseUrls = byName(DATABASE_SERVICES, (owner) => throughPort(stack.serviceDatabaseUrls[owner], postgresPort));
    const connections = { natsUrl: throughPort(stack.natsUrl, via.nats), databaseUrls, gatewayPort, panelPort };
    const ports = { tollgate: opsPort, [service]: opsPort, 'upstream-sim': Number(new URL(stack.upstreamUrl).port) };
    const bundled = stack.bundled && !root && !wrap; // another checkout or an image has no bundles
    const options = { connections, ports, secrets, env, serviceEnv, root, bundled };
    const program = service === 'tollgate' ? await tollgateProgram(runs, options) : await serviceProgram(service, options);
    return wrap ? wrap({ ...program, name }) : { ...program, name };
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

/** A URL without its Unix socket, if it has one, for a TCP port. */
function throughPort(url: string, port: number | undefined): string {
  return port === undefined ? url : Object.assign(new URL(url), { port: String(port), search: '' }).href;
}
