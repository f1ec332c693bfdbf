import { mkdirSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { identify, isAlive } from './process-identity.mjs';

/** A link a port, that leads to the process that has chosen it: made at once, whole or not at all. */
const FOLDER = join(tmpdir(), `tollgate-ports-${process.getuid?.() ?? 0}`);
const ours = new Set();
process.once('exit', () => {
  for (const port of ours) rmSync(fileOf(port), { force: true });
});

/**
 * Whether the port is ours to use. It is chosen seconds before anything listens on it, and whoever starts a system at the same time, as tests do,
 * could choose the same: so others leave it alone for as long as we live.
 */
export function reservePort(port) {
  if (ours.has(port)) return true;
  try {
    mkdirSync(FOLDER, { recursive: true, mode: 0o700 });
    const owner = ownerOf(port);
    if (owner && isAlive(owner)) return false;
    if (owner) rmSync(fileOf(port), { force: true });
    const { pid, born } = identify(process.pid);
    symlinkSync(`${pid} ${born}`, fileOf(port));
  } catch (error) {
    // Somebody was quicker. Anything else, such as a full disk, must not stop us: it is a courtesy.
    if (error.code === 'EEXIST') return false;
  }
  ours.add(port);
  return true;
}

function ownerOf(port) {
  try {
    const [, pid, born] = /^(\d+) (.*)$/s.exec(readlinkSync(fileOf(port))) ?? [];
    return { pid: Number(pid), born };
  } catch {
    return undefined;
  }
}

function fileOf(port) {
  return join(FOLDER, String(port));
}
