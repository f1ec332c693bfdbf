import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commonEnvironment } from './environments.mjs';
import { localNats, natsAnswers, refusedUsers } from './nats.mjs';
import { PidFile } from './pid-file.mjs';
import { claimPort, freePort, otherPort, rememberPorts } from './ports.mjs';
import { localPostgres, postgresAnswers } from './postgres.mjs';
import { NODE, ROOT, StartError } from './project.mjs';
import { prometheusConfig, prometheusProgram } from './prometheus.mjs';
import { runCommand } from './run-command.mjs';
import { DATABASE_SERVICES, loadSecrets, NATS_USERS, passwordVariable, readPrivate, writePrivate } from './secrets.mjs';
import { createDemo, createPanelLink, keyWorks } from './seed.mjs';
import { SERVICES, STOP_ORDER, serviceProgram } from './services.mjs';
import { createStatus } from './status.mjs';
import { Supervisor } from './supervisor.mjs';
import { removeOwnedFolder } from './unprivileged.mjs';

/**
 * Starts the whole system on 127.0.0.1 and keeps it running. Packages must be installed and `dist` built. stack.d.mts documents the
 * options and the result. Three more options: `pidFile`, if the caller has claimed `dataDir` already, `signal`, which aborts the start and
 * stops the system, and `prometheus`, the path of a Prometheus that watches it; `prometheusUrl` is its address.
 */
