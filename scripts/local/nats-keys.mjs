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
]);
/** @typedef {(typeof NATS_USERS)[number]} NatsUser */
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
 * @throws {StartError} for an unknown user, or when `usersFile` is not complete.
 * @param {{ seedsFile: string, usersFile: string, renewed?: string[] }} options
 */
export function writeNatsKeys({ seedsFile, usersFile, renewed = [] }) {
  let seeds = readIfThere(seedsFile) ?? '';
  const users = readIfThere(usersFile) ?? NEW_USERS_FILE;
  const keys = keysIn(users);
  const unknown = renewed.filter((user) => !NATS_USERS.some((known) => known === user));
  if (unknown.length > 0) throw new StartError(`no such user: ${unknown.join(', ')}; there are ${NATS_USERS.join(', ')}`);
  if (renewed.length > 0 && NATS_USERS.some((user) => keys[user].length === 0))
    throw new StartError(`${usersFile} does not have a key of every user: run the command without names first`);
  for (const user of renewed.length > 0 ? NATS_USERS.filter((known) => renewed.includes(known)) : NATS_USERS) {
    const name = natsVariable(user, 'SEED');
    const seed = renewed.length > 0 ? createSeed() : variable(seeds, name) || createSeed();
    seeds = withVariable(seeds, name, seed);
    keys[user] = [...(renewed.length > 0 ? keys[user].slice(-1) : []), derivePublicKey(seed)];
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

/**
 * Public keys by user, the oldest first.
 * @param {string} text @returns {Record<NatsUser, string[]>}
 */
function keysIn(text) {
  const entries = [...text.matchAll(/nkey: (U\w+), permissions: \$([\w-]+)/g)];
  const listKeys = /** @param {NatsUser} user */ (user) => entries.flatMap(([, key = '', name]) => (name === user ? [key] : []));
  return /** @type {Record<NatsUser, string[]>} */ (Object.fromEntries(NATS_USERS.map((user) => [user, listKeys(user)])));
}

/** @param {Record<NatsUser, string[]>} keys */
function renderList(keys) {
  const entries = NATS_USERS.flatMap((user) => keys[user].map((key) => `    { nkey: ${key}, permissions: $${user} }\n`));
  return `users = [\n${entries.join('')}  ]`;
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
