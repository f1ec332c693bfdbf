import { mkdirSync } from 'node:fs';
import { runDemoTraffic } from './demo-traffic.ts';
import { AlreadyRunning, PidFile } from './pid-file.ts';
import { claimPort, otherPort } from './ports.ts';
import { DATA, PACKAGE, PACKAGED, StartError } from './project.mjs';
import { endCommands } from './run-command.mjs';
import { createPanelLink } from './seed.ts';
import { OPTIONAL_SERVICES, SERVICES, TARGETS } from './services.ts';
import { type RunningStack, removeStack, startStack } from './stack.ts';
import { createStatus, type Status, seconds } from './status.mjs';

const INTERRUPTED = 130;

interface LaunchOptions {
  reset?: boolean | undefined;
  demoTraffic?: boolean | undefined;
  payments?: boolean | undefined;
  /** Each service as a program of its own. */
  split?: boolean | undefined;
  /** False: neither the simulator nor an account for it. */
  demo?: boolean | undefined;
  /** Makes ready what runs, before it starts. Returns the path of a Prometheus that is to watch it. */
  prepare?(status: Status, services: readonly (typeof SERVICES | typeof OPTIONAL_SERVICES)[number][]): Promise<string | undefined>;
}

/** Runs `main` of a program that people start by hand: a fault that they can mend is one line. */
export async function runLauncher(main: () => Promise<void>): Promise<void> {
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
}

/** Starts everything on 127.0.0.1 until Ctrl-C, with the settings of the environment. */
export async function launch({ reset, demoTraffic, payments, split, demo = true, prepare }: LaunchOptions): Promise<void> {
  const started = performance.now();
  const layout = split ? 'split' : 'all';
  const port = readPort('PORT', 8080);
  const panelPort = readPort('PANEL_PORT', 8081);
  const paymentsPort = payments ? readPort('PAYMENTS_PORT', 8082) : 0;
  if (payments) requireStripe();
  const services = [...(demo ? SERVICES : TARGETS), ...(payments ? OPTIONAL_SERVICES : [])];
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
  const prometheus = await prepare?.(status, services);
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
      ...(!demo && { demo }),
    }),
  );
  if (!demo) stack.panelLink = await createPanelLink({ natsUrl: stack.natsUrl, natsPassword: stack.natsPasswords.cli });
  process.stdout.write(greeting(stack, performance.now() - started));
  if (demo && demoTraffic) await runDemoTraffic({ dataDir: DATA, stack, say: status.say, signal: stopped });
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

function greeting(stack: RunningStack, took: number): string {
  const { gatewayUrl, apiKey, panelUrl, panelLink, upstreamUrl, prometheusUrl, webhookUrl, logDir } = stack;
  const body = '{"model":"sim-fast","messages":[{"role":"user","content":"Hello"}]}';
  const rows = [
    ['base URL', `${gatewayUrl}/v1`],
    ...(apiKey ? [['demo key', apiKey]] : []),
    ['panel', `${panelUrl}/panel/`],
    ...(panelLink
      ? [
          ['sign in', panelLink],
          ['', `once, within 24 hours; for another: ${commandLineCall()} panel invite --admin`],
        ]
      : []),
    ...(apiKey ? [['simulator', `${upstreamUrl}/v1, the model server that answers`]] : []),
    ...(prometheusUrl ? [['prometheus', prometheusUrl]] : []),
    ...(webhookUrl ? [['webhook', webhookUrl]] : []),
  ];
  const sdk = `With the OpenAI SDK, in a file such as .local/hello.mjs:

  import OpenAI from 'openai';
  const client = new OpenAI({ baseURL: '${gatewayUrl}/v1', apiKey: '${apiKey}' });
  const reply = await client.chat.completions.create({ model: 'sim-fast', messages: [{ role: 'user', content: 'Hello' }] });
  console.log(reply.choices[0].message.content);

`;
  const request = `  curl ${gatewayUrl}/v1/chat/completions -H 'authorization: Bearer ${apiKey}' -H 'content-type: application/json' -d '${body}'\n\n`;
  return `
Tollgate is ready after ${seconds(took)}. Logs: ${logDir}; Ctrl-C stops it.

${rows.map(([name = '', text]) => `  ${name.padEnd(10)} ${text}\n`).join('')}
${apiKey ? request : `  ${commandLineCall()} --help\n\n`}${apiKey && !PACKAGED ? sdk : ''}`;
}

/** The command line as people call it here. */
function commandLineCall(): string {
  return PACKAGED ? `npx --package ${PACKAGE.name} tollgate` : 'npx tollgate';
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
