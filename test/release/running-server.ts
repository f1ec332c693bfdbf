import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

export interface RunningServer {
  /** Base URL of the gateway, with `/v1`. */
  baseUrl: string;
  apiKey: string;
  panelUrl: string;
  /** Link that makes the first admin; undefined when there is one. */
  signIn: string | undefined;
  output: string;
  /** Stops it as Ctrl-C does. Returns the exit code. */
  stop(): Promise<number | null>;
}

/** Starts a program that prints what `tollgate-server` does, and waits until it is ready. @throws {Error} with its output. */
export async function startServer(
  command: string,
  args: string[],
  options: { cwd: string; env: Record<string, string> },
): Promise<RunningServer> {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => (output += bytes.toString()));
  const isReady = () => /is ready after[\s\S]*?\n {2}curl .*\n/.test(output);
  while (!isReady()) {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${output}`);
    await Promise.race([once(child.stdout, 'data'), once(child, 'close')]);
  }
  const read = (name: string) => new RegExp(`^ {2}${name} +(\\S+)`, 'm').exec(output)?.[1];
  return {
    ...{ baseUrl: read('base URL') ?? '', apiKey: read('demo key') ?? '', panelUrl: read('panel') ?? '', signIn: read('sign in'), output },
    stop: () => stop(child),
  };
}

async function stop(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null) {
    child.kill('SIGTERM');
    await once(child, 'close');
  }
  return child.exitCode;
}
