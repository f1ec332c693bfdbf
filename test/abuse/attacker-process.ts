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
    await nextMessage(child);
    return new AttackerProcess(child);
  }

  /** Runs the attacks in parallel, and returns the outcomes of each. */
  attack(attacks: Attack[]): Promise<Outcomes[]> {
    this.child.send(attacks);
    return nextMessage(this.child);
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill('SIGKILL');
    await once(this.child, 'exit');
  }
}

/** Resolves with the child's next message. Rejects when it exits. */
async function nextMessage<Message>(child: ChildProcess): Promise<Message> {
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
