/** `npm start`: everything Tollgate needs, on this machine, until Ctrl-C. Runs on the machine's own Node, before installation. */
import { mkdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { ensureBuilt } from './local/build.mjs';
import { ensureDependencies } from './local/dependencies.mjs';
import { AlreadyRunning, PidFile } from './local/pid-file.mjs';
import { claimPort, otherPort } from './local/ports.mjs';
import { DATA, StartError } from './local/project.mjs';
import { endCommands } from './local/run-command.mjs';
import { removeStack, startStack } from './local/stack.mjs';
import { createStatus, seconds } from './local/status.mjs';

const HELP = `npm start [-- --reset]

Starts Tollgate on 127.0.0.1: installs packages, finds or brings PostgreSQL and NATS, migrates, builds, starts the
services and a simulated upstream, and makes a demo account. Ctrl-C stops all of it; data stays in .local/.

  --reset       begin afresh: forget the data, keys and logs of earlier starts
  --help        this text

  PORT          the gateway's port (default 8080)
  TOLLGATE_DATA the folder for data, logs and secrets (default .local)
  DATABASE_URL  a PostgreSQL of yours; it is migrated. The services use it as well, or users of their own that
                BILLING_DATABASE_URL and CATALOG_DATABASE_URL name: they are made where DATABASE_URL may make them
  NATS_URL      a NATS server of yours with the users of config/nats.conf; their passwords in NATS_GATEWAY_PASSWORD,
                NATS_BILLING_PASSWORD, NATS_CATALOG_PASSWORD, NATS_INFERENCE_PROXY_PASSWORD, NATS_CLI_PASSWORD, NATS_INTERNAL_PASSWORD
`;

const INTERRUPTED = 130;

process.stdout.on('error', () => {}); // the terminal is gone: SIGHUP ends us in order
try {
  await main();
} catch (error) {
  if (error instanceof AlreadyRunning)
    fail(`Tollgate is already running here (process ${error.record.launcher.pid}); stop it with Ctrl-C first`);
  if (error instanceof StartError) fail(error.message);
  if (['EACCES', 'EPERM', 'EROFS'].includes(error?.code) && error.path) fail(`cannot write ${error.path}: does it belong to another user?`);
  fail(error?.stack ?? String(error));
}

async function main() {
  const { reset, help } = readArguments();
  if (help) return void process.stdout.write(HELP);
  const started = performance.now();
  const port = readPort();
  const status = createStatus();
  mkdirSync(DATA, { recursive: true });
  const pidFile = await PidFile.claim(DATA);
  process.once('exit', () => pidFile.release()); // by then everything it names is stopped
  const { DATABASE_URL: databaseUrl, NATS_URL: natsUrl } = process.env;
  const serviceDatabaseUrls = { billing: process.env.BILLING_DATABASE_URL, catalog: process.env.CATALOG_DATABASE_URL };
  const untilSignal = stopOnSignal();

  // Before anything slow; what takes the port later checks again.
  await claimPort(port, otherPort(port));
  if (reset) {
    removeStack(DATA);
    status.say('reset', 'earlier data, keys and logs are gone');
  }
  await ensureDependencies(status);
  await ensureBuilt(status);
  const stack = await untilSignal((signal) =>
    startStack({ dataDir: DATA, pidFile, port, databaseUrl, serviceDatabaseUrls, natsUrl, signal }),
  );
  process.stdout.write(greeting(stack, performance.now() - started));
}

/**
 * From now on a signal ends this process: with the command under way, or by stopping the stack in order once the returned function has been given
 * the start of one. A second signal does not wait.
 */
function stopOnSignal() {
  const abort = new AbortController();
  let starting;
  let stack;
  let askedAt;
  const onSignal = () => {
    // Ctrl-C reaches us from the terminal and once more through npm: only a later one is a second wish.
    if (askedAt !== undefined) return performance.now() - askedAt > 1000 ? stack?.killAll() : undefined;
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
  return async (start) => {
    try {
      starting = start(abort.signal);
      stack = await starting;
      return stack;
    } catch (error) {
      if (abort.signal.aborted) process.exit(INTERRUPTED);
      throw error;
    }
  };
}

function greeting({ gatewayUrl, apiKey, logDir }, took) {
  const body = '{"model":"sim-fast","messages":[{"role":"user","content":"Hello"}]}';
  return `
Tollgate is ready after ${seconds(took)}. Logs: ${logDir}; Ctrl-C stops it.

  base URL   ${gatewayUrl}/v1
  demo key   ${apiKey}

  curl ${gatewayUrl}/v1/chat/completions -H 'authorization: Bearer ${apiKey}' -H 'content-type: application/json' -d '${body}'

With the OpenAI SDK, in a file such as .local/hello.mjs:

  const client = new (await import('openai')).OpenAI({ baseURL: '${gatewayUrl}/v1', apiKey: '${apiKey}' });
  console.log((await client.chat.completions.create({ model: 'sim-fast', messages: [{ role: 'user', content: 'Hello' }] })).choices[0].message.content);

`;
}

function readArguments() {
  // Before the two dashes npm keeps options to itself; silently going on with the old data is not what was asked for.
  if (process.env.npm_config_reset) throw new StartError('npm took --reset for its own: npm start -- --reset');
  try {
    return parseArgs({ options: { reset: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } }).values;
  } catch (error) {
    throw new StartError(`${error.message.split('.')[0]}; see npm start -- --help`);
  }
}

function readPort() {
  const text = process.env.PORT || '8080';
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new StartError(`PORT must be a number from 0 to 65535, not ${text}`);
  return port;
}

function fail(line) {
  process.stderr.write(`${line}\n`);
  process.exit(1);
}
