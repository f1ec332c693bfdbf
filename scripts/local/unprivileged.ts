import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { StartError } from './project.mjs';

const ELSEWHERE = '/var/tmp';
const PREFIX = 'tollgate-';

export interface Account {
  uid: number;
  gid: number;
}

/** Account for programs that refuse to run as root; undefined if this process is not root. */
export function unprivilegedAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const entry = accounts.find(([name]) => name === 'postgres') ?? accounts.find(([name]) => name === 'nobody');
  if (!entry) throw new StartError('PostgreSQL does not run as root, and /etc/passwd has no user postgres or nobody');
  return { uid: Number(entry[2]), gid: Number(entry[3]) };
}

/** True when the account may execute this file or enter this folder, parents included. */
export function canEnter(path: string, account: Account | undefined): boolean {
  if (!account) return true;
  return spawnSync('/bin/sh', ['-c', 'test -x "$1"', 'sh', path], { ...account, cwd: '/', stdio: 'ignore' }).status === 0;
}

/**
 * A folder that the account owns: `<dataDir>/<name>`, or one under /var/tmp if the account cannot enter `dataDir`. Its path is kept in
 * `<dataDir>/<name>.location`.
 */
export function ownedFolder(dataDir: string, name: string, account: Account | undefined): string {
  const inside = join(dataDir, name);
  const note = notePath(dataDir, name);
  const noted = existsSync(note) ? readFileSync(note, 'utf8').trim() : '';
  if (noted && existsSync(noted)) return noted;
  const folder = existsSync(inside) || canEnter(dataDir, account) ? inside : mkdtempSync(join(ELSEWHERE, PREFIX));
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o700);
  if (account) chownSync(folder, account.uid, account.gid);
  writeFileSync(note, `${folder}\n`);
  return folder;
}

/** Removes the folder of `ownedFolder`. */
export function removeOwnedFolder(dataDir: string, name: string): void {
  const note = notePath(dataDir, name);
  const noted = existsSync(note) ? readFileSync(note, 'utf8').trim() : '';
  if (dirname(noted) === ELSEWHERE && basename(noted).startsWith(PREFIX)) rmSync(noted, { recursive: true, force: true });
  rmSync(join(dataDir, name), { recursive: true, force: true });
  rmSync(note, { force: true });
}

function notePath(dataDir: string, name: string): string {
  return join(dataDir, `${name}.location`);
}
