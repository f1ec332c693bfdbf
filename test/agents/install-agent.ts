import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { runCommand } from '../../scripts/local/run-command.mjs';
import type { Agent } from './agent.js';

const CACHE = resolve('.local/agents');
const INSTALL_MS_MAX = 600_000;

/** The agent's program, or the reason why the registry does not give it. */
export type Installed = { program: string } | { missing: string };

/** Installs the pinned version of an agent below `.local/agents`, where later runs find it. */
export async function installAgent(agent: Agent): Promise<Installed> {
  const folder = join(CACHE, `${agent.package.replace('/', '+')}@${agent.version}`);
  const program = join(folder, 'node_modules/.bin', agent.command);
  if (existsSync(program)) return { program };
  mkdirSync(CACHE, { recursive: true });
  // A folder with the final name is complete.
  const incomplete = mkdtempSync(join(CACHE, 'incomplete-'));
  try {
    // Some agents fetch or link their binary in an install script.
    const manifest = { private: true, allowScripts: { [agent.package]: true } };
    writeFileSync(join(incomplete, 'package.json'), JSON.stringify(manifest));
    await runCommand('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', `${agent.package}@${agent.version}`], {
      cwd: incomplete,
      signal: AbortSignal.timeout(INSTALL_MS_MAX),
      failure: 'npm install',
    });
    rmSync(folder, { recursive: true, force: true });
    renameSync(incomplete, folder);
    return existsSync(program) ? { program } : { missing: `${agent.package} has no command ${agent.command}` };
  } catch (error) {
    return { missing: (error as Error).message };
  } finally {
    rmSync(incomplete, { recursive: true, force: true });
  }
}
