/** `npm start`: runs Tollgate on this machine until Ctrl-C. Imports no packages: those of a new lock file may not be installed yet. */
import { mkdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { ensureBuilt } from './local/build.ts';
import { ensureBundled } from './local/bundles.ts';
import { runDemoTraffic } from './local/demo-traffic.ts';
import { ensureDependencies } from './local/dependencies.mjs';
import { AlreadyRunning, PidFile } from './local/pid-file.ts';
import { claimPort, otherPort } from './local/ports.ts';
import { DATA, StartError } from './local/project.mjs';
import { findPrometheus } from './local/prometheus.ts';
import { endCommands } from './local/run-command.mjs';
import { OPTIONAL_SERVICES, SERVICES } from './local/services.ts';
import { type RunningStack, removeStack, startStack } from './local/stack.ts';
import { createStatus, seconds } from './local/status.mjs';

const HELP = `npm start [-- --reset] [--demo-traffic] [--observe] [--split] [--payments]

Starts Tollgate on 127.0.0.1: installs packages, finds or installs PostgreSQL and NATS, migrates the database, builds,
starts the services and a simulated upstream, and creates a demo account. Ctrl-C stops everything; data stays in .local/.

  --reset         delete the data, keys and logs of earlier starts
  --demo-traffic  once ready, send 75 seconds of mixed traffic: all formats, two projects, failures, clients that leave
  --observe       also start Prometheus with the alert rules: one on PATH, else Debian's
  --split         run each service as a program of its own, as on Kubernetes; otherwise they share one process
  --payments      also start payments by card, with STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET (docs/payments.md)
  --help          show this text

  PORT          port of the gateway (default 8080)
  PANEL_PORT    port of the panel (default 8081)
  PAYMENTS_PORT port of the webhook of Stripe, with --payments (default 8082)
  TOLLGATE_DATA folder for data, logs and secrets (default .local)
  DATABASE_URL  an existing PostgreSQL database, which is migrated. The services connect with it, or with the users in
                BILLING_DATABASE_URL, CATALOG_DATABASE_URL, PANEL_DATABASE_URL and PAYMENTS_DATABASE_URL, which are created
                if DATABASE_URL has the right to
  NATS_URL      an existing NATS server with config/nats-passwords.conf, and the passwords of its users: NATS_GATEWAY_PASSWORD,
                NATS_BILLING_PASSWORD, NATS_CATALOG_PASSWORD, NATS_INFERENCE_PROXY_PASSWORD, NATS_PANEL_PASSWORD,
                NATS_PAYMENTS_PASSWORD, NATS_CLI_PASSWORD, NATS_INTERNAL_PASSWORD
`;

const INTERRUPTED = 130;

process.stdout.on('error', () => {}); // the terminal is closed: SIGHUP stops the system
try {
  await main();
} catch (error) {
  if (error instanceof AlreadyRunning)
    fail(`Tollgate is already running here (process ${error.record.launcher.pid}); stop it with Ctrl-C first`);
  if (error instanceof StartError) fail(error.message);
  const { code, path, stack } = error as NodeJS.ErrnoException;
  if (['EACCES', 'EPERM', 'EROFS'].includes(code ?? '') && path) fail(`cannot write ${path}: check its owner and permissions`);
  fail(stack ?? String(error));
}

async function main(): Promise<void> {
  const { reset, help, 'demo-traffic': demoTraffic, observe, split, payments } = readArguments();
  const layout = split ? 'split' : 'all';
  if (help) return void process.stdout.write(HELP);
  const started = performance.now();
  const port = readPort('PORT', 8080);
  const panelPort = readPort('PANEL_PORT', 8081);
  const paymentsPort = payments ? readPort('PAYMENTS_PORT', 8082) : 0;
  if (payments) requireStripe();
  const services = payments ? [...SERVICES, ...OPTIONAL_SERVICES] : SERVICES;
  const status = createStatus();
  mkdirSync(DATA, { recursive: true });
  const pidFile = await PidFile.claim(DATA);
  process.once('exit', () => pidFile.release()); // its processes have stopped by then
  const { DATABASE_URL: databaseUrl, NATS_URL: natsUrl } = process.env;
  const serviceDatabaseUrls = {
    billing: process.env.BILLING_DATABASE_URL,
    catalog: process.env.CATALOG_DATABASE_URL,
    panel: process.env.PANEL_DATABASE_URL,
    payments: process.env.PAYMENTS_DATABASE_URL,
  };
  const { untilSignal, signal: stopped } = stopOnSignal();

  // Checked first, because installing and building are slow.
  await claimPort(port, otherPort('PORT', port));
  await claimPort(panelPort, otherPort('PANEL_PORT', panelPort));
  if (payments) await claimPort(paymentsPort, otherPort('PAYMENTS_PORT', paymentsPort));
  if (reset) {
    removeStack(DATA);
    status.say('reset', 'deleted earlier data, keys and logs');
  }
  await ensureDependencies(status);
  await ensureBuilt(status);
  await ensureBundled(status, layout === 'all' ? ['tollgate', 'upstream-sim'] : services);
  const prometheus = observe ? (await findPrometheus(status)).prometheus : undefined;
  const stack = await untilSignal((signal) =>
    startStack({
      dataDir: DATA,
      pidFile,
      layout,
      bundled: true,
      port,
      panelPort,
      paymentsPort,
      services,
      databaseUrl,
      serviceDatabaseUrls,
      natsUrl,
      prometheus,
      signal,
    }),
  );
  process.stdout.write(greeting(stack, performance.now() - started));
  if (demoTraffic) await runDemoTraffic({ dataDir: DATA, stack, say: status.say, signal: stopped });
}

/**
 * Installs signal handlers. A signal ends the running command, or stops the stack once `untilSignal` has started it, and aborts `signal`.
 * A second signal kills the stack.
 */
function stopOnSignal(): {
  untilSignal: (start: (signal: AbortSignal) => Promise<RunningStack>) => Promise<RunningStack>;
  signal: AbortSignal;
} {
  const abort = new AbortController();
  let starting: Promise<RunningStack> | undefined;
  let stack: RunningStack | undefined;
  let askedAt: number | undefined;
  const onSignal = (): void => {
    // Ctrl-C arrives twice, from the terminal and through npm. A second Ctrl-C comes later.
    if (askedAt !== undefined) {
      if (performance.now() - askedAt > 1000) stack?.killAll();
      return;
    }
    askedAt = performance.now();
    if (!starting) return void endCommands().then(() => process.exit(INTERRUPTED));
    process.stdout.write('\nstopping\n');
    abort.abort();
    void stack?.stop().then(() => {
      process.stdout.write('stopped\n');
      process.exit(0);
    });
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, onSignal);
  const untilSignal = async (start: (signal: AbortSignal) => Promise<RunningStack>): Promise<RunningStack> => {
    try {
      starting = start(abort.signal);
      stack = await starting;
      return stack;
    } catch (error) {
      if (abort.signal.aborted) process.exit(INTERRUPTED);
      throw error;
    }
  };
  return { untilSignal, signal: abort.signal };
}

function greeting(
  { gatewayUrl, apiKey, panelUrl, panelLink, upstreamUrl, prometheusUrl, webhookUrl, logDir }: RunningStack,
  took: number,
): string {
  const body = '{"model":"sim-fast","messages":[{"role":"user","content":"Hello"}]}';
  return `
Tollgate is ready after ${seconds(took)}. Logs: ${logDir}; Ctrl-C stops it.

  base URL   ${gatewayUrl}/v1
  demo key   ${apiKey}
  panel      ${panelUrl}/panel/${panelLink ? `\n  sign in    ${panelLink}\n             once, within 24 hours; for another: npx tollgate panel invite --admin` : ''}
  simulator  ${upstreamUrl}/v1, the model server that answers${
    prometheusUrl
      ? `
  prometheus ${prometheusUrl}`
      : ''
  }${webhookUrl ? `\n  webhook    ${webhookUrl}` : ''}

  curl ${gatewayUrl}/v1/chat/completions -H 'authorization: Bearer ${apiKey}' -H 'content-type: application/json' -d '${body}'

With the OpenAI SDK, in a file such as .local/hello.mjs:

  import OpenAI from 'openai';
  const client = new OpenAI({ baseURL: '${gatewayUrl}/v1', apiKey: '${apiKey}' });
  const reply = await client.chat.completions.create({ model: 'sim-fast', messages: [{ role: 'user', content: 'Hello' }] });
  console.log(reply.choices[0].message.content);

`;
}

function readArguments(): {
  split?: boolean;
  reset?: boolean;
  help?: boolean;
  'demo-traffic'?: boolean;
  observe?: boolean;
  payments?: boolean;
} {
  // npm keeps options before the two dashes. Starting with the old data, or without the traffic, would be wrong.
  for (const name of ['reset', 'demo-traffic', 'observe', 'split', 'payments']) {
    const isKept = process.env[`npm_config_${name.replaceAll('-', '_')}`];
    if (isKept) throw new StartError(`use two dashes before the option: npm start -- --${name}`);
  }
  const flag = { type: 'boolean' } as const;
  try {
    return parseArgs({
      options: { reset: flag, 'demo-traffic': flag, observe: flag, split: flag, payments: flag, help: { ...flag, short: 'h' } },
    }).values;
  } catch (error) {
    throw new StartError(`${(error as Error).message.split('.')[0]}; see npm start -- --help`);
  }
}

/** The service would end with the same fault, after all others have started. */
function requireStripe(): void {
  const missing = ['STRIPE_SECRET_KEY', 'STRIPE_WEBHOOK_SECRET'].filter((name) => !process.env[name]);
  if (missing.length > 0) throw new StartError(`--payments needs ${missing.join(' and ')}: see docs/payments.md`);
}

function readPort(name: string, initial: number): number {
  const text = process.env[name] || String(initial);
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new StartError(`${name} must be a number from 0 to 65535, not ${text}`);
  return port;
}

function fail(line: string): never {
  process.stderr.write(`${line}\n`);
  process.exit(1);
}
