/**
 * Prints Node and the packages that the services run with, as CycloneDX: those that `dependencies` of package.json need, from the lock file.
 * It is not `npm sbom`, which leaves out each package that development needs too. `--debian <root>` adds the packages of the Debian in that
 * folder.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from './local/project.mjs';

const { debian: root } = parseArgs({ options: { debian: { type: 'string' } } }).values;
/** A package of the lock file. */
interface Package {
  version: string;
  license?: string;
  integrity?: string;
  dependencies?: Record<string, string>;
}
interface Project extends Package {
  name: string;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
}

const read = (file: string) => JSON.parse(readFileSync(join(ROOT, file), 'utf8'));
const project: Project = read('package.json');
const { packages }: { packages: Record<string, Package> } = read('package-lock.json');

/** Dependencies of each used package by its path in the lock file, as paths. */
const graph = new Map<string, string[]>();
visit('', Object.keys(project.dependencies));

const bom = {
  bomFormat: 'CycloneDX',
  specVersion: '1.5',
  version: 1,
  metadata: { component: { ...component(project.name, project), type: 'application' } },
  components: [
    ...[...graph.keys()].filter((path) => path !== '').map((path) => component(parseName(path), packageAt(path))),
    { type: 'platform', name: 'node', version: project.devDependencies.node, purl: `pkg:generic/node@${project.devDependencies.node}` },
    ...(root === undefined ? [] : debianPackages(root)),
  ],
  dependencies: [...graph].map(([path, needed]) => ({ ref: reference(path), dependsOn: needed.map(reference) })),
};
process.stdout.write(`${JSON.stringify(bom, null, 2)}\n`);

function visit(path: string, names: string[]): void {
  if (graph.has(path)) return;
  const needed = names.map((name) => locate(path, name));
  graph.set(path, needed);
  for (const one of needed) visit(one, Object.keys(packageAt(one).dependencies ?? {}));
}

function packageAt(path: string): Package {
  const found = packages[path];
  if (!found) throw new Error(`the lock file has no ${path}`);
  return found;
}

/** Path of the package that `name` means for the package at `path`: the nearest `node_modules` above it that has one. */
function locate(path: string, name: string): string {
  for (let folder = path; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const candidate = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    if (packages[candidate]) return candidate;
    if (folder === '') throw new Error(`the lock file has no ${name} for ${path}`);
  }
}

function component(name: string, { version, license, integrity }: Package): object {
  return {
    type: 'library',
    'bom-ref': `${name}@${version}`,
    name,
    version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    ...(license && { licenses: [{ expression: license }] }),
    ...(integrity && { hashes: [{ alg: 'SHA-512', content: Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex') }] }),
  };
}

function reference(path: string): string {
  return path === '' ? `${project.name}@${project.version}` : `${parseName(path)}@${packageAt(path).version}`;
}

function parseName(path: string): string {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

/** The installed packages of a Debian system. */
function debianPackages(root: string): object[] {
  const parseFields = (text: string, form: RegExp): Record<string, string> =>
    Object.fromEntries([...text.matchAll(form)].map(([, name = '', value = '']) => [name, value]));
  const { ID: id, VERSION_ID: release } = parseFields(readFileSync(join(root, 'etc/os-release'), 'utf8'), /^(\w+)="?([^"\n]*)"?$/gm);
  return readFileSync(join(root, 'var/lib/dpkg/status'), 'utf8')
    .split('\n\n')
    .map((text) => parseFields(text, /^([\w-]+): (.*)$/gm))
    .filter(({ Status: status }) => status === 'install ok installed')
    .map(({ Package: name, Version: version, Architecture: architecture }) => ({
      ...{ type: 'library', 'bom-ref': `${id}/${name}@${version}`, name, version },
      purl: `pkg:deb/${id}/${name}@${encodeURIComponent(version ?? '')}?arch=${architecture}&distro=${id}-${release}`,
    }));
}
