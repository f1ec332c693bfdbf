import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { LogFile } from './log-file.mjs';
import { StartError } from './project.mjs';

const RESTART_MS = 50;
const RESTART_MAX_MS = 800; // so that a program is back within a second
const STABLE_MS = 10_000;
const PROBE_EVERY_MS = 25;
const STARTS_MAX = 3;

/**
 * Starts programs, waits until they are ready, restarts them when they end, and stops them.
 *
 * A program is `{ name, command, args, env, cwd?, uid?, gid?, probe, stopSignal?, graceMs?, readyMs? }`; `probe` resolves to true when it
 * is ready. Each leads its own process group, so that Ctrl-C reaches only the launcher, which stops the programs in order.
 */
export class Supervisor {
  #programs = new Map();
  #say;
  #logDir;
  #pidFile;
  #stopping = false;

  constructor({ logDir, pidFile, say }) {
    this.#logDir = logDir;
    this.#pidFile = pidFile;
    this.#say = say;
  }

  /** @throws {StartError} when the program does not start, with its log and its last error */
  async start(spec) {
    if (this.#stopping) throw new StartError('stopped while starting');
    const program = new Program(spec, new LogFile(join(this.#logDir, `${spec.name}.log`)), this.#pidFile, this.#say);
    this.#programs.set(spec.name, program);
    await program.start();
  }

  pid(name) {
    return this.#program(name).pid;
  }

  pids() {
    return Object.fromEntries([...this.#programs].map(([name, program]) => [name, program.pid]));
  }

  /** Sends a signal to the current process, and resolves when it has ended. The program is restarted. */
  async kill(name, signal = 'SIGKILL') {
    await this.#program(name).kill(signal);
  }

  /** Stops a program until `resume`. */
  async hold(name) {
    await this.#program(name).stop();
  }

  async resume(name) {
    await this.#program(name).start();
  }

  /** Resolves when its probe succeeds again. */
  async ready(name) {
    await this.#program(name).untilReady();
  }

  /** Stops all programs permanently: groups in order, then all others, the last started first. */
  async stopAll(groups = []) {
    if (this.#stopping) return;
    this.#stopping = true;
    const named = new Set(groups.flat());
    const others = [...this.#programs.keys()].filter((name) => !named.has(name)).reverse();
    for (const group of [...groups, ...others.map((name) => [name])]) {
      await Promise.all(group.map((name) => this.#programs.get(name)?.stop()));
    }
    for (const program of this.#programs.values()) program.close();
  }

  /** Kills every program. */
  killAll() {
    for (const program of this.#programs.values()) program.killNow();
  }

  #program(name) {
    const program = this.#programs.get(name);
    if (!program) throw new Error(`unknown program: ${name}`);
    return program;
  }
}

class Program {
  #spec;
  #log;
  #pidFile;
  #say;
  #child;
  #gone = Promise.resolve();
  #wanted = false;
  #everReady = false;
  #failures = 0;
  #startedAt = 0;
  #lastExit = '';
  #restart;

  constructor(spec, log, pidFile, say) {
    this.#spec = spec;
    this.#log = log;
    this.#pidFile = pidFile;
    this.#say = say;
  }

  get pid() {
    return this.#child?.pid;
  }

  async start() {
    this.#wanted = true;
    this.#failures = 0;
    this.#everReady = false;
    this.#spawn();
    await this.untilReady();
    this.#everReady = true;
  }

  async untilReady() {
    const { name, probe, readyMs = 60_000 } = this.#spec;
    const deadline = performance.now() + readyMs;
    while (performance.now() < deadline) {
      if (!this.#wanted) throw new StartError(`${name} was stopped before it was ready`);
      if (!this.#everReady && this.#failures >= STARTS_MAX) throw this.#failed(`does not start (${this.#lastExit})`);
      if (this.#child && (await probe())) return;
      await delay(PROBE_EVERY_MS);
    }
    throw this.#failed(`was not ready within ${readyMs / 1000} s`);
  }

  async kill(signal) {
    const gone = this.#gone;
    this.#child?.kill(signal);
    await gone;
  }

  async stop() {
    const { stopSignal = 'SIGTERM', graceMs = 15_000 } = this.#spec;
    this.#wanted = false;
    clearTimeout(this.#restart);
    if (!this.#child) return;
    this.#child.kill(stopSignal);
    const timer = setTimeout(() => this.#child?.kill('SIGKILL'), graceMs);
    await this.#gone;
    clearTimeout(timer);
  }

  killNow() {
    this.#wanted = false;
    clearTimeout(this.#restart);
    this.#child?.kill('SIGKILL');
  }

  close() {
    this.#log.close();
  }

  #spawn() {
    const { name, command, args, env, cwd, uid, gid, stopSignal = 'SIGTERM' } = this.#spec;
    const output = this.#log.descriptor;
    this.#startedAt = performance.now();
    const child = spawn(command, args, { env, cwd, uid, gid, detached: true, stdio: ['ignore', output, output] });
    this.#child = child;
    this.#gone = new Promise((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
    }).then((reason) => this.#onExit(reason));
    if (child.pid !== undefined) this.#pidFile.add(name, child.pid, stopSignal);
  }

  #onExit(reason) {
    this.#child = undefined;
    this.#lastExit = reason;
    this.#pidFile.remove(this.#spec.name);
    if (!this.#wanted) return;
    this.#failures = performance.now() - this.#startedAt > STABLE_MS ? 1 : this.#failures + 1;
    if (!this.#everReady && this.#failures >= STARTS_MAX) return;
    const wait = Math.min(RESTART_MS * 2 ** (this.#failures - 1), RESTART_MAX_MS);
    if (this.#everReady) this.#say(this.#spec.name, `exited (${reason}); restarting; log: ${this.#log.path}`);
    this.#restart = setTimeout(() => this.#spawn(), wait);
  }

  #failed(what) {
    const lastError = this.#log.lastError();
    return new StartError(`${this.#spec.name} ${what}${lastError ? `: ${lastError}` : ''} (log: ${this.#log.path})`);
  }
}
