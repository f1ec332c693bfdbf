import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { linkPostgres } from './dependencies.mjs';
import { launch, runLauncher } from './launch.ts';
import { PACKAGE, StartError } from './project.mjs';

const WATCH_MS = 200;
const HELP = `npx ${PACKAGE.name} [--no-demo] [--reset] [--demo-traffic] [--payments]

Starts Tollgate on 127.0.0.1 until Ctrl-C: all services in one process, with PostgreSQL, NATS, and a simulated model with
a demo account. Data, keys and logs stay in .tollgate/ of this folder.

  --no-demo       no simulated model and no demo account: CATALOG_FILE, the panel or \`tollgate catalog apply\` name yours
  --reset         delete the data, keys and logs of earlier starts
  --demo-traffic  once ready, send 75 seconds of mixed traffic
  --payments      also start payments by card, with STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET
  --version       show the version
  --help          show this text

  DATABASE_URL  an existing PostgreSQL database (15 or newer), which is migrated. Without it a PostgreSQL on PATH or of
                Debian is started, or the one that comes with the package
  NATS_URL      an existing NATS server with config/nats-passwords.conf of the package, and the passwords of its users:
                NATS_GATEWAY_PASSWORD and so on. Without it nats-server on PATH is started, or Debian\u2019s is fetched
  CATALOG_FILE  models, prices and upstreams; by default those of the simulated model
  PORT          port of the gateway (default 8080)
  PANEL_PORT    port of the panel (default 8081)
  PAYMENTS_PORT port of the webhook of Stripe, with --payments (default 8082)
  TOLLGATE_DATA folder for data, logs and secrets (default .tollgate)

Settings of the services: docs/operations.md. The command line: npx --package ${PACKAGE.name} tollgate --help
`;

/** Runs the npm package of the server with the arguments of its command. */
export async function serve(args: string[]): Promise<void> {
  await runLauncher(async () => {
    const { help, version, 'no-demo': withoutDemo, reset, 'demo-traffic': demoTraffic, payments } = readArguments(args);
    if (help) return void process.stdout.write(HELP);
    if (version) return void process.stdout.write(`${PACKAGE.version}\n`);
    // The services run in the folder of the package.
    const { CATALOG_FILE: catalogFile } = process.env;
    if (catalogFile && catalogFile !== 'none') process.env.CATALOG_FILE = resolve(catalogFile);
    else if (withoutDemo) process.env.CATALOG_FILE = 'none';
    linkPostgres();
    if (process.env.npm_execpath) stopWithShell();
    await launch({ reset, demoTraffic, payments, demo: !withoutDemo });
  });
}

/** npx passes a signal to the shell that runs this program. The shell ends, and passes nothing on. */
function stopWithShell(): void {
  const shell = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(watch);
    process.kill(process.pid, 'SIGTERM');
  }, WATCH_MS).unref();
}

function readArguments(args: string[]) {
  const flag = { type: 'boolean' } as const;
  const options = {
    'no-demo': flag,
    reset: flag,
    'demo-traffic': flag,
    payments: flag,
    version: flag,
    help: { ...flag, short: 'h' },
  } as const;
  try {
    return parseArgs({ args, options }).values;
  } catch (error) {
    throw new StartError(`${(error as Error).message.split('.')[0]}; see --help`);
  }
}
