import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { ConfigError } from '#config/load-config.js';
import type { Logger } from '#observability/logger.js';
import type { Applier } from './apply/applier.js';
import { CatalogFileError } from './file/catalog-file-error.js';
import { parseCatalogFile } from './file/parse-catalog-file.js';
import type { Variables } from './file/substitute.js';

/** Content of the file of `CATALOG_FILE`. */
export interface StartFile {
  name: string;
  text: string;
}

const RETRY_MS = 1_000;

/**
 * Reads and checks the file before anything else starts, so that a service never runs with another catalog than the one given. Undefined
 * for `none`.
 * @throws {ConfigError} with one line per fault.
 */
export async function readStartFile(name: string, variables: Variables): Promise<StartFile | undefined> {
  if (name === 'none') return undefined;
  const text = await readFile(name, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new ConfigError(`CATALOG_FILE: cannot read ${name} (${error.code})`);
  });
  try {
    parseCatalogFile(text, name, variables);
  } catch (error) {
    if (error instanceof CatalogFileError) throw new ConfigError(error.message);
    throw error;
  }
  return { name, text };
}

/**
 * Applies the scheduled prices whose time was missed, then the file, if there is one, which counts as later. Retries until the database
 * answers. Resolves to false when `signal` aborts first.
 */
export async function applyStartFile(file: StartFile | undefined, applier: Applier, logger: Logger, signal: AbortSignal): Promise<boolean> {
  for (let attempt = 1; !signal.aborted; attempt += 1) {
    try {
      await applier.applyDuePrices();
      if (file) await applier.applyAtStart(file.text, file.name);
      return true;
    } catch (error) {
      if (attempt === 1) logger.warn({ err: error }, 'catalog file not applied; retrying until the database answers');
      await delay(RETRY_MS, undefined, { signal }).catch(() => undefined);
    }
  }
  return false;
}
