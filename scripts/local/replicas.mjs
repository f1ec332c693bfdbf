import { mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PidFile } from './pid-file.mjs';
import { freePort } from './ports.mjs';
import { loadSecrets } from './secrets.mjs';
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
    await supervisor.stopAll(['gateway', 'inference-proxy', 'billing', 'catalog'].map((service) => namesOf(replicas, service)));
    pidFile.release();
    rmSync(dataDir, { recursive: true, force: true });
  };
  const secrets = loadSecrets(stackDir);
  const gatewayUrls = {};
  try {
    const programs = replicas.map(async ({ name, service, env, via = {} }) => {
      const [opsPort, gatewayPort] = [await freePort(), await freePort()];
      if (service === 'gateway') gatewayUrls[name] = `http://127.0.0.1:${gatewayPort}`;
      const databaseUrl = (owner) => throughPort(serviceUrl(stack.databaseUrl, owner, secrets), via.postgres);
      const databaseUrls = { billing: databaseUrl('billing'), catalog: databaseUrl('catalog') };
      const connections = { natsUrl: throughPort(stack.natsUrl, via.nats), databaseUrls, gatewayPort };
      return { ...(await serviceProgram(service, { connections, ports: { [service]: opsPort }, secrets, env })), name };
    });
    await Promise.all(programs.map(async (program) => supervisor.start(await program)));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    gatewayUrls,
    logDir: join(dataDir, 'logs'),
    pid: (name) => supervisor.pid(name),
    kill: (name, signal) => supervisor.kill(name, signal),
    ready: (name) => supervisor.ready(name),
    stop,
  };
}

function namesOf(replicas, service) {
  return replicas.filter((replica) => replica.service === service).map(({ name }) => name);
}

function throughPort(url, port) {
  return port === undefined ? url : Object.assign(new URL(url), { port: String(port) }).href;
}
