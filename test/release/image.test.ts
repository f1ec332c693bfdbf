/** The file system of the image, built without an engine of containers, as a cluster runs it: no shell, no rights, nothing to write to. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { writeImageBase } from '../../scripts/image/image-base.ts';
import { writeImageFiles } from '../../scripts/image/image-files.ts';
import { ROOT } from '../../scripts/local/project.mjs';
import { startReplicas } from '../../scripts/local/replicas.ts';
import { createDemo } from '../../scripts/local/seed.ts';
import { startStack } from '../../scripts/local/stack.ts';
import type { Program } from '../../scripts/local/supervisor.ts';
import { payForRequest } from './paid-request.ts';

/** Enters the root `$1`, which cannot be written, as the user of the image, with its first process. Passes on no variable of its own. */
const ENTER = `
PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount --bind "$1" "$1"
mount -o remount,bind,ro "$1"
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
root=$1
shift
exec unshare --root="$root" --wd=/app --setgid 1000 --setuid 1000 /usr/bin/tini -- /usr/local/bin/node "$@"`;

const skip = whyNotHere();
const folder = mkdtempSync(join(tmpdir(), 'tollgate-image-'));
const root = join(folder, 'root');

before(async () => {
  if (skip) return;
  await writeImageBase(root);
  await writeImageFiles(root, { debian: root });
});
after(() => rmSync(folder, { recursive: true, force: true }));

void test('starts with an empty environment and says what it needs', { skip }, () => {
  const run = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync('/usr/bin/unshare', enter(args), { encoding: 'utf8', env: {}, cwd: '/' });
    return { status, text: stdout + stderr };
  };
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  assert.ok(run('dist/apps/gateway/src/main.js', '--version').text.includes(version));
  const started = run('dist/apps/tollgate/src/main.js', '--target=all');
  assert.equal(started.status, 1);
  assert.match(started.text, /databaseUrl|DATABASE_URL/);
  const migrated = run('scripts/prisma/migrate-deploy.ts');
  assert.equal(migrated.status, 1);
  assert.match(migrated.text, /^DATABASE_URL is not set\n$/m);
  const user = run(
    '-e',
    'const { writeFileSync } = fs; try { writeFileSync("new", "") } catch ({ code }) { console.log(process.getuid(), code) }',
  );
  assert.match(user.text, /^1000 EROFS$/m);
});

void test('migrates a database, serves a request as one process, and bills it', { skip }, async () => {
  const dataDir = join(folder, 'stack');
  const stack = await startStack({ dataDir, durable: false, quiet: true, services: ['upstream-sim'], migrate: false });
  try {
    const urls = Object.entries({ DATABASE: stack.databaseUrl, ...stack.serviceDatabaseUrls });
    const withoutSocket = (url: string) => Object.assign(new URL(url), { search: '' }).href;
    const env = Object.fromEntries(
      urls.map(([name, url]) => [name === 'DATABASE' ? 'DATABASE_URL' : `${name.toUpperCase()}_DATABASE_URL`, withoutSocket(url)]),
    );
    const migrated = spawnSync('/usr/bin/unshare', enter(['scripts/prisma/migrate-deploy.ts']), { encoding: 'utf8', env, cwd: '/' });
    assert.match(migrated.stdout, /^migrated: /m, migrated.stderr);
    const wrap = (program: Program): Program => {
      const args = ['--enable-source-maps', 'dist/apps/tollgate/src/main.js', ...program.args.filter((arg) => arg.startsWith('--target='))];
      return { ...program, command: '/usr/bin/unshare', args: enter(args), cwd: '/' };
    };
    const replicas = await startReplicas(stack, [{ name: 'tollgate', service: 'tollgate', wrap }]);
    try {
      const { apiKey } = await createDemo({ natsUrl: stack.natsUrl, natsPassword: stack.natsPasswords.cli });
      await payForRequest(`${replicas.gatewayUrls.tollgate}/v1`, apiKey);
      const status = readFileSync(`/proc/${replicas.pid('tollgate')}/status`, 'utf8');
      assert.match(status, /^Uid:\t1000\t1000\t1000\t1000$/m);
      assert.match(status, /^CapEff:\t0+$/m);
    } finally {
      await replicas.stop();
    }
  } finally {
    await stack.stop();
  }
});

void test('has no shell and no npm, and its list of packages is whole', { skip }, () => {
  const has = (path: string) => existsSync(join(root, path));
  assert.deepEqual(['bin/sh', 'usr/bin/sh', 'usr/local/bin/npm', 'usr/bin/apt-get'].filter(has), []);
  const { components } = JSON.parse(readFileSync(join(root, 'app/sbom.cdx.json'), 'utf8')) as { components: { name: string }[] };
  const listed = new Set(components.map(({ name }) => name));
  for (const name of ['node', 'tini', 'libc6', 'nats', 'pg']) assert.ok(listed.has(name), name);
  const packages = readdirSync(join(root, 'app/node_modules')).flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(root, 'app/node_modules', name)).map((part) => `${name}/${part}`) : [name],
  );
  assert.deepEqual(
    packages.filter((name) => !name.startsWith('.') && !listed.has(name)),
    [],
  );
});

function enter(args: string[]): string[] {
  return ['--mount', '/bin/sh', '-ec', ENTER, 'sh', root, ...args];
}

function whyNotHere(): string | false {
  if (process.getuid?.() !== 0) return 'mounts need root';
  if (!existsSync('/etc/debian_version')) return 'the base is made of packages of Debian';
  if (spawnSync('unshare', ['--mount', 'true']).status !== 0) return 'this machine allows no mount namespaces';
  return false;
}
