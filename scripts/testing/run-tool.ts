import { once } from 'node:events';
import { NODE, ROOT } from '../local/project.mjs';
import { spawnCommand } from '../local/run-command.mjs';

/** Runs a tool of the project on its own Node, with output to the console. Resolves to true if it succeeded within `timeoutMs`. */
export async function runTool(
  args: string[],
  { environment = {}, timeoutMs = 600_000 }: { environment?: Record<string, string>; timeoutMs?: number } = {},
): Promise<boolean> {
  const child = spawnCommand(NODE, args, {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '', ...environment },
  });
  const timer = setTimeout(() => {
    console.error(`not finished after ${timeoutMs / 1000} s: ${args[0]}`);
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  }, timeoutMs);
  const [code] = await once(child, 'close');
  clearTimeout(timer);
  return code === 0;
}
