import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { nkeys } from 'nats';
import { NATS_USERS, natsVariable, writeNatsKeys } from './nats-keys.mjs';
import { createSeed, derivePublicKey } from './nkey.mjs';

let files: { folder: string; seedsFile: string; usersFile: string };
beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'nats-keys-'));
  files = { folder, seedsFile: join(folder, '.env'), usersFile: join(folder, 'nats-keys.conf') };
});
afterEach(() => rmSync(files.folder, { recursive: true }));

/** Public keys of the seeds, and those that the server accepts, by user. */
function state(): { own: Record<string, string>; accepted: unknown[] } {
  const [seeds, users] = [readFileSync(files.seedsFile, 'utf8'), readFileSync(files.usersFile, 'utf8')];
  const readSeed = (user: string): string => new RegExp(`^${natsVariable(user, 'SEED')}=(\\w+)$`, 'm').exec(seeds)?.[1] ?? '';
  const own = Object.fromEntries(NATS_USERS.map((user) => [user, derivePublicKey(readSeed(user))]));
  const accepted = [...users.matchAll(/^ {4}\{ nkey: (\w+), permissions: \$([\w-]+) \}$/gm)].map(([, key, user]) => [user, key]);
  return { own, accepted };
}

describe('a key', () => {
  test('is one of NATS’s own', () => {
    const seed = createSeed();
    const pair = nkeys.fromSeed(Buffer.from(seed));
    expect(derivePublicKey(seed)).toBe(pair.getPublicKey());
    expect(Buffer.from(pair.getSeed()).toString()).toBe(seed);
  });

  test.each(['', 'secret', 'SUAM', `SU${'A'.repeat(56)}`])('%j is no seed', (text) => {
    expect(() => derivePublicKey(text)).toThrow('not the seed of a NATS user');
  });
});

test('each user has a seed that only the owner can read, and its public key', () => {
  writeFileSync(files.seedsFile, 'PORT=8080\nNATS_CLI_SEED=\n', { mode: 0o600 });
  writeNatsKeys(files);
  const { own, accepted } = state();
  expect(accepted).toEqual(Object.entries(own));
  expect(readFileSync(files.seedsFile, 'utf8')).toMatch(/^PORT=8080\nNATS_CLI_SEED=SU\w{56}\nNATS_GATEWAY_SEED=/);
  expect(statSync(files.seedsFile).mode & 0o777).toBe(0o600);
  writeNatsKeys(files);
  expect(state()).toEqual({ own, accepted });
});

test('a renewed user has two keys, and one after that; the rest of the file stays', () => {
  writeNatsKeys(files);
  writeFileSync(files.usersFile, readFileSync(files.usersFile, 'utf8').concat('tls { verify: true }\n'));
  const before = state().own;
  writeNatsKeys({ ...files, renewed: ['billing'] });
  const { own, accepted } = state();
  expect(own).toEqual({ ...before, billing: expect.not.stringContaining(String(before.billing)) });
  const [gateway, billing, ...others] = Object.entries(before);
  expect(accepted).toEqual([gateway, billing, ['billing', own.billing], ...others]);
  writeNatsKeys(files);
  expect(state()).toEqual({ own, accepted: Object.entries(own) });
  expect(readFileSync(files.usersFile, 'utf8')).toContain('\ntls { verify: true }\n');
});

test.each([
  [['guest'], /^no such user: guest; there are gateway, /],
  [['billing'], /does not have a key of every user: run the command without names first$/],
])('%j: an unknown user, or one of no list, is refused and nothing is written', (renewed, message) => {
  expect(() => writeNatsKeys({ ...files, renewed })).toThrow(message);
  expect(() => statSync(files.seedsFile)).toThrow('ENOENT');
});

test('a service that is added has its own subjects, and stays', () => {
  writeNatsKeys({ ...files, services: ['gpu'] });
  const seed = /^NATS_GPU_SEED=(\w+)$/m.exec(readFileSync(files.seedsFile, 'utf8'))?.[1] ?? '';
  const line = `    { nkey: ${derivePublicKey(seed)}, permissions: { publish: "gateway.v1.item.*.by.gpu", subscribe: "_INBOX.service.gpu.>" } }\n`;
  expect(readFileSync(files.usersFile, 'utf8')).toContain(line);
  writeNatsKeys(files);
  expect(readFileSync(files.usersFile, 'utf8')).toContain(line);
  writeNatsKeys({ ...files, renewed: ['gpu'] });
  expect(readFileSync(files.usersFile, 'utf8').match(/by\.gpu"/g)).toHaveLength(2);
});

test.each(['gateway', 'service', 'A', 'a.b'])('%s is no name for a service', (name) => {
  expect(() => writeNatsKeys({ ...files, services: [name] })).toThrow(`${name} is no name for a service`);
});
