import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { natsVariable, PASSWORD_USERS, type PasswordUser } from './nats-keys.mjs';
import { StartError } from './project.mjs';

/** Services with tables, each with its own database user. */
export const DATABASE_SERVICES = ['billing', 'catalog', 'panel', 'payments'] as const;

export type DatabaseService = (typeof DATABASE_SERVICES)[number];

export interface Secrets {
  natsPasswords: Record<PasswordUser, string>;
  keyPepper: string;
  receiptSigningKey: string;
  postgresPassword: string;
  servicePasswords: Record<DatabaseService, string>;
}

/** Variable of a user's password in config/nats-passwords.conf, such as `NATS_INFERENCE_PROXY_PASSWORD`. */
export function passwordVariable(user: string): string {
  return natsVariable(user, 'PASSWORD');
}

/** Returns a value for each of `names`. */
export function byName<Name extends string, Value>(names: readonly Name[], value: (name: Name) => Value): Record<Name, Value> {
  return Object.fromEntries(names.map((name) => [name, value(name)])) as Record<Name, Value>;
}

/** Secrets of a local installation, created at its first start in `secrets.json` (mode 0600). */
export function loadSecrets(dataDir: string): Secrets {
  const file = join(dataDir, 'secrets.json');
  const kept = readPrivate<Secrets>(file);
  const secrets: Secrets = {
    natsPasswords: byName(PASSWORD_USERS, (user) => kept.natsPasswords?.[user] ?? secret()),
    keyPepper: kept.keyPepper ?? secret(),
    receiptSigningKey: kept.receiptSigningKey ?? secret(),
    postgresPassword: kept.postgresPassword ?? secret(),
    servicePasswords: byName(DATABASE_SERVICES, (name) => kept.servicePasswords?.[name] ?? secret()),
  };
  writePrivate(file, secrets);
  return secrets;
}

/** Reads a file of `writePrivate`; `{}` for a missing file. @throws {StartError} when it is not JSON. */
export function readPrivate<Value>(file: string): Partial<Value> {
  if (!existsSync(file)) return {};
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) throw new StartError(`${file} is not JSON: restore it, or start with --reset`);
    throw error;
  }
}

/** Writes JSON that only the owner may read, atomically. */
export function writePrivate(file: string, value: unknown): void {
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  renameSync(draft, file);
}

/** Letters and digits only, so that it needs no quoting in URLs and configuration files. */
function secret(): string {
  return `s${randomBytes(32).toString('hex')}`;
}
