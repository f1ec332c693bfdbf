import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Attack, Outcomes } from './attacker.js';

/** The attacker's process: runs one list of attacks at a time. */
export class AttackerProcess {
  private constructor(private readonly child: ChildProcess) {}

  static async start(): Promise<AttackerProcess> {
    const program = fileURLToPath(new URL('attacker.ts', import.meta.url));
    const child = fork(program, { execArgv: ['--no-warnings'], env: { PATH: process.env.PATH } });
    await settled(child);
    return new AttackerProcess(child);
  }

  /** Runs the attacks side by side, and returns the outcomes of each. */
  attack(attacks: Attack[]): Promise<Outcomes[]> {
    this.child.send(attacks);
    return settled(this.child);
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill('SIGKILL');
    await once(this.child, 'exit');
  }
}

/** The child's next message; throws when it ends instead. */
async function settled<Message>(child: ChildProcess): Promise<Message> {
  const ended = new AbortController();
  const exit = once(child, 'exit', { signal: ended.signal }).then(([code]) => {
    throw new Error(`the attacker's process ended: ${code}`);
  });
  exit.catch(() => undefined);
  try {
    const [message] = (await Promise.race([once(child, 'message', { signal: ended.signal }), exit])) as [Message];
    return message;
  } finally {
    ended.abort();
  }
}
