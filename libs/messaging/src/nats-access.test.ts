import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nkeys } from 'nats';
import { ConfigError, loadConfig } from '#config/load-config.js';
import { ServiceConfig } from '#config/service-config.js';
import { accessOptions, checkAccess, natsAccess, natsCertificates, requiresTls } from './nats-access.js';

const SEED = Buffer.from(nkeys.createUser().getSeed()).toString();
const ACCESS = { url: 'nats://127.0.0.1:4222', user: 'gateway' };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nats-access-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const load = (variables: Record<string, string>) => loadConfig(ServiceConfig, { NATS_USER: 'gateway', ...variables });

test('settings that are not set are absent', () => {
  expect(natsAccess(load({ NATS_PASSWORD: 'secret' }))).toEqual({ ...ACCESS, password: 'secret' });
  const files = { NATS_SEED_FILE: '/seed', NATS_CA_FILE: '/ca', NATS_CERT_FILE: '/cert', NATS_KEY_FILE: '/key', NATS_PASSWORD: '' };
  expect(natsAccess(load(files))).toEqual({ ...ACCESS, seedFile: '/seed', caFile: '/ca', certFile: '/cert', keyFile: '/key' });
});

test('the certificates of a connection are those of the authorities and our own', () => {
  const names = (variables: Record<string, string>) => natsCertificates(load({ NATS_PASSWORD: 'x', ...variables })).map(({ name }) => name);
  expect([names({}), names({ NATS_CA_FILE: '/ca', NATS_CERT_FILE: '/cert', NATS_KEY_FILE: '/key' })]).toEqual([[], ['/ca', '/cert']]);
});

test('a service needs a password or a seed', () => {
  expect(() => load({})).toThrow(new ConfigError('NATS_PASSWORD: set this, or NATS_SEED, or NATS_SEED_FILE'));
  for (const name of ['NATS_PASSWORD', 'NATS_SEED', 'NATS_SEED_FILE']) expect(() => load({ [name]: 'x' })).not.toThrow();
});

test.each<[string, Partial<Parameters<typeof requiresTls>[0]>, boolean]>([
  ['neither files nor scheme', { url: 'nats://a,nats://b' }, false],
  ['the scheme tls of any server', { url: 'nats://a, tls://b' }, true],
  ['an authority', { caFile: '/ca' }, true],
  ['a client certificate', { certFile: '/cert' }, true],
])('with %s, a server without TLS is refused or not', (_, access, required) => {
  expect(requiresTls({ ...ACCESS, ...access })).toBe(required);
});

test.each<[string, object, string]>([
  ['a file that is not there', { seed: SEED, caFile: '/missing/ca.pem' }, 'cannot read /missing/ca.pem: ENOENT'],
  ['a seed file that is not there', { seedFile: '/missing/seed' }, 'cannot read /missing/seed: ENOENT'],
  ['a text that is no seed', { seed: 'SUAM' }, 'the seed of NATS user "gateway" is not the seed of an NKey'],
  ['a certificate without its key', { certFile: '/dev/null' }, 'a client certificate for NATS needs its key, and a key its certificate'],
])('%s ends the start with one line, without the secret', (_, access, message) => {
  expect(() => checkAccess({ ...ACCESS, ...access })).toThrow(new ConfigError(message));
});

test('a new seed in the file is used at the next connect; a broken file is passed over', () => {
  const seedFile = join(folder, 'seed');
  const seeds = [nkeys.createUser(), nkeys.createUser()];
  const write = (index: number): void => writeFileSync(seedFile, `${Buffer.from(seeds[index]?.getSeed() ?? '')}\n`);
  write(0);
  const { authenticator } = accessOptions({ ...ACCESS, seedFile });
  const signIn = (): unknown => [authenticator].flat()[0]?.('nonce');
  const used = [signIn()];
  writeFileSync(seedFile, 'half a se');
  used.push(signIn());
  write(1);
  used.push(signIn());
  expect(used).toMatchObject([0, 0, 1].map((index) => ({ nkey: seeds[index]?.getPublicKey() })));
});
