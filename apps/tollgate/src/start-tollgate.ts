import { environmentIn, loadConfig } from '#config/load-config.js';
import { LocalExchange } from '#messaging/local-exchange.js';
import type { ServiceHost } from '#messaging/open-service.js';
import { type Logger, siblingLogger } from '#observability/logger.js';
import { SharedOps } from '#observability/shared-ops.js';
import { loadTarget, readTargets, STOP_ORDER, type TargetName } from './targets.js';
import type { TollgateConfig } from './tollgate.config.js';

/** Starts the targets of the command line in this process. Returns a function that stops them. */
export async function startTollgate({ opsHost, opsPort }: TollgateConfig, logger: Logger): Promise<() => Promise<void>> {
  const targets = readTargets(process.argv.slice(2));
  const ops = await SharedOps.start({ host: opsHost, port: opsPort, expected: targets });
  const host: ServiceHost = {
    exchange: new LocalExchange(),
    services: targets,
    openOps: (service) => Promise.resolve(ops.add(service)),
  };
  const stops = new Map<TargetName, () => Promise<void>>();
  const start = async (name: TargetName): Promise<void> => {
    const { Config, start } = await loadTarget(name);
    const config = loadConfig(Config, environmentIn(name));
    stops.set(name, await start(config, siblingLogger(logger, name, config.logLevel), host));
  };
  await Promise.all(targets.map(start));
  return async () => {
    for (const names of STOP_ORDER) await Promise.all(names.map(async (name) => stops.get(name)?.()));
    await ops.close();
  };
}
