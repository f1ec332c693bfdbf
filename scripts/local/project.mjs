import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Root folder of the repository. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url)).replace(/\/$/, '');
/** Files of local runs. */
export const LOCAL = join(ROOT, '.local');
/** Data, logs and secrets of `npm start`. */
export const DATA = process.env.TOLLGATE_DATA ? resolve(process.env.TOLLGATE_DATA) : LOCAL;
/** Programs downloaded for local runs. `--reset` keeps them, so that a machine can start offline. */
export const TOOLS = join(LOCAL, 'tools');

/** The pinned Node of the project. Everything except these scripts runs on it. */
export const NODE = join(ROOT, 'node_modules/node/bin/node');

/** An error that the user can fix. The message is one line, shown without a stack. */
export class StartError extends Error {
  /** @override */
  name = 'StartError';
}

/** @param {string} path */
export function packageFile(path) {
  return join(ROOT, 'node_modules', path);
}

/**
 * Path of a script of a checkout, which may be of version 0.1.0: there scripts are JavaScript.
 * @param {string} root @param {string} name without its ending
 */
export function scriptOf(root, name) {
  const script = join(root, `${name}.ts`);
  return existsSync(script) ? script : join(root, `${name}.mjs`);
}

/**
 * Path of an executable on PATH, or undefined.
 * @param {string} name
 * @returns {string | undefined}
 */
export function findOnPath(name, folders = (process.env.PATH ?? '').split(delimiter)) {
  return folders
    .filter(Boolean)
    .map((folder) => join(folder, name))
    .find(isExecutable);
}

/** @param {string} file */
export function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
