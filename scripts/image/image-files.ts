import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { npm } from '../local/dependencies.mjs';
import { NODE, ROOT, StartError } from '../local/project.mjs';

/** Files and folders of the image below /app, at the places where the repository has them. There are no others but packages. */
export const IMAGE_FILES = [
  'package.json',
  'LICENSE',
  'apps/panel/openapi.json',
  'config/catalog.yaml',
  'config/nats.conf',
  'config/nats-passwords.conf',
  'dist',
  'prisma/migrations',
  'scripts/prisma',
];
/** Commands of the image, as links to what they are. */
const COMMANDS = { tollgate: '/app/dist/apps/cli/bundle/tollgate.cjs' };
/** Bundles that `npm start` makes; state of the build; tests; a script that only development needs, with the package that it needs. */
const LEFT_OUT = /^dist\/apps\/(?!cli)[^/]+\/bundle$|\/(\.stamp|compile-cache)$|\.test\.ts$|^scripts\/prisma\/schema-engine\.ts$/;
/** Installs the packages that `dependencies` of package.json need, and nothing that only building and testing need. */
const INSTALL = ['ci', '--omit=dev', '--omit=peer', '--omit=optional', '--workspaces=false', '--ignore-scripts', '--loglevel=error'];

/**
 * Writes the files of the image into `root`, as the Dockerfile copies them onto its base. `dist` must be built. `debian` is the root of the
 * Debian of the base, whose packages the list of packages names.
 */
export async function writeImageFiles(root: string, { debian }: { debian: string }): Promise<void> {
  const app = join(root, 'app');
  rmSync(app, { recursive: true, force: true });
  for (const file of IMAGE_FILES) {
    mkdirSync(dirname(join(app, file)), { recursive: true });
    const isKept = (path: string) => !LEFT_OUT.test(path.slice(ROOT.length + 1));
    if (existsSync(join(ROOT, file))) cpSync(join(ROOT, file), join(app, file), { recursive: true, filter: isKept });
  }
  const forNpm = ['package-lock.json', '.npmrc'];
  for (const file of forNpm) cpSync(join(ROOT, file), join(app, file));
  await npm(INSTALL, app);
  for (const file of [...forNpm, 'node_modules/.package-lock.json']) rmSync(join(app, file), { force: true });
  writeFileSync(join(app, 'sbom.cdx.json'), listPackages(debian));
  mkdirSync(join(root, 'usr/local/bin'), { recursive: true });
  for (const [name, target] of Object.entries(COMMANDS)) {
    rmSync(join(root, 'usr/local/bin', name), { force: true });
    symlinkSync(target, join(root, 'usr/local/bin', name));
  }
  const { version } = JSON.parse(readFileSync(join(app, 'package.json'), 'utf8'));
  console.log(`wrote the files of the image ${version}`);
}

function listPackages(debian: string): string {
  const { status, stdout, stderr } = spawnSync(NODE, [join(ROOT, 'scripts/sbom.ts'), '--debian', debian], {
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  if (status !== 0) throw new StartError(`the packages of the image cannot be listed: ${stderr}`);
  return stdout;
}
