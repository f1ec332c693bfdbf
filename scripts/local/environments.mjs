import { join } from 'node:path';
import { ROOT } from './project.mjs';

/** Where a process finds programs and whom it trusts: no setting of Tollgate's, and no secret. */
const COMMON = /^(PATH|HOME|LANG|LC_[A-Z]+|TZ|TMPDIR|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR))$/;
/** The launcher sets these itself, each for the services that need it, or they are about the launcher. */
const WITHHELD =
  /^(npm_|NATS_|(BILLING_|CATALOG_)?DATABASE_URL$|KEY_PEPPER$|PORT$|HOST$|OPS_|NODE_OPTIONS$|INIT_CWD$|TEST_|UPSTREAM_SIM_)/i;
/** What a service reads besides its settings. Secrets of upstreams can have any name, so the inference-proxy alone gets all the rest. */
const ALSO_READ = { catalog: /^UPSTREAM_/, 'inference-proxy': /^/ };

/** Variables of `environment` for a program that reads no settings. */
export function commonEnvironment(environment = process.env) {
  return pick(environment, (name) => COMMON.test(name));
}

/** Variables of `environment` for a service whose settings are `variables`. */
export function serviceEnvironment(service, variables, environment = process.env) {
  const own = new Set(variables);
  const isRead = (name) => own.has(name) || ALSO_READ[service]?.test(name) === true;
  return pick(environment, (name) => COMMON.test(name) || (isRead(name) && !WITHHELD.test(name)));
}

/** The variables that the settings of a service are read from, by its class of settings. `dist` must be built. */
export async function settingsOf(service) {
  const [{ variablesOf }, settings] = await Promise.all([
    import(join(ROOT, 'dist/libs/config/src/load-config.js')),
    import(join(ROOT, `dist/apps/${service}/src/${service}.config.js`)),
  ]);
  return Object.values(settings).flatMap((Config) => variablesOf(Config));
}

function pick(environment, isWanted) {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => isWanted(name)));
}
