import { existsSync, linkSync, readdirSync, readFileSync, rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { endProcess, identify, isAlive } from './process-identity.mjs';
import { writePrivate } from './secrets.mjs';

const FILE = 'pids.json';

/** Records the launcher of a data folder and its processes: one launcher at a time. After a crash, the next launcher ends the processes. */
export class PidFile {
  #file;
  #record;

  /** @throws {AlreadyRunning} when another launcher owns the folder. */
  static async claim(dataDir, details = {}) {
    const file = join(dataDir, FILE);
    const record = { launcher: identify(process.pid), ...details, children: {} };
    const draft = `${file}.${process.pid}.claim`;
    writeFileSync(draft, JSON.stringify(record), { mode: 0o600 });
    try {
      while (!tryLink(draft, file)) {
        const other = read(file);
        if (other?.launcher && isAlive(other.launcher)) throw new AlreadyRunning(other);
        await endOrphans(dataDir);
        rmSync(file, { force: true });
      }
    } finally {
      unlinkSync(draft);
    }
    return new PidFile(file, record);
  }

  constructor(file, record) {
    this.#file = file;
    this.#record = record;
  }

  /** `stopSignal`: signal with which the next launcher stops an orphan. */
  add(name, pid, stopSignal) {
    this.#record.children[name] = { ...identify(pid), stopSignal };
    writePrivate(this.#file, this.#record);
  }

  remove(name) {
    delete this.#record.children[name];
    writePrivate(this.#file, this.#record);
  }

  release() {
    rmSync(this.#file, { force: true });
  }
}

export class AlreadyRunning extends Error {
  name = 'AlreadyRunning';

  constructor(record) {
    super(`already running here (process ${record.launcher.pid})`);
    this.record = record;
  }
}

/** Ends the processes of a dead launcher, the last started first. Returns their names. */
async function endOrphans(dataDir) {
  const record = read(join(dataDir, FILE));
  if (!record?.launcher || isAlive(record.launcher)) return [];
  const orphans = Object.entries(record.children).filter(([, child]) => isAlive(child));
  for (const [, child] of orphans.reverse()) await endProcess(child, { stopSignal: child.stopSignal });
  return orphans.map(([name]) => name);
}

/** Ends the processes of dead launchers in folders under `parent`. Returns these folders. */
export async function sweep(parent, prefix) {
  if (!existsSync(parent)) return [];
  const abandoned = [];
  for (const name of readdirSync(parent).filter((entry) => entry.startsWith(prefix))) {
    const folder = join(parent, name);
    const record = read(join(folder, FILE));
    // A young folder without a record may belong to a launcher that is starting.
    if (record ? isAlive(record.launcher) : Date.now() - statSync(folder).mtimeMs < 3_600_000) continue;
    await endOrphans(folder);
    abandoned.push(folder);
  }
  return abandoned;
}

function tryLink(from, to) {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

function read(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
