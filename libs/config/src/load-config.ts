import 'reflect-metadata';
import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';

/** Thrown when settings are missing or wrong. The message has one line a fault, and never a value, which could be a secret. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/**
 * Reads a service's settings from the environment: `natsUrl` from `NATS_URL`. Initial values of the class are the defaults, its decorators
 * the rules. An empty variable counts as unset. With a prefix, `natsUrl` is read from `<prefix>NATS_URL`. Names of `ALSO_LOWER_CASE` are
 * read in lower case first.
 */
export function loadConfig<Config extends object>(
  Config: new () => Config,
  environment: NodeJS.ProcessEnv = process.env,
  prefix = '',
): Config {
  const defaults = new Config();
  const plain: Record<string, unknown> = {};
  for (const property of Object.keys(defaults)) {
    const name = prefix + variableName(property);
    const text = (ALSO_LOWER_CASE.has(name) && environment[name.toLowerCase()]) || environment[name];
    const initial = (defaults as Record<string, unknown>)[property];
    plain[property] = text === undefined || text === '' ? initial : convert(text, initial);
  }
  const config = plainToInstance(Config, plain);
  const faults = validateSync(config, { forbidUnknownValues: false });
  if (faults.length > 0) {
    throw new ConfigError(
      faults.map((fault) => `${prefix}${variableName(fault.property)}: ${Object.values(fault.constraints ?? {}).join(', ')}`).join('\n'),
    );
  }
  return config;
}

/**
 * Reads settings that an operator may give several times, each under a name of capital letters and digits: `PANEL_OIDC_<NAME>_ISSUER` for
 * the prefix `PANEL_OIDC_`. Returns them by name in lower case. A variable with the prefix that is no setting is refused as misspelt.
 */
export function loadNamedConfigs<Config extends object>(
  Config: new () => Config,
  prefix: string,
  environment: NodeJS.ProcessEnv = process.env,
): Map<string, Config> {
  const known = new Set(listVariables(Config));
  const names = new Set<string>();
  for (const variable of Object.keys(environment)) {
    if (!variable.startsWith(prefix) || !environment[variable]) continue;
    const [, name = '', setting = ''] = /^([A-Z0-9]+)_(.+)$/.exec(variable.slice(prefix.length)) ?? [];
    if (!known.has(setting)) throw new ConfigError(`${variable}: there is no such setting`);
    names.add(name);
  }
  return new Map([...names].map((name) => [name.toLowerCase(), loadConfig(Config, environment, `${prefix}${name}_`)]));
}

/**
 * Names of the environment variables of a settings class.
 * @public scripts/local/environments.ts reads it from the build
 */
export function listVariables(Config: new () => object): string[] {
  return Object.keys(new Config()).flatMap((property) => {
    const name = variableName(property);
    return ALSO_LOWER_CASE.has(name) ? [name, name.toLowerCase()] : [name];
  });
}

/**
 * Returns the environment of one service in a process with others: `BILLING_DATABASE_URL` is the `DATABASE_URL` of billing alone, and comes
 * before `DATABASE_URL`. The NATS user is the service's name unless it is set.
 */
export function environmentIn(service: string, environment: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  const prefix = `${service.toUpperCase().replaceAll('-', '_')}_`;
  const own = Object.entries(environment).flatMap(([variable, value]) =>
    variable.startsWith(prefix) ? [[variable.slice(prefix.length), value]] : [],
  );
  return { ...environment, NATS_USER: service, ...Object.fromEntries(own) };
}

/** Variables that most programs read in both cases, and in lower case first. */
const ALSO_LOWER_CASE = new Set(['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY']);

/** Reads a secret whose name comes from the catalog, such as an upstream's key. */
export function readSecret(name: string, environment: NodeJS.ProcessEnv = process.env): string | undefined {
  return environment[name] || undefined;
}

function variableName(property: string): string {
  return property.replace(/[A-Z]/g, (capital) => `_${capital}`).toUpperCase();
}

/** Converts to the type of the initial value. `NaN` and `''` mark required settings. */
function convert(text: string, initial: unknown): unknown {
  if (typeof initial === 'number') return Number(text);
  if (typeof initial === 'boolean') return text === 'true' || text === '1' ? true : text === 'false' || text === '0' ? false : text;
  return text;
}
