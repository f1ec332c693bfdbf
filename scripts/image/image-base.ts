import { chmodSync, copyFileSync, existsSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { unpackDebianPackages } from '../local/debian-packages.ts';
import { NODE } from '../local/project.mjs';
import { runCommand } from '../local/run-command.mjs';

/** Debian's packages that Node and the first process need. The base has no shell. */
const PACKAGES = ['libc6', 'libgcc-s1', 'libstdc++6', 'tini'];
const FOLDERS = ['dev', 'proc', 'sys', 'tmp', 'root', 'usr/bin', 'usr/lib', 'usr/local/bin', 'var/lib/dpkg', 'etc'];

/**
 * Writes a base of the image into the empty folder `root`, for machines without an engine of containers: Node and tini on Debian's libraries,
 * of this machine's Debian and architecture. `more` are further packages of Debian.
 */
export async function writeImageBase(root: string, more: string[] = []): Promise<void> {
  const names = [...PACKAGES, ...more];
  await unpackDebianPackages({ names, folder: root });
  for (const folder of FOLDERS) mkdirSync(join(root, folder), { recursive: true });
  // Since Debian 13 the libraries are in the package below usr alone, and the programs look for them by these links.
  for (const folder of ['bin', 'sbin', 'lib', 'lib64'])
    if (!existsSync(join(root, folder)) && existsSync(join(root, 'usr', folder))) symlinkSync(`usr/${folder}`, join(root, folder));
  chmodSync(join(root, 'tmp'), 0o1777);
  copyFileSync(NODE, join(root, 'usr/local/bin/node'));
  copyFileSync(realpathSync('/etc/os-release'), join(root, 'usr/lib/os-release'));
  symlinkSync('../usr/lib/os-release', join(root, 'etc/os-release'));
  // The state of packages that are installed, of which the installation would have written the line that is put in front.
  const state = await runCommand('apt-cache', ['show', '--no-all-versions', ...names]);
  writeFileSync(join(root, 'var/lib/dpkg/status'), state.replaceAll(/^Package: /gm, 'Status: install ok installed\n$&'));
  writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\n');
  writeFileSync(join(root, 'etc/group'), 'root:x:0:\nnode:x:1000:\n');
}
