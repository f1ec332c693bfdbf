import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PACKAGED, ROOT } from './project.mjs';

type Variables = Record<string, string>;
/** Variables for every process: paths, locale and certificates, but no settings of Tollgate and no secrets. */
const COMMON = /^(PATH|HOME|LANG|LC_[A-Z]+|TZ|TMPDIR|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR))$/;
/** Variables of the launcher, and those that it sets itself for the services that need them. */
const WITHHELD =
  /^(npm_|NATS_|((BILLING|CATALOG|PANEL|PAYMENTS)_)?DATABASE_URL$|KEY_PEPPER$|RECEIPT_SIGNING_KEY$|(PANEL_|PAYMENTS_)?PORT$|(PANEL_|PAYMENTS_)?HOST$|OPS_|NODE_OPTIONS$|INIT_CWD$|TEST_|UPSTREAM_SIM_)/i;
/** Settings of traces and of metrics by OTLP, the same for every service. OpenTelemetry reads some of them itself. */
const TRACING = /^(OTEL_|TRACES_SLOW_MS$)/;
/** Variables that a service reads besides its settings. The keys of upstreams are for the inference-proxy alone. */
const ALSO_READ: Record<string, RegExp> = {
  catalog: /^UPSTREAM_(?!KEY_|COMMAND_|METADATA_|SECRETS_DIR$)/,
  panel: /^PANEL_OIDC_/,
  'inference-proxy': /^UPSTREAM_(KEY_|COMMAND_|METADATA_|SECRETS_DIR$)/,
};

/** Variables for a program without settings. */
export function commonEnvironment(environment = process.env): Variables {
  return pick(environment, (name) => COMMON.test(name));
}

/** Variables for a service whose settings are `variables`. */
export function serviceEnvironment(service: string, variables: string[], environment = process.env): Variables {
  const own = new Set(variables);
  const isRead = (name: string): boolean => own.has(name) || TRACING.test(name) || ALSO_READ[service]?.test(name) === true;
  return pick(environment, (name) => COMMON.test(name) || (isRead(name) && !WITHHELD.test(name)));
}

/** Names of the settings of each service, in the npm package. */
export const SETTINGS_FILE = 'dist/settings.json';

/** Names of the settings of a service. `dist` must be built. */
export async function readSettings(service: string): Promise<string[]> {
  if (PACKAGED) return JSON.parse(readFileSync(join(ROOT, SETTINGS_FILE), 'utf8'))[service];
  const [{ listVariables }, settings] = await Promise.all([
    import(join(ROOT, 'dist/libs/config/src/load-config.js')) as Promise<typeof import('#config/load-config.js')>,
    import(join(ROOT, `dist/apps/${service}/src/${service}.config.js`)) as Promise<Record<string, new () => object>>,
  ]);
  return Object.values(settings).flatMap((Config) => listVariables(Config));
}

function pick(environment: NodeJS.ProcessEnv, isWanted: (name: string) => boolean): Variables {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => (value !== undefined && isWanted(name) ? [[name, value]] : [])),
  );
}
