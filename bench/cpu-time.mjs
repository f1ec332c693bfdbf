import { readdirSync, readFileSync } from 'node:fs';

/** Unit of times in /proc/<pid>/stat; 100 on every Linux. */
const TICKS_PER_SECOND = 100;

/**
 * CPU time so far, user and system, of each named process and its descendants (Postgres works in child processes).
 *
 * @param {Record<string, number>} pids name → pid
 * @returns {Record<string, number>} name → seconds
 */
export function cpuSeconds(pids) {
  const processes = readProcesses();
  return Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, withDescendants(pid, processes) / TICKS_PER_SECOND]));
}

/** CPU seconds used so far on the machine or taken away by its host, and the seconds available. */
export function machineSeconds() {
  const [user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0] =
    readFileSync('/proc/stat', 'utf8')
      .split('\n', 1)[0]
      ?.split(/\s+/)
      .slice(1)
      .map((ticks) => Number(ticks) / TICKS_PER_SECOND) ?? [];
  const used = user + nice + system + irq + softirq + steal;
  return { used, available: used + idle + iowait };
}

/** Resident memory of each named process, without its descendants. @param {Record<string, number>} pids @returns {Record<string, number>} */
export function residentMb(pids) {
  const read = (/** @type {number} */ pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1e3;
  return Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, read(pid)]));
}

/** @returns {Map<number, { parent: number, ticks: number }>} */
function readProcesses() {
  const processes = new Map();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = readStat(name);
    if (stat) processes.set(Number(name), stat);
  }
  return processes;
}

/** Own time, and that of ended children. @param {string} pid */
function readStat(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { parent: Number(fields[1]), ticks: [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]), 0) };
  } catch {
    return undefined; // ended in between
  }
}

/** @param {number} root @param {ReturnType<typeof readProcesses>} processes @returns {number} */
function withDescendants(root, processes) {
  let ticks = processes.get(root)?.ticks ?? 0;
  for (const [pid, { parent }] of processes) if (parent === root && pid !== root) ticks += withDescendants(pid, processes);
  return ticks;
}
