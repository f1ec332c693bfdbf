import { readFileSync } from 'node:fs';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Controller } from '@nestjs/common';
import { Registry } from 'prom-client';
import { Endpoint } from '#contracts/endpoint.js';
import { freePort, startNatsServer, type TestNatsServer } from '#testing/nats-server.js';
import { TestAuthority, type TestCertificate } from '#testing/test-certificates.js';
import { Connections, CountRequest, eventually, serve } from '../testing/test-services.js';
import { MessagingError } from './messaging.js';
import type { NatsMessaging } from './nats-messaging.js';
import { Serves } from './serves.js';

const HOSTS = ['127.0.0.1'];

let folder: string;
let servers: TestNatsServer[];
let connections: Connections;
const inFolder = (name: string): string => join(folder, name);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tollgate-nats-'));
  servers = [];
  connections = new Connections(() => servers[0]?.url ?? '');
});

afterEach(async () => {
  await connections.closeAll();
  for (const server of servers) await server.stop();
  await rm(folder, { recursive: true });
});

async function startServer(configuration: string): Promise<TestNatsServer> {
  await writeFile(inFolder('server.conf'), configuration);
  const server = await startNatsServer(['-c', inFolder('server.conf')]);
  servers.push(server);
  return server;
}

describe('TLS', () => {
  const authority = new TestAuthority('Ours');
  const other = new TestAuthority('Another');
  const client = { caFile: 'ca.pem', certFile: 'client.pem', keyFile: 'client.key' };

  /** Writes the certificates of a server, a client, and the authority that both trust. */
  async function writeCertificates(own: TestCertificate, ofClient: TestCertificate, trusted: TestAuthority): Promise<void> {
    await writeFile(inFolder('server.pem'), own.cert);
    await writeFile(inFolder('server.key'), own.key);
    await writeFile(inFolder('client.pem'), ofClient.cert);
    await writeFile(inFolder('client.key'), ofClient.key);
    await writeFile(inFolder('ca.pem'), trusted.cert);
  }

  const tls = (rest = '') => `tls { cert_file: "${inFolder('server.pem')}", key_file: "${inFolder('server.key')}" ${rest} }`;
  const verifying = () => tls(`, ca_file: "${inFolder('ca.pem')}", verify: true`);
  const files = (names: Partial<typeof client> = client) =>
    Object.fromEntries(Object.entries(names).map(([name, file]) => [name, inFolder(file)]));

  test('a server that verifies certificates accepts ours; renewed ones are used at the next connect', async () => {
    const issueFrom = (from: TestAuthority) =>
      writeCertificates(from.issue('server', { hosts: HOSTS }), from.issue('client', { hosts: ['client'] }), from);
    await issueFrom(authority);
    const server = await startServer(verifying());
    const messaging = await connections.connect('caller', files());
    const again = new Promise<void>((resolve) => messaging.onReconnect(resolve));
    await issueFrom(other);
    await server.restart();
    await again;
    expect(messaging.connected).toBe(true);
  });

  test.each<[name: string, server: () => string, certificate: () => TestCertificate, trusted: TestAuthority, reason: RegExp]>([
    ['without TLS', () => '', () => authority.issue('server'), authority, /^the NATS server offers no TLS, which the settings require$/],
    [
      'of another authority',
      tls,
      () => other.issue('server', { hosts: HOSTS }),
      authority,
      /^the certificate of the NATS server is not accepted: unable to (verify the first|get local issuer) certificate/,
    ],
    [
      'with an expired certificate',
      tls,
      () => authority.issue('server', { hosts: HOSTS, isExpired: true }),
      authority,
      /^the certificate of the NATS server is not accepted: certificate has expired$/,
    ],
    [
      'with the certificate of another host',
      tls,
      () => authority.issue('server', { hosts: ['10.0.0.1'] }),
      authority,
      /^the certificate of the NATS server is not accepted: .* is not in the cert's list/,
    ],
  ])('a server %s is refused with one line', async (_, server, certificate, trusted, reason) => {
    await writeCertificates(certificate(), authority.issue('client'), trusted);
    await startServer(server());
    const refused = await connections.connect('caller', { ...files({ caFile: 'ca.pem' }), connectTimeoutMs: 1 }).catch((error) => error);
    expect(refused).toBeInstanceOf(MessagingError);
    expect(refused.message).toMatch(reason);
  });

  test('a certificate that has expired when the connection is lost is the reason in the log', async () => {
    await writeCertificates(authority.issue('server', { hosts: HOSTS }), authority.issue('client'), authority);
    const server = await startServer(tls());
    const reasons: string[] = [];
    const note = (_fields: object, message: string): number => reasons.push(message);
    const logger = { error: note, warn: () => undefined, info: () => undefined } as never;
    await connections.connect('caller', { ...files({ caFile: 'ca.pem' }), logger });
    await writeCertificates(authority.issue('server', { hosts: HOSTS, isExpired: true }), authority.issue('client'), authority);
    await server.restart();
    await eventually(() => reasons.length > 0);
    expect(reasons).toEqual(['the certificate of the NATS server is not accepted: certificate has expired']);
  });

  test('a client certificate that the server does not accept is named as the likely reason', async () => {
    await writeCertificates(authority.issue('server', { hosts: HOSTS }), other.issue('client'), authority);
    await startServer(verifying());
    await expect(connections.connect('caller', { ...files(), connectTimeoutMs: 1 })).rejects.toThrow(
      'no answer from NATS: it may refuse the client certificate, which ends the connection without an error',
    );
  }, 30_000);
});

