import { readFileSync } from 'node:fs';
import pg from 'pg';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator, createTenant, readBalance } from '#testing/tenant.js';
import type { Replica, RunningReplicas } from '../../scripts/local/replicas.ts';
import { buildImage, type Image, whyNoImage } from './image.js';

/** The image of the Dockerfile as a cluster runs it: as uid 1000, on a root that cannot be written. */
const reason = whyNoImage();
// Left out where no image can be built: on machines without root rights, mount namespaces or Debian.
const withImage = reason === undefined ? describe : describe.skip;
if (reason !== undefined) console.warn(`No image is built: ${reason}.`);

withImage('the image', () => {
  let image: Image;
  let stack: RunningStack;
  let replicas: RunningReplicas | undefined;

  beforeAll(async () => {
    image = await buildImage();
    stack = await startPrivateStack({ services: ['upstream-sim'], ownPostgres: true });
  });
  afterAll(async () => {
    await replicas?.stop();
    await stack?.stop();
    image?.remove();
  });

  test('migrates an empty database and serves a request', async () => {
    const owner = new pg.Client({ connectionString: stack.databaseUrl });
    await owner.connect();
    await owner.query('CREATE DATABASE of_image');
    await owner.end();
    const databaseUrl = Object.assign(new URL(stack.databaseUrl), { pathname: '/of_image' }).href;
    image.run(['node', 'scripts/prisma/migrate-deploy.ts'], { DATABASE_URL: databaseUrl });

    const { startReplicas } = await import('../../scripts/local/replicas.ts');
    const replica = (service: Replica['service']): Replica => ({
      ...{ name: service, service },
      env: { DATABASE_URL: databaseUrl, UPSTREAM_LOCAL_URL: `${stack.upstreamUrl}/v1` },
      wrap: (program) =>
        image.entering({ ...program, command: 'node', args: ['--enable-source-maps', `dist/apps/${service}/src/main.js`] }),
    });
    replicas = await startReplicas(stack, (['gateway', 'inference-proxy', 'billing', 'catalog', 'panel'] as const).map(replica));
    const administrator = await connectAdministrator(stack);
    const { apiKey } = await createTenant(administrator, { usd: '1.00' });
    await administrator.close();

    const { gateway = '' } = replicas.gatewayUrls;
    const response = await fetch(`${gateway}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim-fast', messages: [{ role: 'user', content: 'Hello' }] }),
    });
    const reply = (await response.json()) as { choices: { finish_reason: string }[] };
    expect([response.status, reply.choices.map(({ finish_reason }) => finish_reason)]).toEqual([200, ['stop']]);
    const { balance_pico_usd: left } = await readBalance(gateway, apiKey);
    expect(BigInt(left)).toBeLessThan(1_000_000_000_000n);
    const users = Object.values(replicas.pids()).map((pid) => /^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
    expect(users).toEqual(['1000', '1000', '1000', '1000', '1000']);
    const page = await fetch(`${replicas.panelUrls.panel}/panel/`);
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<title>')]);
  });

  test('has the command line', () => {
    const env = { NATS_URL: stack.natsUrl, NATS_CLI_PASSWORD: stack.natsPasswords.cli };
    expect(image.run(['tollgate', 'account', 'list'], env)).toMatch(/^(ACCOUNT .*|no accounts)\n/);
  });

  test('has no npm, and a root that cannot be written', () => {
    const probe = 'command -v npm; command -v npx; touch /app/new /tmp/new 2>&1; id -u';
    expect(image.run(['sh', '-c', probe]).trim().split('\n')).toEqual([
      'touch: /app/new: Read-only file system',
      'touch: /tmp/new: Read-only file system',
      '1000',
    ]);
  });

  test('lists its packages, and has no others', () => {
    const { components } = JSON.parse(image.run(['cat', 'sbom.cdx.json'])) as { components: { name: string; purl: string }[] };
    const listed = new Set(components.map(({ name }) => name));
    const kinds = new Set(components.map(({ purl }) => purl.split('/')[0]));
    expect([...kinds].sort()).toEqual(['pkg:deb', 'pkg:generic', 'pkg:npm']);
    expect([...listed]).toEqual(expect.arrayContaining(['node', 'tini', 'libc6']));
    const there = image.run(['sh', '-c', 'cd node_modules && ls -d [!@.]* @*/*']).trim().split('\n');
    expect(there.filter((name) => !listed.has(name))).toEqual([]);
    expect(there).toContain('nats');
    expect(there).not.toContain('jest');
  });
});
