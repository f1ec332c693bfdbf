/**
 * Installs the packages of a first start, with those of the tests for `--tests`. Plain JavaScript, as all modules with `.mjs` in these folders:
 * it runs on the machine's own Node. All other scripts run on the Node that is among the packages. Does nothing when that Node is there: the
 * script checks its packages itself, after it knows that no running system needs them.
 */
import { ensureDependencies, nodeRuns } from './local/dependencies.mjs';
import { StartError } from './local/project.mjs';
import { endCommands } from './local/run-command.mjs';
import { createStatus } from './local/status.mjs';

const INTERRUPTED = 130;
const WATCH_MS = 200;
const shell = process.ppid;

process.stdout.on('error', () => {}); // the terminal is closed: SIGHUP ends the installation
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, interrupt);
// npm passes a signal to the shell that runs this file. The shell ends, and passes nothing on.
setInterval(() => process.ppid !== shell && interrupt(), WATCH_MS).unref();
try {
  if (!(await nodeRuns())) await ensureDependencies(createStatus(), { tests: process.argv.includes('--tests') });
} catch (error) {
  process.stderr.write(`${error instanceof StartError ? error.message : /** @type {Error} */ (error).stack}\n`);
  process.exitCode = 1;
}

function interrupt() {
  void endCommands().then(() => process.exit(INTERRUPTED));
}
