import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type { LogFormat } from '#config/service-config.js';
import { BUILD, requireNode } from '#config/version.js';
import type { Logger } from './logger.js';

/** The settings of a service, and its start. `start` resolves when the service is ready, to the function that stops it. */
interface Service<Config> {
  Config: new () => Config;
  start(config: Config, logger: Logger): Promise<() => Promise<void>>;
}

/** Milliseconds that `start` may still take after a signal. It may wait for a server or a migration for ever. */
const START_MS = 1_000;

/**
 * Runs a service until SIGTERM or SIGINT. Exits with 0 after a clean stop, else with 1. A signal during the start abandons the start, at
 * once while the service loads. With `--version` it prints the build and exits.
 *
 * A `main.ts` must import nothing else, and `load` imports the service: the kernel drops signals to the first process of a container until
 * a handler is installed, so the handlers come before anything large is loaded.
 */
export function runService<Config extends { logLevel: string; logFormat?: LogFormat }>(
  name: string,
  load: () => Promise<Service<Config>>,
): void {
  if (process.argv.includes('--version')) {
    process.stdout.write(`${BUILD}\n`);
    return;
  }
  requireNode();
  let logger: Logger | undefined;
  process.on('exit', () => logger?.flush());
  const fail = (error: unknown): never => {
    if (!logger) console.error(error);
    else if (error instanceof Error && error.name === 'ConfigError') logger.fatal(error.message);
    else logger.fatal({ err: error }, 'service failed');
    process.exit(1);
  };
  const signalled = new Promise<NodeJS.Signals>((resolve) => {
    process.on('SIGTERM', resolve);
    process.on('SIGINT', resolve);
  });
  process.on('uncaughtException', fail);
  process.on('unhandledRejection', fail);

  let begun = false;
  const start = async (): Promise<() => Promise<void>> => {
    const [{ createLogger }, { loadConfig }] = await Promise.all([import('./logger.js'), import('#config/load-config.js')]);
    logger = createLogger(name, 'info'); // for a fault in the settings
    const service = await load();
    await nextTurn(); // a signal may have come, and loading blocks the event loop
    const config = loadConfig(service.Config);
    logger.flush();
    logger = createLogger(name, config.logLevel, config.logFormat);
    begun = true;
    const stop = await service.start(config, logger);
    logger.info('service ready');
    return stop;
  };
  const started = start();
  started.catch(fail);
  signalled
    .then(async (signal) => {
      logger?.info({ signal }, 'service stopping');
      const stop = begun && (await Promise.race([started, delay(START_MS)]));
      if (stop) await stop();
      else logger?.info('service stopped before it was ready');
      process.exit(0);
    })
    .catch(fail);
}
