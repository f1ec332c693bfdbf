import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * A process by number and time of birth. Numbers are used again; the pair is not, so a process named in an old file is
 * never mistaken for a stranger.
 */
export function identify(pid) {
  return { pid, born: birth(pid) };
}

export function isAlive({ pid, born }) {
  return born !== undefined && birth(pid) === born;
}

/** Ends a process that may not be our child: asks, waits, then kills. `stopSignal` is how it is asked. */
export async function endProcess(identity, { stopSignal = 'SIGTERM', graceMs = 5000 } = {}) {
  if (!isAlive(identity)) return;
  signal(identity.pid, stopSignal);
  for (let waited = 0; isAlive(identity) && waited < graceMs; waited += 50) await delay(50);
  if (isAlive(identity)) signal(identity.pid, 'SIGKILL');
  for (let waited = 0; isAlive(identity) && waited < 5000; waited += 20) await delay(20);
}

function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch {
    // it ended by itself meanwhile
  }
}

/** Undefined when there is no such process, or only its remains wait for their parent. */
function birth(pid) {
  if (process.platform !== 'linux') return birthFromPs(pid);
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the program's name in brackets and may hold anything; state and start time follow it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : `${bootId()}/${fields[19]}`;
  } catch {
    return undefined;
  }
}

function bootId() {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}

function birthFromPs(pid) {
  const { stdout } = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' });
  return stdout?.trim() || undefined;
}
