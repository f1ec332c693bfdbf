import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ROOT } from '../../scripts/local/project.mjs';

/** Variables of a machine without this repository: its programs and its registry, and a home of its own. */
export function cleanEnvironment(home: string): Record<string, string> {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => !folder.includes(`${sep}node_modules${sep}`));
  const registry = Object.entries(process.env).filter(([name]) =>
    /^(npm_config_registry|HTTPS?_PROXY|NO_PROXY|NODE_EXTRA_CA_CERTS)$/i.test(name),
  );
  const npmrc = fileURLToPath(new URL(`file://${process.env.HOME ?? '/'}/.npmrc`));
  return {
    ...Object.fromEntries(registry.map(([name, value]) => [name, value ?? ''])),
    ...{ PATH: [dirname(process.execPath), ...folders].join(delimiter), HOME: home, NPM_CONFIG_USERCONFIG: npmrc, LANG: 'C' },
    ...{ NPM_CONFIG_AUDIT: 'false', NPM_CONFIG_FUND: 'false', NPM_CONFIG_UPDATE_NOTIFIER: 'false' },
  };
}

/** Runs `use` in an empty folder, with the environment of a machine that has nothing of Tollgate. Removes the folder. */
export async function inEmptyFolder<Result>(use: (folder: string, env: Record<string, string>) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-release-'));
  try {
    return await use(folder, cleanEnvironment(folder));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Outcome {
  status: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a command to its end. */
export function run(command: string, args: string[], options: { cwd: string; env: Record<string, string> }): Outcome {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024, ...options });
  if (error) throw error;
  return { status, stdout, stderr };
}

/** Runs a command and returns its output. @throws {Error} with what it printed when it fails. */
export function runWell(command: string, args: string[], options: { cwd: string; env: Record<string, string> }): string {
  const { status, stdout, stderr } = run(command, args, options);
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}: ${stderr}${stdout}`);
  return stdout;
}

/** Packs a folder as npm would publish it. Returns the path of the archive in `to`. */
export function npmPack(folder: string, to: string, env: Record<string, string>): string {
  const [packed] = JSON.parse(runWell('npm', ['pack', folder, '--json', '--pack-destination', to], { cwd: ROOT, env })) as {
    filename: string;
  }[];
  return join(to, (packed?.filename ?? '').replace('@', '').replace('/', '-'));
}
