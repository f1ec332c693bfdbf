import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

export interface ProcessIdentity {
  pid: number;
  /** Undefined when the process does not exist. */
  born?: string | undefined;
}

/** Identifies a process by pid and start time. Pids are reused, so the pid alone could name another process later. */
export function identify(pid: number): ProcessIdentity {
  return { pid, born: birth(pid) };
}

export function isAlive({ pid, born }: ProcessIdentity): boolean {
  return born !== undefined && birth(pid) === born;
}

/** Ends a process, also one that is not a child: sends `stopSignal`, waits for `graceMs`, then kills it. */
export async function endProcess(
  identity: ProcessIdentity,
  { stopSignal = 'SIGTERM', graceMs = 5000 }: { stopSignal?: NodeJS.Signals; graceMs?: number } = {},
): Promise<void> {
  if (!isAlive(identity)) return;
  signal(identity.pid, stopSignal);
  for (let waited = 0; isAlive(identity) && waited < graceMs; waited += 50) await delay(50);
  if (isAlive(identity)) signal(identity.pid, 'SIGKILL');
  for (let waited = 0; isAlive(identity) && waited < 5000; waited += 20) await delay(20);
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // already ended
  }
}

/** Undefined when the process does not exist or is a zombie. */
function birth(pid: number): string | undefined {
  if (process.platform !== 'linux') return birthFromPs(pid);
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the program's name in brackets, with any characters; state and start time follow.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : `${bootId()}/${fields[19]}`;
  } catch {
    return undefined;
  }
}

function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}

function birthFromPs(pid: number): string | undefined {
  const { stdout } = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' });
  return stdout?.trim() || undefined;
}
