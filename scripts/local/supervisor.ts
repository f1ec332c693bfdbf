import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { LogFile } from './log-file.ts';
import type { PidFile } from './pid-file.ts';
import { StartError } from './project.mjs';
import type { Status } from './status.mjs';

const RESTART_MS = 50;
const RESTART_MAX_MS = 800; // so that a program is back within a second
const STABLE_MS = 10_000;
const PROBE_EVERY_MS = 25;
const STARTS_MAX = 3;

/** A program that a supervisor runs. */
export interface Program {
  name: string;
  command: string;
  args: string[];
  env: Record<string, string>;
  cwd?: string;
  uid?: number;
  gid?: number;
  /** Resolves to true when it is ready. */
  probe(): Promise<boolean>;
  /** Default: SIGTERM. */
  stopSignal?: NodeJS.Signals;
  /** Milliseconds from the signal to the kill. */
  graceMs?: number;
  /** Milliseconds in which it must be ready. */
  readyMs?: number;
}

/**
 * Starts programs, waits until they are ready, restarts them when they end, and stops them. Each leads its own process group, so that Ctrl-C
 * reaches only the launcher, which stops the programs in order.
 */
export class Supervisor {
  private readonly programs = new Map<string, Runner>();
  private readonly say: Status['say'];
  private readonly logDir: string;
  private readonly pidFile: PidFile;
  private stopping = false;

  constructor({ logDir, pidFile, say }: { logDir: string; pidFile: PidFile; say: Status['say'] }) {
    this.logDir = logDir;
    this.pidFile = pidFile;
    this.say = say;
  }

  /** @throws {StartError} when the program does not start, with its log and its last error */
  async start(program: Program): Promise<void> {
    if (this.stopping) throw new StartError('stopped while starting');
    const runner = new Runner(program, new LogFile(join(this.logDir, `${program.name}.log`)), this.pidFile, this.say);
    this.programs.set(program.name, runner);
    await runner.start();
  }

  pid(name: string): number | undefined {
    return this.find(name).pid;
  }

  pids(): Record<string, number> {
    return Object.fromEntries([...this.programs].flatMap(([name, { pid }]) => (pid === undefined ? [] : [[name, pid]])));
  }

  /** Sends a signal to the current process, and resolves when it has ended. The program is restarted. */
  async kill(name: string, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    await this.find(name).kill(signal);
  }

  /** Stops a program until `resume`. */
  async hold(name: string): Promise<void> {
    await this.find(name).stop();
  }

  async resume(name: string): Promise<void> {
    await this.find(name).start();
  }

  /** Resolves when its probe succeeds again. */
  async ready(name: string): Promise<void> {
    await this.find(name).untilReady();
  }

  /** Stops all programs permanently: groups in order, then all others, the last started first. */
  async stopAll(groups: string[][] = []): Promise<void> {
    if (this.stopping) return;
    this.stopping = true;
    const named = new Set(groups.flat());
    const others = [...this.programs.keys()].filter((name) => !named.has(name)).reverse();
    for (const group of [...groups, ...others.map((name) => [name])]) {
      await Promise.all(group.map(async (name) => this.programs.get(name)?.stop()));
    }
    for (const program of this.programs.values()) program.close();
  }

  /** Kills every program. */
  killAll(): void {
    for (const program of this.programs.values()) program.killNow();
  }

  private find(name: string): Runner {
    const program = this.programs.get(name);
    if (!program) throw new Error(`unknown program: ${name}`);
    return program;
  }
}

class Runner {
  private readonly spec: Program;
  private readonly log: LogFile;
  private readonly pidFile: PidFile;
  private readonly say: Status['say'];
  private child: ChildProcess | undefined;
  private gone = Promise.resolve();
  private wanted = false;
  private everReady = false;
  private failures = 0;
  private startedAt = 0;
  private lastExit = '';
  private restart: NodeJS.Timeout | undefined;

  constructor(spec: Program, log: LogFile, pidFile: PidFile, say: Status['say']) {
    this.spec = spec;
    this.log = log;
    this.pidFile = pidFile;
    this.say = say;
  }

  get pid(): number | undefined {
    return this.child?.pid;
  }

  async start(): Promise<void> {
    this.wanted = true;
    this.failures = 0;
    this.everReady = false;
    this.spawn();
    await this.untilReady();
    this.everReady = true;
  }

  async untilReady(): Promise<void> {
    const { name, probe, readyMs = 60_000 } = this.spec;
    const deadline = performance.now() + readyMs;
    while (performance.now() < deadline) {
      if (!this.wanted) throw new StartError(`${name} was stopped before it was ready`);
      if (!this.everReady && this.failures >= STARTS_MAX) throw this.failed(`does not start (${this.lastExit})`);
      if (this.child && (await probe())) return;
      await delay(PROBE_EVERY_MS);
    }
    throw this.failed(`was not ready within ${readyMs / 1000} s`);
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    const gone = this.gone;
    this.child?.kill(signal);
    await gone;
  }

  async stop(): Promise<void> {
    const { stopSignal = 'SIGTERM', graceMs = 15_000 } = this.spec;
    this.wanted = false;
    clearTimeout(this.restart);
    if (!this.child) return;
    this.child.kill(stopSignal);
    const timer = setTimeout(() => this.child?.kill('SIGKILL'), graceMs);
    await this.gone;
    clearTimeout(timer);
  }

  killNow(): void {
    this.wanted = false;
    clearTimeout(this.restart);
    this.child?.kill('SIGKILL');
  }

  close(): void {
    this.log.close();
  }

  private spawn(): void {
    const { name, command, args, env, cwd, uid, gid, stopSignal = 'SIGTERM' } = this.spec;
    const output = this.log.descriptor;
    this.startedAt = performance.now();
    const child = spawn(command, args, { env, cwd, uid, gid, detached: true, stdio: ['ignore', output, output] });
    this.child = child;
    this.gone = new Promise<string>((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
    }).then((reason) => this.onExit(reason));
    if (child.pid !== undefined) this.pidFile.add(name, child.pid, stopSignal);
  }

  private onExit(reason: string): void {
    this.child = undefined;
    this.lastExit = reason;
    this.pidFile.remove(this.spec.name);
    if (!this.wanted) return;
    this.failures = performance.now() - this.startedAt > STABLE_MS ? 1 : this.failures + 1;
    if (!this.everReady && this.failures >= STARTS_MAX) return;
    const wait = Math.min(RESTART_MS * 2 ** (this.failures - 1), RESTART_MAX_MS);
    if (this.everReady) this.say(this.spec.name, `exited (${reason}); restarting; log: ${this.log.path}`);
    this.restart = setTimeout(() => this.spawn(), wait);
  }

  private failed(what: string): StartError {
    const lastError = this.log.lastError();
    return new StartError(`${this.spec.name} ${what}${lastError ? `: ${lastError}` : ''} (log: ${this.log.path})`);
  }
}
