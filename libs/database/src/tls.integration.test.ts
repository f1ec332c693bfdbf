import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { TestPostgres } from '#testing/postgres-server.js';
import { TestAuthority } from '#testing/test-certificates.js';
import { requiredVariable } from '#testing/test-environment.js';
import { connectPg } from './pg-connection.js';
import { postgresReadiness } from './postgres-readiness.js';
import { createPrismaClient } from './prisma-client.js';

const run = promisify(execFile);

/** A server with a certificate for `localhost`, and the files of its authority and of another one. */
let server: TestPostgres;
let folder: string;
beforeAll(async () => {
  const authority = new TestAuthority();
  const certificate = authority.issue('localhost', { hosts: ['localhost'] });
  folder = await mkdtemp(join(tmpdir(), 'tollgate-tls-'));
  await writeFile(join(folder, 'own.pem'), authority.cert);
  await writeFile(join(folder, 'other.pem'), new TestAuthority('Another authority').cert);
  server = await TestPostgres.create();
  await server.write('server.crt', certificate.cert);
  await server.write('server.key', certificate.key);
  await server.start({ ssl: 'on' });
});
afterAll(async () => {
  await server?.remove();
  await rm(folder, { recursive: true });
});

function makeUrl(host: string, mode: string, authority?: string): string {
  const file = authority ? `&sslrootcert=${encodeURIComponent(join(folder, `${authority}.pem`))}` : '';
  return `postgres://tollgate:test@${host}:${server.port}/tollgate?sslmode=${mode}${file}`;
}

const ENCRYPTED = `SELECT ssl AS "isEncrypted" FROM pg_stat_ssl WHERE pid = pg_backend_pid()`;

/** Encryption of a connection and of the pool of a service, or the reason of a refusal and of `/readyz`. */
async function attempt(url: string): Promise<unknown> {
  const options = { url, applicationName: 'test' };
  const prisma = createPrismaClient(options);
  const readiness = postgresReadiness(prisma, url);
  try {
    const ready = await readiness.check();
    const pool = ready ? await prisma.$queryRawUnsafe<{ isEncrypted: boolean }[]>(ENCRYPTED) : readiness.detail();
    const connection = await connectPg(options).catch((error: Error) => error.message);
    if (typeof connection === 'string') return { pool, connection };
    const { rows } = await connection.query<{ isEncrypted: boolean }>(ENCRYPTED);
    await connection.end();
    return { pool, connection: rows };
  } finally {
    await prisma.$disconnect();
  }
}

const WRONG_AUTHORITY = 'unable to verify the first certificate';
const WRONG_HOST = "Hostname/IP does not match certificate's altnames: IP: 127.0.0.1 is not in the cert's list: ";

test.each([
  ['disable', '127.0.0.1', undefined, false],
  ['require', '127.0.0.1', undefined, true],
  ['require', '127.0.0.1', 'own', true],
  ['verify-ca', '127.0.0.1', 'own', true],
  ['verify-full', 'localhost', 'own', true],
])('sslmode=%s at %s with sslrootcert=%s connects; encrypted: %s', async (mode, host, authority, isEncrypted) => {
  expect(await attempt(makeUrl(host, mode, authority))).toEqual({ pool: [{ isEncrypted }], connection: [{ isEncrypted }] });
});

test.each([
  ['require', '127.0.0.1', 'other', WRONG_AUTHORITY],
  ['verify-ca', '127.0.0.1', 'other', WRONG_AUTHORITY],
  ['verify-full', 'localhost', undefined, WRONG_AUTHORITY],
  ['verify-full', 'localhost', 'other', WRONG_AUTHORITY],
  ['verify-full', '127.0.0.1', 'own', WRONG_HOST],
])('sslmode=%s at %s with sslrootcert=%s is refused, and readiness tells why', async (mode, host, authority, reason) => {
  const pool = expect.stringContaining(`${host}:${server.port}: ${reason}`);
  expect(await attempt(makeUrl(host, mode, authority))).toEqual({ pool, connection: expect.stringContaining(reason) });
});

test('a server without TLS is refused', async () => {
  const url = `${requiredVariable('TEST_POSTGRES_URL')}?sslmode=require`;
  const reason = 'The server does not support SSL connections';
  expect(await attempt(url)).toEqual({ pool: `${new URL(url).host}: ${reason}`, connection: reason });
});

test('the migration ends with one line', async () => {
  const env = { PATH: process.env.PATH, NODE_OPTIONS: '', DATABASE_URL: makeUrl('127.0.0.1', 'verify-full', 'own') };
  await expect(run(process.execPath, ['scripts/prisma/migrate-deploy.ts'], { env })).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^migration failed: Hostname\/IP does not match .*\n$/),
  });
});
