import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '#testing/nats-server.js';

/** A simulator in a process of its own. */
export class SimulatorProcess {
  private child: ChildProcess | undefined;

  private constructor(private readonly port: number) {}

  static async start(defaults = ''): Promise<SimulatorProcess> {
    const simulator = new SimulatorProcess(await freePort());
    await simulator.resume(defaults);
    return simulator;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${this.port}/v1`;
  }

  /** Starts a new process at the same address after `kill`. */
  async resume(defaults = ''): Promise<void> {
    const env = { PATH: process.env.PATH, UPSTREAM_SIM_PORT: String(this.port), UPSTREAM_SIM_DEFAULTS: defaults, LOG_LEVEL: 'silent' };
    this.child = spawn(process.execPath, ['dist/apps/upstream-sim/src/main.js'], { env, stdio: 'ignore' });
    const { child } = this;
    for (; !(await this.answers()); await delay(20)) if (child.exitCode !== null) throw new Error(`the simulator ended: ${child.exitCode}`);
  }

  /** Sends SIGKILL. */
  async kill(): Promise<void> {
    const { child } = this;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  /** Number of requests since the start. */
  async started(): Promise<number> {
    const response = await fetch(`http://127.0.0.1:${this.port}/sim/stats`);
    return ((await response.json()) as { started: number }).started;
  }

  private async answers(): Promise<boolean> {
    return fetch(`http://127.0.0.1:${this.port}/livez`).then(
      ({ ok }) => ok,
      () => false,
    );
  }
}
