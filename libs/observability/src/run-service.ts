import { setTimeout as delay } from 'node:timers/promises';
import { VERSION } from '#config/version.js';
import { collectWhenIdle } from './collect-when-idle.js';
import type { Logger } from './logger.js';

/** A service as `runService` runs it: its settings, and how to start it. `start` returns how to stop. */
export interface Service<Config> {
  Config: new () => Config;
  start(config: Config, logger: Logger): Promise<() => Promise<void>>;
}

/** How long a start may still take after a signal, so that it can be stopped in order; one that waits for a server does not end. */
const START_MS = 1_000;

/**
 * The outer shell of a `main.ts`: loads a service, reads its settings, starts it, stops it once on SIGTERM or SIGINT, and ends the
 * process with 0 after a clean stop, 1 otherwise. Stopping may take as long as the service's own grace allows; a start that does not come
 * to its end is given up. A service that rests gives its memory back. With `--version` on the command line it only prints its version.
 *
 * Import nothing else in a `main.ts`, and the service in `load`: signals are heard before anything large is loaded, and until they are,
 * the kernel drops those of a process that is the first of its container.
 */
export function runService<Config extends { logLevel: string }>(name: string, load: () => Promise<Service<Config>>): void {
  if (process.argv.includes('--version')) {
    process.stdout.write(`${VERSION}\n`);
    return;
  }
  let logger: Logger | undefined;
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

  const start = async (): Promise<() => Promise<void>> => {
    const [{ createLogger }, { loadConfig }] = await Promise.all([import('./logger.js'), import('#config/load-config.js')]);
    logger = createLogger(name, 'info');
    const service = await load();
    const config = loadConfig(service.Config);
    logger.level = config.logLevel;
    const stop = await service.start(config, logger);
    logger.info('service ready');
    collectWhenIdle();
    return stop;
  };
  const started = start();
  started.catch(fail);
  signalled
    .then(async (signal) => {
      logger?.info({ signal }, 'service stopping');
      const stop = await Promise.race([started, delay(START_MS)]);
      if (stop) await stop();
      else logger?.info('service stopped before it was ready');
      process.exit(0);
    })
    .catch(fail);
}
