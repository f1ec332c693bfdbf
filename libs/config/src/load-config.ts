import 'reflect-metadata';
import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';

/** A setting is missing or wrong. The message has one line a fault and never a value: it might be a secret. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/**
 * Reads a service's settings from the environment. The one place that touches `process.env`.
 *
 * Each property of `Config` is read from the variable of the same name in capitals (`natsUrl` from `NATS_URL`); the class
 * gives defaults by its initial values and rules by its decorators. An empty variable counts as unset.
 */
export function loadConfig<Config extends object>(Config: new () => Config, environment: NodeJS.ProcessEnv = process.env): Config {
  const defaults = new Config();
  const plain: Record<string, unknown> = {};
  for (const property of Object.keys(defaults)) {
    const text = environment[variableName(property)];
    const initial = (defaults as Record<string, unknown>)[property];
    plain[property] = text === undefined || text === '' ? initial : convert(text, initial);
  }
  const config = plainToInstance(Config, plain);
  const faults = validateSync(config, { forbidUnknownValues: false });
  if (faults.length > 0) {
    throw new ConfigError(
      faults.map((fault) => `${variableName(fault.property)}: ${Object.values(fault.constraints ?? {}).join(', ')}`).join('\n'),
    );
  }
  return config;
}

/** The variables that a service's settings are read from. */
export function variablesOf(Config: new () => object): string[] {
  return Object.keys(new Config()).map(variableName);
}

/** A secret that only its name is known of, such as an upstream's key. Undefined when it is not set. */
export function readSecret(name: string, environment: NodeJS.ProcessEnv = process.env): string | undefined {
  return environment[name] || undefined;
}

function variableName(property: string): string {
  return property.replace(/[A-Z]/g, (capital) => `_${capital}`).toUpperCase();
}

/** The type of the initial value decides: `NaN` and `''` stand for "required". */
function convert(text: string, initial: unknown): unknown {
  if (typeof initial === 'number') return Number(text);
  if (typeof initial === 'boolean') return text === 'true' || text === '1' ? true : text === 'false' || text === '0' ? false : text;
  return text;
}
