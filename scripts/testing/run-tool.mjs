import { once } from 'node:events';
import { NODE, ROOT } from '../local/project.mjs';
import { spawnCommand } from '../local/run-command.mjs';

/** Runs one of the project's tools on the project's Node, on our console, within `timeoutMs`. Returns whether it succeeded. */
export async function runTool(args, { environment = {}, timeoutMs = 600_000 } = {}) {
  const child = spawnCommand(NODE, args, {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '', ...environment },
  });
  const timer = setTimeout(() => {
    console.error(`not finished after ${timeoutMs / 1000} s: ${args[0]}`);
    process.kill(-child.pid, 'SIGKILL');
  }, timeoutMs);
  const [code] = await once(child, 'close');
  clearTimeout(timer);
  return code === 0;
}
