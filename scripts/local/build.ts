import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, extname, join, relative } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { bundleCommandLine } from './bundles.ts';
import { LOCAL, NODE, packageFile, ROOT } from './project.mjs';
import { runCommand } from './run-command.mjs';
import { COMMAND_LINE } from './services.ts';
import type { Status } from './status.mjs';

const GENERATED = 'libs/database/src/generated';
const SETTINGS = ['.swcrc', 'package-lock.json'];
/** Sources of the panel's pages, and their folder in `dist`. */
const UI = 'apps/panel/ui';
/** The only module that pages and services share. */
const UI_AMOUNTS = 'libs/money/src/pico-usd.ts';
const BUILT_UI = 'dist/apps/panel/ui';
/** The commit of the sources, which the programs show as theirs. */
const COMMIT_FILE = 'dist/commit';
const COMPRESSED = new Set(['.js', '.css', '.svg', '.html']);

/** Brings the Prisma client, `dist`, and in it the command line and the panel's pages up to date with the sources. */
export async function ensureBuilt({ step }: Pick<Status, 'step'>): Promise<void> {
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
  if (!existsSync(COMMAND_LINE)) {
    await step('command line', async () => {
      await bundleCommandLine();
      return 'bundled';
    });
  }
  linkCommandLine();
  const pages = digest(['package-lock.json', UI_AMOUNTS, ...uiFiles()]);
  if (readStamp(BUILT_UI) !== pages) {
    await step('panel pages', async () => {
      await buildUi(pages);
      return 'built';
    });
  }
  writeCommit();
}

/**
 * Lets `npx tollgate` find the command line. As `bin` of package.json it would be found too, but npm would install the whole project into its
 * cache first, which takes another second of each command.
 */
function linkCommandLine(): void {
  const link = packageFile('.bin/tollgate');
  if (!existsSync(link)) symlinkSync(relative(dirname(link), COMMAND_LINE), link);
}

/** Writes `TOLLGATE_COMMIT`, which a build without git sets, or the commit of the checkout. Removes the file where there is neither. */
function writeCommit(): void {
  const commit = process.env.TOLLGATE_COMMIT || (existsSync(join(ROOT, '.git')) ? describeCheckout() : '');
  if (commit) writeFileSync(join(ROOT, COMMIT_FILE), `${commit}\n`);
  else rmSync(join(ROOT, COMMIT_FILE), { force: true });
}

/** Returns 12 digits of the commit, with `-dirty` for changes in tracked files. Empty without git. */
function describeCheckout(): string {
  const { status, stdout } = spawnSync('git', ['describe', '--always', '--exclude=*', '--abbrev=12', '--dirty'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return status === 0 ? stdout.trim() : '';
}

/** Compiles into a new folder and renames it to `dist`, so that a running system is not disturbed. */
async function compile(stamp: string): Promise<void> {
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
    if (existsSync(join(ROOT, BUILT_UI))) cpSync(join(ROOT, BUILT_UI), join(fresh, UI), { recursive: true });
    replaceFolder(join(ROOT, 'dist'), fresh, old);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
    rmSync(old, { recursive: true, force: true });
  }
}

/** Bundles the pages and compresses them, so that the panel compresses nothing while it serves them. */
async function buildUi(stamp: string): Promise<void> {
  const fresh = join(ROOT, `.dist.${process.pid}`);
  const old = join(LOCAL, `ui-old.${process.pid}`);
  try {
    await node(
      [packageFile('vite/bin/vite.js'), 'build', UI, '--outDir', fresh, '--emptyOutDir', '--logLevel', 'warn'],
      'build of the panel pages',
    );
    for (const file of readdirSync(fresh, { recursive: true, encoding: 'utf8' }).filter((name) => COMPRESSED.has(extname(name)))) {
      const contents = readFileSync(join(fresh, file));
      writeFileSync(join(fresh, `${file}.br`), brotliCompressSync(contents));
      writeFileSync(join(fresh, `${file}.gz`), gzipSync(contents, { level: 9 }));
    }
    writeFileSync(join(fresh, '.stamp'), stamp);
    mkdirSync(dirname(join(ROOT, BUILT_UI)), { recursive: true });
    replaceFolder(join(ROOT, BUILT_UI), fresh, old);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
    rmSync(old, { recursive: true, force: true });
  }
}

function replaceFolder(folder: string, fresh: string, old: string): void {
  if (existsSync(folder)) renameSync(folder, old);
  renameSync(fresh, folder);
}

async function node(args: string[], failure: string): Promise<void> {
  await runCommand(NODE, args, { cwd: ROOT, failure });
}

function sourceFiles(): string[] {
  return ['apps', 'libs'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !file.startsWith('panel/ui/'))
      .map((file) => `${folder}/${file}`)
      .sort(),
  );
}

function uiFiles(): string[] {
  return readdirSync(join(ROOT, UI), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.test.ts'))
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1))
    .sort();
}

function digest(files: string[]): string {
  const hash = createHash('sha256');
  for (const file of files)
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(ROOT, file)))
      .update('\0');
  return hash.digest('hex');
}

function readStamp(folder: string): string | undefined {
  const file = join(ROOT, folder, '.stamp');
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}
