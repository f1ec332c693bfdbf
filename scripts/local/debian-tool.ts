import { existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { unpackDebianPackages } from './debian-packages.ts';
import { findOnPath, StartError, TOOLS } from './project.mjs';

const SYSTEM_FOLDERS = ['/usr/local/sbin', '/usr/sbin', '/usr/local/bin', '/usr/bin'];

export interface DebianTool {
  path: string;
  /** Variables that the program needs. */
  env: Record<string, string>;
}

/**
 * Finds a program on PATH or in the system's folders, or unpacks Debian's package of this name and what it needs under .local/tools. Returns
 * its path and the variables that it needs. Undefined where neither is to be had.
 */
export async function findDebianTool(program: string, packageName = program): Promise<DebianTool | undefined> {
  const installed = findOnPath(program, [...(process.env.PATH ?? '').split(delimiter), ...SYSTEM_FOLDERS]);
  if (installed) return { path: installed, env: {} };
  const folder = join(TOOLS, packageName);
  try {
    if (!existsSync(folder)) await unpackDebianPackages({ names: [packageName], folder, dependencies: true });
  } catch (error) {
    if (error instanceof StartError) return undefined;
    throw error;
  }
  const path = findOnPath(program, [join(folder, 'usr/sbin'), join(folder, 'usr/bin')]);
  if (path === undefined) return undefined;
  return { path, env: { LD_LIBRARY_PATH: libraryFolders(folder), PYTHONPATH: join(folder, 'usr/lib/python3/dist-packages') } };
}

/** Debian's libraries are in usr/lib and in the folder of the machine's architecture below it. */
function libraryFolders(folder: string): string {
  const root = join(folder, 'usr/lib');
  const below = existsSync(root) ? readdirSync(root).filter((name) => name.endsWith('-linux-gnu')) : [];
  return [root, ...below.map((name) => join(root, name))].join(':');
}
