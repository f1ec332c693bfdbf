import { existsSync, linkSync, readdirSync, readFileSync, rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { endProcess, identify, isAlive, type ProcessIdentity } from './process-identity.ts';
import { writePrivate } from './secrets.ts';

const FILE = 'pids.json';

interface PidRecord {
  launcher: ProcessIdentity;
  children: { [name: string]: ProcessIdentity & { stopSignal: NodeJS.Signals } };
}

/** Records the launcher of a data folder and its processes: one launcher at a time. After a crash, the next launcher ends the processes. */
export class PidFile {
  private readonly file: string;
  private readonly record: PidRecord;

  /** @throws {AlreadyRunning} when another launcher owns the folder. */
  static async claim(dataDir: string, details: object = {}): Promise<PidFile> {
    const file = join(dataDir, FILE);
    const record: PidRecord = { launcher: identify(process.pid), ...details, children: {} };
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

  private constructor(file: string, record: PidRecord) {
    this.file = file;
    this.record = record;
  }

  /** `stopSignal`: signal with which the next launcher stops an orphan. */
  add(name: string, pid: number, stopSignal: NodeJS.Signals): void {
    this.record.children[name] = { ...identify(pid), stopSignal };
    writePrivate(this.file, this.record);
  }

  remove(name: string): void {
    delete this.record.children[name];
    writePrivate(this.file, this.record);
  }

  release(): void {
    rmSync(this.file, { force: true });
  }
}

export class AlreadyRunning extends Error {
  override name = 'AlreadyRunning';
  readonly record: PidRecord;

  constructor(record: PidRecord) {
    super(`already running here (process ${record.launcher.pid})`);
    this.record = record;
  }
}

/** Ends the processes of a dead launcher, the last started first. Returns their names. */
async function endOrphans(dataDir: string): Promise<string[]> {
  const record = read(join(dataDir, FILE));
  if (!record?.launcher || isAlive(record.launcher)) return [];
  const orphans = Object.entries(record.children).filter(([, child]) => isAlive(child));
  for (const [, child] of orphans.reverse()) await endProcess(child, { stopSignal: child.stopSignal });
  return orphans.map(([name]) => name);
}

/** Ends the processes of dead launchers in folders under `parent`. Returns these folders. */
export async function sweep(parent: string, prefix: string): Promise<string[]> {
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

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function read(file: string): PidRecord | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
