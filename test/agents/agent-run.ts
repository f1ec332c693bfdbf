import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { spawnCommand } from '../../scripts/local/run-command.mjs';
import type { Agent, AgentSetup } from './agent.js';

/** Longest time of one run. An agent that hangs is killed, and its test fails. */
const RUN_MS_MAX = 180_000;
const OUTPUT_LENGTH_MAX = 1_000_000;

export interface RunEnd {
  /** Null after a signal. */
  code: number | null;
  /** Standard output and error, as they came. */
  output: string;
}

/** A home and a workspace of their own for an agent, which see nothing of this machine's user. */
export class AgentHome {
  readonly workspace: string;
  private readonly home: string;
  private readonly root: string;
  private readonly running = new Set<ChildProcess>();

  constructor(
    private readonly agent: Agent,
    private readonly program: string,
  ) {
    this.root = mkdtempSync(join(tmpdir(), 'tollgate-agent-'));
    this.home = join(this.root, 'home');
    this.workspace = join(this.root, 'workspace');
    for (const folder of [this.home, this.workspace, join(this.root, 'tmp')]) mkdirSync(folder);
  }

  /** Starts the agent with a prompt. */
  start(prompt: string, setup: AgentSetup, continues = false): { ended: Promise<RunEnd>; interrupt(): void } {
    const { files = {}, env = {} } = this.agent.configure(setup);
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(this.home, path)), { recursive: true });
      writeFileSync(join(this.home, path), text);
    }
    const { args, input = '' } = this.agent.invoke(prompt, setup, continues);
    const child = spawnCommand(this.program, args, { cwd: this.workspace, env: { ...this.environment(), ...env } });
    guard(child);
    this.running.add(child);
    child.once('close', () => this.running.delete(child));
    child.stdin?.on('error', () => undefined); // An agent may end without reading it.
    child.stdin?.end(input);
    return { ended: awaitEnd(child), interrupt: () => signalGroup(child, 'SIGINT') };
  }

  /** Kills what still runs, and removes everything. */
  async remove(): Promise<void> {
    const closed = [...this.running].map((child) => once(child, 'close'));
    for (const child of this.running) signalGroup(child, 'SIGKILL');
    await Promise.all(closed);
    rmSync(this.root, { recursive: true, force: true, maxRetries: 5 });
  }

  private environment(): Record<string, string> {
    const home = this.home;
    return {
      PATH: [dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(':'),
      ...{ HOME: home, XDG_CONFIG_HOME: join(home, '.config'), XDG_DATA_HOME: join(home, '.local/share') },
      ...{ XDG_CACHE_HOME: join(home, '.cache'), XDG_STATE_HOME: join(home, '.local/state'), TMPDIR: join(this.root, 'tmp') },
      ...{ LANG: 'C.UTF-8', TERM: 'dumb', NO_COLOR: '1' },
    };
  }
}

async function awaitEnd(child: ChildProcess): Promise<RunEnd> {
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-OUTPUT_LENGTH_MAX);
    });
  }
  let hung = false;
  const timer = setTimeout(() => {
    hung = true;
    signalGroup(child, 'SIGKILL');
  }, RUN_MS_MAX);
  const [code] = (await once(child, 'close').finally(() => clearTimeout(timer))) as [number | null];
  if (hung) throw new Error(`The agent did not end in ${RUN_MS_MAX / 1_000} s. It wrote: ${output.slice(-2_000)}`);
  return { code, output };
}

/** Kills the agent when this process dies, by any signal: its end of the pipe closes then. */
function guard(agent: ChildProcess): void {
  if (agent.pid === undefined) return;
  const script = ['-c', 'read -r _; kill -KILL "-$1"', 'sh', String(agent.pid)];
  const guardian = spawn('sh', script, { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  agent.once('close', () => guardian.kill('SIGKILL'));
}

/** Ctrl-C of a terminal, too, goes to the whole process group. */
function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // ended
  }
}
