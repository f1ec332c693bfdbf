import { readFile, writeFile } from 'node:fs/promises';
import type { ProgramName, RunningStack } from '#testing/stack.js';
import { statedMemory } from './stated-memory.js';

/** The most bytes of memory that each program may be resident with. The stack of the attacks has default settings. */
export const STATED_MEMORY: Partial<Record<ProgramName, number>> = statedMemory();

/** The most memory each program of a stack was resident with since the watch began. Linux counts it, other systems do not. */
export class PeakMemory {
  private constructor(
    private readonly stack: RunningStack,
    private readonly pids: Map<ProgramName, number>,
  ) {}

  static async watch(stack: RunningStack): Promise<PeakMemory> {
    const names = Object.keys(STATED_MEMORY) as ProgramName[];
    const pids = new Map(names.map((name) => [name, stack.pid(name) ?? 0]));
    // "5" sets the peak back to what is resident now.
    await Promise.all([...pids.values()].map((pid) => writeFile(`/proc/${pid}/clear_refs`, '5').catch(() => undefined)));
    return new PeakMemory(stack, pids);
  }

  /** Bytes by program; a program that has died meanwhile has used more than there is. */
  async bytes(): Promise<Partial<Record<ProgramName, number>>> {
    const readings = [...this.pids].map(async ([name, pid]) => {
      if (this.stack.pid(name) !== pid) return [name, Number.POSITIVE_INFINITY] as const;
      const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
      return [name, Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1024] as const;
    });
    return Object.fromEntries(await Promise.all(readings));
  }
}