/** Billing serves it and the gateway may call it, by the permissions of config/nats.conf. */
const ask = new Endpoint<CountRequest, { doubled: number }>('billing.v1.balance.get', CountRequest, { about: 'Doubles a number' });
const forbidden = new Endpoint<CountRequest, object>('billing.v1.account.create', CountRequest, { about: 'Creates money' });

@Controller()
class Answering {
  @Serves(ask) async double({ count }: CountRequest): Promise<{ doubled: number }> {
    await delay(2); // so that a replica that goes has requests under way
    return { doubled: 2 * count };
  }
}

describe('NKeys', () => {
  const usersFile = (): string => inFolder('nats-keys.conf');
  const seedsFile = (): string => inFolder('.env');

  /** Makes keys as an operator does. */
  async function makeKeys(...renewed: string[]): Promise<void> {
    const { writeNatsKeys } = await import('../../../scripts/local/nats-keys.mjs');
    writeNatsKeys({ seedsFile: seedsFile(), usersFile: usersFile(), renewed });
  }

  function readSeed(user: string): string {
    return new RegExp(`^NATS_${user.toUpperCase()}_SEED=(.*)$`, 'm').exec(readFileSync(seedsFile(), 'utf8'))?.[1] ?? '';
  }

  async function startWithKeys(configuration = usersFile(), environment = {}): Promise<TestNatsServer> {
    await copyFile(new URL('../../../config/nats.conf', import.meta.url), inFolder('nats.conf'));
    await makeKeys();
    const server = await startNatsServer(['-c', configuration], environment);
    servers.push(server);
    return server;
  }

  const connectWith = (user: string, seed: string, options = {}): Promise<NatsMessaging> =>
    connections.connect(user, { password: undefined, seed, closeGraceMs: 5_000, ...options });

  /** Resolves when the server refuses this seed. */
  async function untilRefused(user: string, seed: string): Promise<void> {
    for (;;) {
      const refusal = await connectWith(user, seed, { connectTimeoutMs: 60_000 }).then(
        (messaging) => messaging.close(),
        ({ message }: MessagingError) => message,
      );
      if (refusal === `NATS authentication failed for user "${user}": the server does not know its key`) return;
    }
  }

  test('a key has the permissions of its user', async () => {
    await startWithKeys();
    await serve(await connectWith('billing', readSeed('billing')), [Answering], { name: 'billing' });
    const gateway = await connectWith('gateway', readSeed('gateway'));
    expect(await gateway.request(ask, { count: 4 })).toEqual({ doubled: 8 });
    await expect(gateway.request(forbidden, { count: 4 })).rejects.toThrow('Publishing to billing.v1.account.create is not permitted.');
  });

  test('a server of components/nats-cluster takes new keys without a restart', async () => {
    const port = await freePort();
    const cluster = await readFile(new URL('../../../k8s/components/nats-cluster/nats-cluster.conf', import.meta.url), 'utf8');
    await writeFile(inFolder('nats-cluster.conf'), cluster.replace('0.0.0.0:6222', `127.0.0.1:${port}`));
    const routes = `[nats://routes:secret@127.0.0.1:${port}]`;
    const environment = { POD_NAME: 'nats-0', NATS_ROUTES_PASSWORD: 'secret', NATS_ROUTES: routes };
    const server = await startWithKeys(inFolder('nats-cluster.conf'), environment);
    await makeKeys('gateway');
    server.reload();
    const gateway = await connectWith('gateway', readSeed('gateway'));
    expect(gateway.connected).toBe(true);
  });

  test('a service whose key is removed goes on with the new seed of its file, without a restart', async () => {
    const server = await startWithKeys();
    const seedFile = inFolder('seed');
    await writeFile(seedFile, readSeed('gateway'));
    const gateway = await connections.connect('gateway', { password: undefined, seedFile });
    const again = new Promise<void>((resolve) => gateway.onReconnect(resolve));
    await makeKeys('gateway');
    await writeFile(seedFile, readSeed('gateway'));
    await makeKeys();
    server.reload();
    await again;
    expect(gateway.connected).toBe(true);
  });

  test('the keys of caller and service are replaced under load without a failed request', async () => {
    const server = await startWithKeys();
    const old = { gateway: readSeed('gateway'), billing: readSeed('billing') };
    const startReplica = async () => {
      const messaging = await connectWith('billing', readSeed('billing'));
      return { messaging, app: await serve(messaging, [Answering], { name: 'billing' }) };
    };
    const before = [await startReplica(), await startReplica()];
    let gateway = await connectWith('gateway', old.gateway);
    let [answers, isOver] = [0, false];
    const load = Array.from({ length: 3 }, async () => {
      for (; !isOver; answers++) expect(await gateway.request(ask, { count: answers })).toEqual({ doubled: expect.any(Number) });
    });
    const traffic = Promise.all(load); // rejects with the first failed request
    const someMore = async (): Promise<void> => {
      const until = answers + 50;
      await Promise.race([traffic, eventually(() => answers >= until)]);
    };

    const replaceKeys = async (): Promise<void> => {
      await someMore();
      await makeKeys('gateway', 'billing');
      server.reload();
      for (let count = 0; count < 2; count++) await startReplica(); // tries until the server knows the new key
      for (const { app, messaging } of before) {
        await app.close();
        await messaging.close();
        await someMore();
      }
      const first = gateway;
      gateway = await connectWith('gateway', readSeed('gateway'));
      await first.close();
      await someMore();
      await makeKeys();
      server.reload();
      await untilRefused('gateway', old.gateway);
      await untilRefused('billing', old.billing);
      await someMore();
    };
    await Promise.race([traffic, replaceKeys()]).finally(() => {
      isOver = true;
    });
    await traffic;
  });
});

