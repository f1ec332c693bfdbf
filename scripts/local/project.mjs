import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Root folder of the repository. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url)).replace(/\/$/, '');
/** True in the npm package of the server (packages/server), which has this module in a bundle, and no sources. */
export const PACKAGED = !existsSync(join(ROOT, 'scripts/start.ts'));
/** @type {{ name: string, version: string }} */
export const PACKAGE = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
/** The command that starts everything here. */
export const COMMAND = PACKAGED ? 'tollgate-server' : 'npm start';
/** Files of local runs. A package is installed where its user may not write, and shared by several installations of Tollgate. */
export const LOCAL = PACKAGED ? resolve(process.env.TOLLGATE_DATA || '.tollgate') : join(ROOT, '.local');
/** Data, logs and secrets of `npm start`. */
export const DATA = process.env.TOLLGATE_DATA ? resolve(process.env.TOLLGATE_DATA) : LOCAL;
/** Programs downloaded for local runs. `--reset` keeps them, so that a machine can start offline. */
export const TOOLS = join(LOCAL, 'tools');

/** The pinned Node of the project. Everything except these scripts runs on it. The package runs on the Node of its user. */
export const NODE = PACKAGED ? process.execPath : join(ROOT, 'node_modules/node/bin/node');

/** Folder of the packages. npm and pnpm install those that a package needs beside it, above its scope. */
const PACKAGES = PACKAGED ? resolve(ROOT, '../..') : join(ROOT, 'node_modules');

/** An error that the user can fix. The message is one line, shown without a stack. */
export class StartError extends Error {
  /** @override */
  name = 'StartError';
}

/** @param {string} path */
export function packageFile(path) {
  return join(PACKAGES, path);
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
