import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findOnPath, StartError } from './project.mjs';
import { runCommand } from './run-command.mjs';

/**
 * Downloads Debian's packages and unpacks them into `folder`, without root rights and without installing them. With `dependencies`, also
 * the packages they need that are not installed.
 * @throws {StartError} when the machine is not Debian or a package cannot be fetched.
 */
export async function unpackDebianPackages({
  names,
  folder,
  dependencies = false,
}: {
  names: string[];
  folder: string;
  dependencies?: boolean;
}): Promise<void> {
  for (const tool of ['apt-get', 'dpkg']) if (!findOnPath(tool)) throw new StartError(`${tool} is missing`);
  mkdirSync(dirname(folder), { recursive: true });
  const work = mkdtempSync(`${folder}-fetch-`);
  try {
    await download(work, names, dependencies);
    const unpacked = join(work, 'unpacked');
    for (const file of readdirSync(work).filter((name) => name.endsWith('.deb')))
      await runCommand('dpkg', ['-x', join(work, file), unpacked], { failure: `cannot unpack ${file}` });
    rmSync(folder, { recursive: true, force: true });
    renameSync(unpacked, folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Downloads the packages. If the machine has no package lists, fetches them into a folder of its own, which needs no root rights. */
async function download(work: string, names: string[], dependencies: boolean): Promise<void> {
  const get = async (options: string[]): Promise<string> => {
    const needed = dependencies ? await withDependencies(names, options) : names;
    return await runCommand('apt-get', [...options, 'download', ...needed], { cwd: work });
  };
  if (await get([]).then(Boolean, () => false)) return;
  const lists = join(work, 'apt');
  for (const path of ['state/lists/partial', 'cache/archives/partial']) mkdirSync(join(lists, path), { recursive: true });
  const options = [
    `Dir::State=${lists}/state`,
    `Dir::Cache=${lists}/cache`,
    'Dir::State::status=/var/lib/dpkg/status',
    'APT::Sandbox::User=root',
  ].flatMap((option) => ['-o', option]);
  await runCommand('apt-get', [...options, 'update'], { failure: 'apt-get update' });
  await get(options);
}

/** Returns the packages and those they depend on, without what is installed. */
async function withDependencies(names: string[], options: string[]): Promise<string[]> {
  const plan = await runCommand('apt-get', [...options, '--simulate', '-qq', '--no-install-recommends', 'install', ...names]);
  const needed = plan.split('\n').flatMap((line) => line.match(/^Inst (\S+)/)?.[1] ?? []);
  return [...new Set([...names, ...needed])];
}
