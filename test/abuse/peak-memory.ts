import { readFile, writeFile } from 'node:fs/promises';
import type { ProgramName, RunningStack } from '#testing/stack.js';
import { statedMemory } from './stated-memory.js';

/** Stated limit of resident memory of each program in bytes, with default settings. */
export const STATED_MEMORY: Partial<Record<ProgramName, number>> = statedMemory();

/** Peak resident memory of each running program since `watch`. Linux only. */
export class PeakMemory {
  private constructor(
    private readonly stack: RunningStack,
    private readonly pids: Map<ProgramName, number>,
  ) {}

  static async watch(stack: RunningStack): Promise<PeakMemory> {
    const pids = new Map<ProgramName, number>();
    const running = stack.pids();
    for (const name of Object.keys(STATED_MEMORY) as ProgramName[]) {
      const pid = running[name];
      if (pid !== undefined) pids.set(name, pid);
    }
    // "5" resets the peak to the current value.
    await Promise.all([...pids.values()].map((pid) => writeFile(`/proc/${pid}/clear_refs`, '5').catch(() => undefined)));
    return new PeakMemory(stack, pids);
  }

  /** Peak in bytes by program; infinite for a program that died. */
  async bytes(): Promise<Partial<Record<ProgramName, number>>> {
    const readings = [...this.pids].map(async ([name, pid]) => {
      if (this.stack.pid(name) !== pid) return [name, Number.POSITIVE_INFINITY] as const;
      const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
      return [name, Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1024] as const;
    });
    return Object.fromEntries(await Promise.all(readings));
  }
}
