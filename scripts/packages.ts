/** `npm run packages`: writes the npm packages of the server and of the clients, and their archives, to .local/packages. */
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBuilt } from './local/build.ts';
import { npm } from './local/dependencies.mjs';
import { LOCAL, StartError } from './local/project.mjs';
import { createStatus } from './local/status.mjs';
import { writeClientPackages } from './packages/client-packages.ts';
import { writeServerPackage } from './packages/server-package.ts';

const FOLDER = join(LOCAL, 'packages');

try {
  const status = createStatus();
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  await ensureBuilt(status);
  await writeServerPackage(join(FOLDER, 'server'), status);
  await writeClientPackages(FOLDER);
  for (const name of readdirSync(FOLDER)) await npm(['pack', join(FOLDER, name), '--pack-destination', FOLDER]);
} catch (error) {
  process.stderr.write(`${error instanceof StartError ? error.message : (error as Error).stack}\n`);
  process.exitCode = 1;
}
