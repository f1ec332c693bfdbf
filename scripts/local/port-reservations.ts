import { mkdirSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { identify, isAlive, type ProcessIdentity } from './process-identity.ts';

/** Symbolic links, which are created atomically, from each port to the process that reserved it. */
const FOLDER = join(tmpdir(), `tollgate-ports-${process.getuid?.() ?? 0}`);
const ours = new Set<number>();
process.once('exit', () => {
  for (const port of ours) rmSync(reservationFile(port), { force: true });
});

/**
 * Reserves a port for this process. Returns false if another live process has it. Systems that start at the same time, as in tests,
 * choose their ports seconds before they listen on them.
 */
export function reservePort(port: number): boolean {
  if (ours.has(port)) return true;
  try {
    mkdirSync(FOLDER, { recursive: true, mode: 0o700 });
    const owner = readOwner(port);
    if (owner && isAlive(owner)) return false;
    if (owner) rmSync(reservationFile(port), { force: true });
    const { pid, born } = identify(process.pid);
    symlinkSync(`${pid} ${born}`, reservationFile(port));
  } catch (error) {
    // Another process was faster. Any other failure, such as a full disk, is ignored.
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
  }
  ours.add(port);
  return true;
}

function readOwner(port: number): ProcessIdentity | undefined {
  try {
    const [, pid, born] = /^(\d+) (.*)$/s.exec(readlinkSync(reservationFile(port))) ?? [];
    return { pid: Number(pid), born };
  } catch {
    return undefined;
  }
}

function reservationFile(port: number): string {
  return join(FOLDER, String(port));
}
