import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { StartError } from './project.mjs';

const KEPT_BYTES = 64 * 1024;
const KILL_AFTER_MS = 3000;
/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set();
process.once('exit', () => signalAll('SIGTERM'));

/**
 * Spawns a process that leads a process group, which ends with this process.
 * @param {string} command @param {string[]} args @param {import('node:child_process').SpawnOptions} options
 */
export function spawnCommand(command, args, options) {
  const child = spawn(command, args, { ...options, detached: true });
  running.add(child);
  child.once('close', () => running.delete(child));
  return child;
}

/** Ends every running command and waits for it, so that no npm keeps running beside the next one. */
export async function endCommands() {
  const closed = [...running].map((child) => once(child, 'close').catch(() => {}));
  signalAll('SIGTERM');
  const killTimer = setTimeout(() => signalAll('SIGKILL'), KILL_AFTER_MS);
  await Promise.all(closed);
  clearTimeout(killTimer);
}

/** @param {NodeJS.Signals} signal */
function signalAll(signal) {
  for (const { pid } of running) {
    try {
      if (pid !== undefined) process.kill(-pid, signal);
    } catch {
      // already ended, or never started
    }
  }
}

/**
 * Runs a program and returns its standard output. `options` are those of `spawn`, and `input` for its standard input, `failure` for the
 * start of the error message.
 * @throws {StartError} with its last error line, when it cannot be run or its exit code is not 0.
 * @param {string} command @param {string[]} args @param {import('node:child_process').SpawnOptions & { input?: string, failure?: string }} options
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
  child.stdin?.on('error', () => {}); // it ended without reading; its exit code tells why
  child.stdin?.end(input);
  const [code, signal] = await once(child, 'close').catch((error) => {
    throw new StartError(`${failure}: ${error.message}`);
  });
  if (code !== 0) throw new StartError(`${failure}: ${errorLine(stderr) || errorLine(stdout) || `exited with ${code ?? signal}`}`);
  return stdout;
}

/**
 * Last line with an error; else the last line.
 * @param {string} text
 */
function errorLine(text) {
  const lines = text.trim().split('\n');
  return (lines.findLast((line) => /\b(error|fatal|failed)\b/i.test(line)) ?? lines.at(-1) ?? '').trim();
}
