import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StartError } from './project.mjs';

/** Users of config/nats.conf. */
export const NATS_USERS = ['gateway', 'billing', 'catalog', 'inference-proxy', 'panel', 'cli', 'internal'];

/** Services with tables, each with its own database user. */
export const DATABASE_SERVICES = ['billing', 'catalog', 'panel'];

/** Variable of a user's password in config/nats-passwords.conf, such as `NATS_INFERENCE_PROXY_PASSWORD`. */
export function passwordVariable(user) {
  return natsVariable(user, 'PASSWORD');
}

/** Variable of a user's secret: `SEED` or `PASSWORD`. */
export function natsVariable(user, secret) {
  return `NATS_${user.toUpperCase().replaceAll('-', '_')}_${secret}`;
}

/** Secrets of a local installation, created at its first start in `secrets.json` (mode 0600). */
export function loadSecrets(dataDir) {
  const file = join(dataDir, 'secrets.json');
  const kept = readPrivate(file);
  const secrets = {
    natsPasswords: Object.fromEntries(NATS_USERS.map((user) => [user, kept.natsPasswords?.[user] ?? secret()])),
    keyPepper: kept.keyPepper ?? secret(),
    postgresPassword: kept.postgresPassword ?? secret(),
    servicePasswords: Object.fromEntries(DATABASE_SERVICES.map((name) => [name, kept.servicePasswords?.[name] ?? secret()])),
  };
  writePrivate(file, secrets);
  return secrets;
}

/** Reads a file of `writePrivate`; `{}` for a missing file. @throws {StartError} when it is not JSON. */
export function readPrivate(file) {
  if (!existsSync(file)) return {};
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) throw new StartError(`${file} is not JSON: restore it, or start with --reset`);
    throw error;
  }
}

/** Writes JSON that only the owner may read, atomically. */
export function writePrivate(file, value) {
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  renameSync(draft, file);
}

/** Letters and digits only, so that it needs no quoting in URLs and configuration files. */
function secret() {
  return `s${randomBytes(32).toString('hex')}`;
}
