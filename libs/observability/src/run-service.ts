import { ConfigError } from '#config/load-config.js';
import { VERSION } from '#config/version.js';
import { collectWhenIdle } from './collect-when-idle.js';
import type { Logger } from './logger.js';

/**
 * The outer shell of a `main.ts`: starts a service, stops it once on SIGTERM or SIGINT, and ends the process with 0 after
 * a clean stop, 1 otherwise. `start` returns how to stop; stopping may take as long as its own grace allows. A service that
 * rests gives its memory back. With `--version` on the command line it only tells its version.
 */
export function runService(logger: Logger, start: () => Promise<() => Promise<void>>): void {
  if (process.argv.includes('--version')) {
    process.stdout.write(`${VERSION}\n`);
    return;
  }
  const fail = (error: unknown): never => {
    if (error instanceof ConfigError) logger.fatal(error.message);
    else logger.fatal({ err: error }, 'service failed');
    process.exit(1);
  };
  process.on('uncaughtException', fail);
  process.on('unhandledRejection', fail);
  start().then((stop) => {
    logger.info('service ready');
    collectWhenIdle();
    let stopping = false;
    const onSignal = (signal: NodeJS.Signals): void => {
      if (stopping) return;
      stopping = true;
      logger.info({ signal }, 'service stopping');
      stop().then(() => process.exit(0), fail);
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  }, fail);
}
