import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectMessaging } from '#messaging/connect-messaging.js';
import { createLogger } from '#observability/logger.js';
import { startNatsServer, type TestNatsServer } from '#testing/nats-server.js';
import { createTenant, untilNoHolds } from '#testing/tenant.js';
import { NATS_USERS, natsVariable, writeNatsKeys } from '../../scripts/local/nats-keys.mjs';
import { ManyReplicas } from './many-replicas.js';
import { SteadyTraffic } from './steady-traffic.js';

/** The users whose replicas sign in with keys. The others of the system use passwords beside them. */
const USERS = ['gateway', 'billing', 'inference-proxy', 'catalog'];

const folder = mkdtempSync(join(tmpdir(), 'nats-keys-'));
const [seedsFile, usersFile] = [join(folder, '.env'), join(folder, 'nats-keys.conf')];
const passwords = Object.fromEntries(NATS_USERS.map((user) => [natsVariable(user, 'PASSWORD'), 'secret']));
const usersWithPasswords = /users = \[\n([^\]]*)\n {2}\]/.exec(readFileSync('config/nats-passwords.conf', 'utf8'))?.[1];
const seedFile = (user: string): string => join(folder, user);

let nats: TestNatsServer;
let system: ManyReplicas;
beforeAll(async () => {
  copyFileSync('config/nats.conf', join(folder, 'nats.conf'));
  makeKeys();
  Object.assign(process.env, passwords); // where a start with `natsUrl` reads them
  nats = await startNatsServer(['-c', usersFile], passwords);
  system = await ManyReplicas.start({ layout: 'split', natsUrl: nats.url, makeEnv: (service) => ({ NATS_SEED_FILE: seedFile(service) }) });
}, 120_000);
afterAll(async () => {
  await system?.stop();
  await nats?.stop();
  rmSync(folder, { recursive: true });
}, 60_000);

/** Makes keys as an operator does, and brings the seeds to the replicas. */
function makeKeys(...renewed: string[]): void {
  writeNatsKeys({ seedsFile, usersFile, renewed });
  writeFileSync(usersFile, readFileSync(usersFile, 'utf8').replace('users = [\n', `$&${usersWithPasswords}\n`));
  for (const user of USERS) writeFileSync(seedFile(user), readSeed(user));
}

function readSeed(user: string): string {
  return new RegExp(`^${natsVariable(user, 'SEED')}=(.*)$`, 'm').exec(readFileSync(seedsFile, 'utf8'))?.[1] ?? '';
}

/** Resolves when the server accepts the seed, or refuses it. */
async function until(outcome: 'accepted' | 'refused', user: string, seed: string): Promise<void> {
  for (;;) {
    const connection = { url: nats.url, user, seed, service: user, logger: createLogger('test', 'silent'), connectTimeoutMs: 10_000 };
    const messaging = await connectMessaging(connection).catch(() => undefined);
    await messaging?.close();
    if ((messaging === undefined) === (outcome === 'refused')) return;
  }
}

test('the keys of four users are replaced under traffic, and no request in any format fails', async () => {
  const tenant = await createTenant(system.administrator);
  const old = Object.fromEntries(USERS.map((user) => [user, readSeed(user)]));
  const traffic = new SteadyTraffic(system.gatewayUrls, tenant);
  makeKeys(...USERS);
  nats.reload();
  for (const user of USERS) await until('accepted', user, readSeed(user));
  for (const name of system.names) await traffic.without(name, () => system.replace(name));
  makeKeys();
  nats.reload();
  for (const user of USERS) await until('refused', user, old[user] ?? '');
  await system.ask(tenant.apiKey, 0, 'tokens=10');
  const stories = await traffic.stop();
  const failures = stories.filter(({ outcome }) => outcome.kind !== 'completed');
  expect(failures.map(({ name, ask, outcome }) => ({ name, stream: ask.stream, outcome }))).toEqual([]);
  expect(stories.length).toBeGreaterThan(100);
  await untilNoHolds(system.administrator, tenant.accountId, 10_000);
}, 300_000);
