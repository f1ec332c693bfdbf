/**
 * Writes `.env` for docker-compose.yml from `.env.example`, with a secret for every empty setting, and the public keys of the NATS users.
 * A `.env` that exists only gets the settings that it lacks.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeNatsKeys } from './local/nats-keys.mjs';
import { ROOT } from './local/project.mjs';

const FILE = join(ROOT, '.env');

const example = readFileSync(join(ROOT, '.env.example'), 'utf8');
const isNew = !existsSync(FILE);
const before = isNew ? '' : readFileSync(FILE, 'utf8').trimEnd();
const parseName = /** @param {string} line */ (line) => /^([A-Z_]+)=/.exec(line)?.[1];
const present = new Set(before.split('\n').map(parseName));
const added = isNew
  ? example.trimEnd().split('\n')
  : example.split('\n').filter((line) => parseName(line) && !present.has(parseName(line)));
writeFileSync(FILE, `${[...(isNew ? [] : [before]), ...added.map(filled)].join('\n')}\n`, { mode: 0o600 });
writeNatsKeys({ seedsFile: FILE, usersFile: join(ROOT, 'config/nats-keys.conf') });
console.log(isNew ? 'wrote .env' : `.env exists; added ${added.map(parseName).join(', ') || 'nothing'}`);

/**
 * Seeds have a form of their own: they stay empty here.
 * @param {string} line
 */
function filled(line) {
  return /^[A-Z_]+(?<!_SEED)=$/.test(line) ? `${line}s${randomBytes(32).toString('hex')}` : line;
}
