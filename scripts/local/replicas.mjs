import { mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PidFile } from './pid-file.mjs';
import { freePort } from './ports.mjs';
import { DATABASE_SERVICES, loadSecrets } from './secrets.mjs';
import { serviceProgram } from './services.mjs';
import { serviceUrl } from './stack.mjs';
import { Supervisor } from './supervisor.mjs';

/** Starts more processes of a running stack's services, on its NATS and Postgres, under supervision. replicas.d.mts has the types. */
export async function startReplicas(stack, replicas) {
  const stackDir = dirname(stack.logDir);
  const dataDir = `${stackDir}-replicas`;
  mkdirSync(dataDir, { recursive: true });
  const pidFile = await PidFile.claim(dataDir);
  const supervisor = new Supervisor({ logDir: join(dataDir, 'logs'), pidFile, say: () => undefined });
  const stop = async () => {
    await supervisor.stopAll(['gateway', 'panel', 'inference-proxy', 'billing', 'catalog'].map((service) => listNames(replicas, service)));
    pidFile.release();
    rmSync(dataDir, { recursive: true, force: true });
  };
  const secrets = loadSecrets(stackDir);
  const gatewayUrls = {};
  const panelUrls = {};
  const ports = new Map();
  const makeProgram = async ({ name, service, env, root, via = {}, wrap }) => {
    if (!ports.has(name)) ports.set(name, [await freePort(), await freePort()]);
    const [opsPort, port] = ports.get(name);
    const url = `http://127.0.0.1:${port}`;
    if (service === 'gateway') gatewayUrls[name] = url;
    if (service === 'panel') panelUrls[name] = url;
    const databaseUrl = (owner) => throughPort(serviceUrl(stack.databaseUrl, owner, secrets), via.postgres);
    const databaseUrls = Object.fromEntries(DATABASE_SERVICES.map((owner) => [owner, databaseUrl(owner)]));
    const connections = { natsUrl: throughPort(stack.natsUrl, via.nats), databaseUrls, gatewayPort: port, panelPort: port };
    const bundled = stack.bundled && !root && !wrap; // another checkout or an image has no bundles
    const options = { connections, ports: { [service]: opsPort }, secrets, env, root, bundled };
    const program = { ...(await serviceProgram(service, options)), name };
    return wrap ? wrap(program) : program;
  };
  const replace = async (name, root) => {
    await supervisor.hold(name);
    await supervisor.start(await makeProgram({ ...replicas.find((replica) => replica.name === name), root }));
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

function listNames(replicas, service) {
  return replicas.filter((replica) => replica.service === service).map(({ name }) => name);
}

function throughPort(url, port) {
  return port === undefined ? url : Object.assign(new URL(url), { port: String(port) }).href;
}