export async function startStack(options) {
  const { dataDir, quiet = false } = options;
  const status = createStatus({ quiet });
  mkdirSync(dataDir, { recursive: true });
  const pidFile = options.pidFile ?? (await PidFile.claim(dataDir));
  const supervisor = new Supervisor({ logDir: join(dataDir, 'logs'), pidFile, say: status.say });
  let stopping;
  const stop = () => {
    stopping ??= supervisor.stopAll(STOP_ORDER).finally(() => pidFile.release());
    return stopping;
  };
  options.signal?.addEventListener('abort', stop);
  try {
    const facts = await bringUp({ ...options, supervisor, status });
    return { ...facts, ...controls(supervisor), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function bringUp({
  dataDir,
  port = 0,
  panelPort: wantedPanelPort = 0,
  env = {},
  serviceEnv = {},
  services = SERVICES,
  bundled = false,
  supervisor,
  status,
  ...options
}) {
  const gatewayPort = port === 0 ? await freePort() : port;
  const panelPort = wantedPanelPort === 0 ? await freePort() : wantedPanelPort;
  await claimPort(gatewayPort, otherPort('PORT', gatewayPort));
  await claimPort(panelPort, otherPort('PANEL_PORT', panelPort));
  const ports = await rememberPorts(join(dataDir, 'ports.json'), [
    'postgres',
    'nats',
    ...SERVICES,
    ...(options.prometheus ? ['prometheus'] : []),
  ]);
  const secrets = loadSecrets(dataDir);
  if (options.natsUrl) secrets.natsPasswords = passwordsFromEnvironment();

  const [databaseUrls, natsUrl] = await Promise.all([
    database({ ...options, dataDir, port: ports.postgres, secrets, supervisor, status }),
    nats({ ...options, port: ports.nats, passwords: secrets.natsPasswords, supervisor, status }),
  ]);
  const connections = { databaseUrls, natsUrl, gatewayPort, panelPort };
  const gatewayUrl = `http://127.0.0.1:${gatewayPort}`;
  await status.step('services', async () => {
    const program = (name) => serviceProgram(name, { connections, ports, secrets, env: { ...env, ...serviceEnv[name] }, bundled });
    await Promise.all(services.map(async (name) => supervisor.start(await program(name))));
    return `ready: ${services.join(', ')}`;
  });
  const hasDemo = services.includes('gateway') && options.demo !== false;
  // Without passwords an invite needs the e-mail that the provider knows.
  const hasPanelLink = hasDemo && services.includes('panel') && process.env.PANEL_PASSWORDS !== 'off';
  const [demo, panelLink] = await Promise.all([
    hasDemo ? readDemo({ dataDir, gatewayUrl, natsUrl, secrets, demo: options.demo, status }) : {},
    hasPanelLink ? createPanelLink({ natsUrl, natsPassword: secrets.natsPasswords.cli }) : undefined,
  ]);
  const panel = { panelUrl: `http://127.0.0.1:${panelPort}`, ...(panelLink && { panelLink }) };
  const facts = { gatewayUrl, ...panel, ...demo, databaseUrl: databaseUrls.owner, natsUrl };
  writePrivate(join(dataDir, 'demo.json'), facts);
  const opsUrls = Object.fromEntries(services.map((name) => [name, `http://127.0.0.1:${ports[name]}`]));
  if (options.prometheus)
    await status.step('prometheus', () => watch({ prometheus: options.prometheus, dataDir, opsUrls, port: ports.prometheus, supervisor }));
  return {
    ...facts,
    ...(options.prometheus && { prometheusUrl: `http://127.0.0.1:${ports.prometheus}` }),
    natsPasswords: secrets.natsPasswords,
    upstreamUrl: `http://127.0.0.1:${ports['upstream-sim']}`,
    opsUrls,
    logDir: join(dataDir, 'logs'),
    bundled,
  };
}

/** Starts the database and migrates it. Returns the URLs of the owner and of each service. */
async function database({ databaseUrl, serviceDatabaseUrls = {}, migrate = true, dataDir, port, secrets, durable, supervisor, status }) {
  let urls;
  if (databaseUrl) {
    await serverAt('DATABASE_URL', databaseUrl, 'postgres://user:password@host:5432/database', postgresAnswers);
    urls = { owner: databaseUrl, ...Object.fromEntries(DATABASE_SERVICES.map((name) => [name, serviceDatabaseUrls[name] || databaseUrl])) };
    status.say('postgres', 'uses DATABASE_URL');
  } else {
    const local = await localPostgres({ dataDir, port, password: secrets.postgresPassword, durable, step: status.step });
    await supervisor.start(local.program);
    urls = { owner: local.url, ...Object.fromEntries(DATABASE_SERVICES.map((name) => [name, serviceUrl(local.url, name, secrets)])) };
    status.say('postgres', `127.0.0.1:${port}`);
  }
  if (!migrate) return urls;
  await status.step('migrations', async () => {
    const script = join(ROOT, 'scripts/prisma/migrate-deploy.mjs');
    const variables = {
      DATABASE_URL: urls.owner,
      BILLING_DATABASE_URL: urls.billing,
      CATALOG_DATABASE_URL: urls.catalog,
      PANEL_DATABASE_URL: urls.panel,
    };
    const env = { ...commonEnvironment(), ...variables };
    return lastWord(await runCommand(NODE, [script], { cwd: ROOT, env, failure: databaseUrl ? 'DATABASE_URL' : 'migrations' }));
  });
  return urls;
}

/** URL of a service's own user on a local server. */
export function serviceUrl(ownerUrl, service, secrets) {
  return Object.assign(new URL(ownerUrl), { username: `tollgate_${service}`, password: secrets.servicePasswords[service] }).href;
}

async function nats({ natsUrl, port, passwords, supervisor, status }) {
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

/** Host and port of an existing server, the first of several. @throws {StartError} when the URL is unlike `example`, or no server answers. */
async function serverAt(variable, url, example, answers) {
  const first = url.replace(/,[^/?#@]*(?=[/?#]|$)/, ''); // of several hosts
  const { protocol, hostname, port } = URL.canParse(first) ? new URL(first) : {};
  const wanted = new URL(example);
  if (!hostname || protocol.replace('postgresql:', 'postgres:') !== wanted.protocol)
    throw new StartError(`${variable} must be a URL such as ${example}`);
  const server = { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || wanted.port) };
  if (await answers(server.host, server.port)) return server;
  throw new StartError(`${variable}: no server answers at ${hostname}:${server.port}`);
}

function passwordsFromEnvironment() {
  const missing = NATS_USERS.map(passwordVariable).filter((name) => !process.env[name]);
  if (missing.length > 0) throw new StartError(`NATS_URL also needs the passwords of its users: ${missing.join(', ')}`);
  return Object.fromEntries(NATS_USERS.map((user) => [user, process.env[passwordVariable(user)]]));
}

/** Starts Prometheus with the alert rules. The upstream-sim has no metrics. */
async function watch({ prometheus, dataDir, opsUrls: { 'upstream-sim': _, ...opsUrls }, port, supervisor }) {
  const configFile = join(dataDir, 'prometheus.json');
  writeFileSync(configFile, prometheusConfig({ opsUrls, rules: join(ROOT, 'deploy/observability/rules.yaml'), interval: '5s' }));
  await supervisor.start(prometheusProgram({ prometheus, configFile, dataDir: join(dataDir, 'prometheus'), port }));
  return `http://127.0.0.1:${port}`;
}

/** The demo account of the last start if its key works; else a new one. */
async function readDemo({ dataDir, gatewayUrl, natsUrl, secrets, demo, status }) {
  const file = join(dataDir, 'demo.json');
  const { accountId, projectId, apiKey } = readPrivate(file);
  if (apiKey && (await keyWorks(gatewayUrl, apiKey))) return { apiKey, accountId, projectId };
  let made;
  await status.step('demo account', async () => {
    made = await createDemo({ natsUrl, natsPassword: secrets.natsPasswords.cli, ...demo });
    return 'created, with a project, a key and money';
  });
  return { apiKey: made.apiKey, accountId: made.accountId, projectId: made.projectId };
}

function controls(supervisor) {
  return {
    pid: (name) => supervisor.pid(name),
    pids: () => supervisor.pids(),
    kill: (name, signal) => supervisor.kill(name, signal),
    hold: (name) => supervisor.hold(name),
    resume: (name) => supervisor.resume(name),
    ready: (name) => supervisor.ready(name),
    killAll: () => supervisor.killAll(),
  };
}

/** Deletes everything of a stopped stack: data, secrets, the demo key, logs. */
export function removeStack(dataDir) {
  removeOwnedFolder(dataDir, 'postgres');
  for (const name of ['demo.json', 'demo-traffic.json', 'secrets.json', 'ports.json', 'prometheus.json', 'prometheus', 'logs'])
    rmSync(join(dataDir, name), { recursive: true, force: true });
}

function lastWord(output) {
  return (
    output
      .trim()
      .split('\n')
      .at(-1)
      ?.replace(/^migrated: /, '') ?? ''
  );
}
