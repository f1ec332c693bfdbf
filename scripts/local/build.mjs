import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LOCAL, NODE, packageFile, ROOT } from './project.mjs';
import { runCommand } from './run-command.mjs';

const GENERATED = 'libs/database/src/generated';
const SETTINGS = ['.swcrc', 'package-lock.json'];

/** Brings the Prisma client and `dist` up to date with the sources. */
export async function ensureBuilt({ step }) {
  const schema = digest(['prisma/schema.prisma', 'package-lock.json']);
  if (readStamp(GENERATED) !== schema) {
    await step('prisma client', async () => {
      await node([packageFile('prisma/build/index.js'), 'generate'], 'prisma generate');
      writeFileSync(join(ROOT, GENERATED, '.stamp'), schema);
      return 'generated';
    });
  }
  const sources = digest([...SETTINGS, ...sourceFiles()]);
  if (readStamp('dist') !== sources) {
    await step('build', async () => {
      await compile(sources);
      return 'compiled';
    });
  }
}

/** Compiles into a new folder and renames it to `dist`, so that a running system is not disturbed. */
async function compile(stamp) {
  // At the same depth as `dist`: source maps have relative paths to the sources.
  const fresh = join(ROOT, `.dist.${process.pid}`);
  const old = join(LOCAL, `dist-old.${process.pid}`);
  mkdirSync(LOCAL, { recursive: true });
  try {
    const ignored = [
      '**/*.test.ts',
      '**/conformance*.ts',
      '**/test-*.ts',
      'libs/testing/**',
      '{apps,libs}/*/test{,ing}/**',
      'apps/panel/ui/**',
    ];
    await node(
      [packageFile('@swc/cli/bin/swc.js'), 'apps', 'libs', '--out-dir', fresh, '--quiet', ...ignored.flatMap((glob) => ['--ignore', glob])],
      'build',
    );
    writeFileSync(join(fresh, '.stamp'), stamp);
    const dist = join(ROOT, 'dist');
    if (existsSync(dist)) renameSync(dist, old);
    renameSync(fresh, dist);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
    rmSync(old, { recursive: true, force: true });
  }
}

async function node(args, failure) {
  await runCommand(NODE, args, { cwd: ROOT, failure });
}

function sourceFiles() {
  return ['apps', 'libs'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !file.startsWith('panel/ui/'))
      .map((file) => `${folder}/${file}`)
      .sort(),
  );
}

function digest(files) {
  const hash = createHash('sha256');
  for (const file of files)
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(ROOT, file)))
      .update('\0');
  return hash.digest('hex');
}

function readStamp(folder) {
  const file = join(ROOT, folder, '.stamp');
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}
