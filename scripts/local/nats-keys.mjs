import { readFileSync, writeFileSync } from 'node:fs';
import { createSeed, derivePublicKey } from './nkey.mjs';
import { StartError } from './project.mjs';

/** Users of config/nats.conf. */
export const NATS_USERS = /** @type {const} */ ([
  'gateway',
  'billing',
  'catalog',
  'inference-proxy',
  'panel',
  'payments',
  'cli',
  'internal',
  'policy',
]);
/** The users of config/nats-passwords.conf: the example of an internal service too. */
export const PASSWORD_USERS = /** @type {const} */ ([...NATS_USERS, 'crawler']);
/** @typedef {(typeof NATS_USERS)[number]} NatsUser */
/** @typedef {(typeof PASSWORD_USERS)[number]} PasswordUser */
/** As in libs/contracts/src/rules/bounds.ts. */
const SERVICE_NAME = /^[a-z][a-z0-9-]{0,31}$/;
const NEW_USERS_FILE = `# Users of Tollgate on NATS by their public keys, which are no secrets. scripts/nats-keys.mjs writes the list; the rest is yours.
# Address and port come from the command line: nats-server -c nats-keys.conf -a 127.0.0.1 -p 4222
authorization {
  include ./nats.conf
  users = []
}
`;
const LIST = /users = \[[^\]]*\]/;

/**
 * Writes keys of NATS users: seeds as variables of `seedsFile`, public keys in `usersFile`, which nats-server reads. Users in `renewed` get
 * a new seed, and the key before it stays valid. With none, users without a seed get one, and only the keys of seeds are valid.
 * `services` are internal services to add: users that may bill items of their own. Those in `usersFile` stay.
 * @throws {StartError} for an unknown user, for a service with a name of Tollgate's own, or when `usersFile` is not complete.
 * @param {{ seedsFile: string, usersFile: string, renewed?: string[], services?: string[] }} options
 */
export function writeNatsKeys({ seedsFile, usersFile, renewed = [], services = [] }) {
  let seeds = readIfThere(seedsFile) ?? '';
  const users = readIfThere(usersFile) ?? NEW_USERS_FILE;
  checkServices(services);
  const names = [...new Set([...NATS_USERS, ...servicesIn(users), ...services])];
  const keys = keysIn(users, names);
  const unknown = renewed.filter((user) => !names.includes(user));
  if (unknown.length > 0) throw new StartError(`no such user: ${unknown.join(', ')}; there are ${names.join(', ')}`);
  if (renewed.length > 0 && names.some((user) => keys[user]?.length === 0))
    throw new StartError(`${usersFile} does not have a key of every user: run the command without names first`);
  for (const user of renewed.length > 0 ? names.filter((known) => renewed.includes(known)) : names) {
    const name = natsVariable(user, 'SEED');
    const seed = renewed.length > 0 ? createSeed() : variable(seeds, name) || createSeed();
    seeds = withVariable(seeds, name, seed);
    keys[user] = [...(renewed.length > 0 ? (keys[user] ?? []).slice(-1) : []), derivePublicKey(seed)];
  }
  writeFileSync(seedsFile, seeds, { mode: 0o600 });
  // In place: a container that mounts the file would keep seeing a replaced one.
  writeFileSync(
    usersFile,
    users.replace(LIST, () => renderList(keys)),
  );
}

/**
 * Variable of a user's secret, such as `NATS_INFERENCE_PROXY_PASSWORD`.
 * @param {string} user @param {'SEED' | 'PASSWORD'} secret
 */
export function natsVariable(user, secret) {
  return `NATS_${user.toUpperCase().replaceAll('-', '_')}_${secret}`;
}

/** @param {string[]} services */
function checkServices(services) {
  const wrong = services.find((name) => !SERVICE_NAME.test(name) || name === 'service' || NATS_USERS.some((user) => user === name));
  if (wrong === undefined) return;
  throw new StartError(
    `${wrong} is no name for a service: take up to 32 lower-case letters, digits and hyphens, and no name of Tollgate's own`,
  );
}

/** A user of the list: one of Tollgate's own, or a service with its own subjects. */
const USER = /nkey: (U\w+), permissions: (?:\$([\w-]+)|\{ publish: "gateway\.v1\.item\.\*\.by\.([\w-]+)")/g;

/** @param {string} text */
function servicesIn(text) {
  return [...text.matchAll(USER)].flatMap(([, , , service]) => service ?? []);
}

/**
 * Public keys by user, the oldest first.
 * @param {string} text @param {string[]} users @returns {Record<string, string[]>}
 */
function keysIn(text, users) {
  const entries = [...text.matchAll(USER)];
  const listKeys = /** @param {string} user */ (user) =>
    entries.flatMap(([, key = '', name, service]) => ((name ?? service) === user ? [key] : []));
  return Object.fromEntries(users.map((user) => [user, listKeys(user)]));
}

/** @param {Record<string, string[]>} keys */
function renderList(keys) {
  const entries = Object.entries(keys).flatMap(([user, ofUser]) =>
    ofUser.map((key) => `    { nkey: ${key}, permissions: ${renderPermissions(user)} }\n`),
  );
  return `users = [\n${entries.join('')}  ]`;
}

/** @param {string} user */
function renderPermissions(user) {
  if (NATS_USERS.some((known) => known === user)) return `$${user}`;
  return `{ publish: "gateway.v1.item.*.by.${user}", subscribe: "_INBOX.service.${user}.>" }`;
}

/** @param {string} text @param {string} name */
function variable(text, name) {
  return new RegExp(`^${name}=(.*)$`, 'm').exec(text)?.[1];
}

/**
 * The text with the variable set in its place, or at the end.
 * @param {string} text @param {string} name @param {string} value
 */
function withVariable(text, name, value) {
  const line = `${name}=${value}`;
  if (variable(text, name) !== undefined) return text.replace(new RegExp(`^${name}=.*$`, 'm'), line);
  return `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${line}\n`;
}

/**
 * Undefined for a missing file.
 * @param {string} file
 */
function readIfThere(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return undefined;
    throw error;
  }
}