describe('metrics', () => {
  const readValues = async (registry: Registry): Promise<Record<string, number | undefined>> =>
    Object.fromEntries((await registry.getMetricsAsJSON()).map(({ name, values }) => [name, values[0]?.value]));

  test('show the state, the round trip, reconnects and lame-duck notices', async () => {
    const server = await startServer('lame_duck_grace_period: 10s, lame_duck_duration: 30s');
    const registry = new Registry();
    const messaging = await connections.connect('caller', { registry });
    expect(await readValues(registry)).toEqual({
      tollgate_nats_connected: 1,
      tollgate_nats_round_trip_seconds: expect.any(Number),
      tollgate_nats_reconnects_total: 0,
      tollgate_nats_lame_duck_notices_total: 0,
      tollgate_nats_messages_waiting: 0,
      tollgate_nats_streams_without_credit: 0,
      tollgate_nats_running: 0,
    });
    const again = new Promise<void>((resolve) => messaging.onReconnect(resolve));
    await server.kill();
    await eventually(() => !messaging.connected);
    expect(await readValues(registry)).toMatchObject({ tollgate_nats_connected: 0, tollgate_nats_round_trip_seconds: 0 });
    await server.restart();
    await again;
    server.drain();
    const noticed = async () => (await readValues(registry)).tollgate_nats_lame_duck_notices_total === 1;
    while (!(await noticed())) await delay(5);
    expect(await readValues(registry)).toMatchObject({ tollgate_nats_connected: 1, tollgate_nats_reconnects_total: 1 });
    expect((await readValues(registry)).tollgate_nats_round_trip_seconds).toBeGreaterThan(0);
  });
});
