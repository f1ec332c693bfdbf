/** `npm start`: runs Tollgate on this machine until Ctrl-C. Imports no packages: those of a new lock file may not be installed yet. */
import { parseArgs } from 'node:util';
import { ensureBuilt } from './local/build.ts';
import { ensureBundled } from './local/bundles.ts';
import { ensureDependencies } from './local/dependencies.mjs';
import { launch, runLauncher } from './local/launch.ts';
import { StartError } from './local/project.mjs';
import { findPrometheus } from './local/prometheus.ts';

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

await runLauncher(async () => {
  const { reset, help, 'demo-traffic': demoTraffic, observe, split, payments } = readArguments();
  if (help) return void process.stdout.write(HELP);
  await launch({
    ...{ reset, demoTraffic, split, payments },
    async prepare(status, services) {
      await ensureDependencies(status);
      await ensureBuilt(status);
      await ensureBundled(status, split ? services : ['tollgate', 'upstream-sim']);
      return observe ? (await findPrometheus(status)).prometheus : undefined;
    },
  });
});

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
