import { readdirSync, readFileSync } from 'node:fs';

interface PackageFile {
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

const read = (path: string): PackageFile => JSON.parse(readFileSync(path, 'utf8')) as PackageFile;
const { packages: locked } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, { version?: string }> };
const root = read('package.json');
const tests = read('test/packages/package.json');
const ofStart = new Set(Object.keys({ ...root.dependencies, ...root.devDependencies }));
/** The package of an import, but of types, or of a file that `packageFile` or `resolve` names. */
const PACKAGE = /(?:from|import|resolve\(|packageFile\()\s*'((?:@[\w.-]+\/)?[\w-][\w.-]*)(?:\/[^']*)?'/g;

test('every package of the tests is at the top of node_modules, where their imports find it', () => {
  const names = Object.keys(tests.devDependencies ?? {});
  expect(names.filter((name) => !locked[`node_modules/${name}`])).toEqual([]);
  expect({ shared: names.filter((name) => ofStart.has(name)), dependencies: tests.dependencies }).toEqual({
    shared: [],
    dependencies: undefined,
  });
});

test('the scripts of npm start and of the image use only packages that npm start installs', () => {
  const files = ['scripts/local', 'scripts/prisma'].flatMap((folder) =>
    readdirSync(folder)
      .filter((file) => /\.(ts|mjs)$/.test(file) && !file.endsWith('.test.ts'))
      .map((file) => `${folder}/${file}`),
  );
  const named = [...files, 'scripts/start.ts', 'scripts/build.ts', 'prisma.config.ts'].flatMap((file) =>
    [
      ...readFileSync(file, 'utf8')
        .replace(/^import type .*$/gm, '')
        .matchAll(PACKAGE),
    ].map(([, name = '']) => ({ file, name })),
  );
  expect(named.map(({ name }) => name)).toEqual(expect.arrayContaining(['prisma', '@swc/cli', 'openai']));
  expect(named.filter(({ name }) => !ofStart.has(name))).toEqual([]);
});

test('examples have the versions that their tests run with', () => {
  const versions = { ...root.dependencies, ...tests.devDependencies };
  const examples = readdirSync('examples').map((name) => ({ name, ...read(`examples/${name}/package.json`) }));
  expect(examples.length).toBeGreaterThan(0);
  const others = examples.flatMap(({ name, dependencies = {} }) =>
    Object.entries(dependencies)
      .filter(([used, version]) => versions[used] !== version)
      .map(([used]) => `${name}: ${used}`),
  );
  expect(others).toEqual([]);
});
