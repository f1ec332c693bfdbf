import { accessSync, constants } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of this repository. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url)).replace(/\/$/, '');
/** Everything a local run makes. */
export const LOCAL = join(ROOT, '.local');
/** Data, logs and secrets of `npm start`. */
export const DATA = process.env.TOLLGATE_DATA ? resolve(process.env.TOLLGATE_DATA) : LOCAL;
/** Programs fetched for local runs. Outlives `--reset`, so that a machine that is offline by then can start again. */
export const TOOLS = join(LOCAL, 'tools');

/** The Node the project is pinned to. Everything but these scripts runs on it, whatever the machine has. */
export const NODE = join(ROOT, 'node_modules/node/bin/node');

/** Something the person at the keyboard can mend. The message is one line, shown without a stack. */
export class StartError extends Error {
  name = 'StartError';
}

export function packageFile(path) {
  return join(ROOT, 'node_modules', path);
}

/** The file an executable's name stands for on PATH, or undefined. */
export function findOnPath(name, folders = (process.env.PATH ?? '').split(delimiter)) {
  return folders
    .filter(Boolean)
    .map((folder) => join(folder, name))
    .find(isExecutable);
}

export function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
