import { existsSync } from 'node:fs';

/**
 * Finds a file or folder by its path from one of the folders between this module and that of `package.json`, the nearest first: sources,
 * build output and bundles differ in depth.
 */
export function findAbove(path: string): URL | undefined {
  for (let folder = new URL('./', import.meta.url); ; folder = new URL('../', folder)) {
    const found = new URL(path, folder);
    if (existsSync(found)) return found;
    if (folder.pathname === '/' || existsSync(new URL('package.json', folder))) return undefined;
  }
}

/** Finds it as `findAbove` does. @throws {Error} when there is none. */
export function requireAbove(path: string): URL {
  const found = findAbove(path);
  if (found === undefined) throw new Error(`${path} is not beside the program`);
  return found;
}
