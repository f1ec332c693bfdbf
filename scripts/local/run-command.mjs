import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { StartError } from './project.mjs';

const KEPT_BYTES = 64 * 1024;
const PATIENCE_MS = 3000;
const running = new Set();
process.once('exit', () => signalAll('SIGTERM'));

/** `spawn`, for what must not outlive us, nor anything it starts: it leads a process group, which is ended as a whole. */
export function spawnCommand(command, args, options) {
  const child = spawn(command, args, { ...options, detached: true });
  running.add(child);
  child.once('close', () => running.delete(child));
  return child;
}

/** Ends every command that still runs, and waits until it is gone: an npm left at work would get in the way of the next. */
export async function endCommands() {
  const closed = [...running].map((child) => once(child, 'close').catch(() => {}));
  signalAll('SIGTERM');
  const impatience = setTimeout(() => signalAll('SIGKILL'), PATIENCE_MS);
  await Promise.all(closed);
  clearTimeout(impatience);
}

function signalAll(signal) {
  for (const { pid } of running) {
    try {
      process.kill(-pid, signal);
    } catch {
      // it ended by itself, or never began
    }
  }
}

/**
 * Runs a program to its end and returns what it wrote to standard output. `options` are those of `spawn`, and `input` for its
 * standard input, `failure` for the words a failure begins with.
 * @throws {StartError} one line with its last complaint, when it cannot be run or ends with another code than 0.
 */
export async function runCommand(command, args, { input = '', failure = command, ...options } = {}) {
  const child = spawnCommand(command, args, { stdio: ['pipe', 'pipe', 'pipe'], ...options });
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (bytes) => {
    stdout += bytes;
  });
  child.stderr?.on('data', (bytes) => {
    stderr = (stderr + bytes).slice(-KEPT_BYTES);
  });
  child.stdin?.on('error', () => {}); // it ended without reading: its exit code says why
  child.stdin?.end(input);
  const [code, signal] = await once(child, 'close').catch((error) => {
    throw new StartError(`${failure}: ${error.message}`);
  });
  if (code !== 0) throw new StartError(`${failure}: ${complaint(stderr) || complaint(stdout) || `ended with ${code ?? signal}`}`);
  return stdout;
}

/** The last line that says what is wrong: advice and tidying up may follow it. Else the last one. */
function complaint(text) {
  const lines = text.trim().split('\n');
  return (lines.findLast((line) => /\b(error|fatal|failed)\b/i.test(line)) ?? lines.at(-1) ?? '').trim();
}
