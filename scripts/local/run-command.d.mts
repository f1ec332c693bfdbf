import type { ChildProcess, SpawnOptions } from 'node:child_process';

/** Spawns a process that leads a process group, which ends with this process. */
export function spawnCommand(command: string, args: string[], options: SpawnOptions): ChildProcess;

/**
 * Runs a program and returns its standard output. Rejects with its last error line, after `failure`, when it cannot be run or its exit code
 * is not 0.
 */
export function runCommand(command: string, args: string[], options?: SpawnOptions & { input?: string; failure?: string }): Promise<string>;
