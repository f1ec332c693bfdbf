import { ConfigError } from '#config/load-config.js';
import type { ServiceConfig } from '#config/service-config.js';
import type { ServiceHost } from '#messaging/open-service.js';
import type { Logger } from '#observability/logger.js';

/** A service as its own program runs it. */
interface Target<Config extends ServiceConfig = ServiceConfig> {
  Config: new () => Config;
  start(config: Config, logger: Logger, host: ServiceHost): Promise<() => Promise<void>>;
}

/** Keeps the settings of a target with its start. */
function target<Config extends ServiceConfig>(one: Target<Config>): Target {
  return one as unknown as Target;
}

/** Loads only what runs: a process of one target has the size of its service. */
const TARGETS = {
  gateway: async () =>
    target({
      Config: (await import('../../gateway/src/gateway.config.js')).GatewayConfig,
      start: (await import('../../gateway/src/start-gateway.js')).startGateway,
    }),
  panel: async () =>
    target({
      Config: (await import('../../panel/src/panel.config.js')).PanelConfig,
      start: (await import('../../panel/src/start-panel.js')).startPanel,
    }),
  'inference-proxy': async () =>
    target({
      Config: (await import('../../inference-proxy/src/inference-proxy.config.js')).InferenceProxyConfig,
      start: (await import('../../inference-proxy/src/start-inference-proxy.js')).startInferenceProxy,
    }),
  billing: async () =>
    target({
      Config: (await import('../../billing/src/billing.config.js')).BillingConfig,
      start: (await import('../../billing/src/start-billing.js')).startBilling,
    }),
  catalog: async () =>
    target({
      Config: (await import('../../catalog/src/catalog.config.js')).CatalogConfig,
      start: (await import('../../catalog/src/start-catalog.js')).startCatalog,
    }),
  payments: async () =>
    target({
      Config: (await import('../../payments/src/payments.config.js')).PaymentsConfig,
      start: (await import('../../payments/src/start-payments.js')).startPayments,
    }),
};

export type TargetName = keyof typeof TARGETS;

const NAMES = Object.keys(TARGETS) as TargetName[];
/** Targets that run unless some are named. Payments by card are off until they are asked for. */
const ALL = NAMES.filter((name) => name !== 'payments');

/** The stop order: no new requests come, then what runs ends, then the services that both need stop. */
export const STOP_ORDER: readonly (readonly TargetName[])[] = [
  ['gateway', 'panel', 'payments'],
  ['inference-proxy'],
  ['billing', 'catalog'],
];

export function loadTarget(name: TargetName): Promise<Target> {
  return TARGETS[name]();
}

/**
 * Reads `--target=all`, `--target=all,payments` or `--target=gateway,inference-proxy` of the command line; without it, all.
 * @throws {ConfigError} for an unknown target.
 */
export function readTargets(args: readonly string[]): TargetName[] {
  const given = args.find((arg) => arg.startsWith('--target='))?.slice('--target='.length) ?? 'all';
  const names = given.split(',').flatMap((name) => (name === 'all' ? ALL : name));
  const unknown = names.filter((name) => !Object.hasOwn(TARGETS, name));
  if (unknown.length > 0) throw new ConfigError(`--target: ${unknown.join(', ')} is not a target; they are all, ${NAMES.join(', ')}`);
  return NAMES.filter((name) => names.includes(name));
}
