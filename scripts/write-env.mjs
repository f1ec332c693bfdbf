/** Makes `.env` for docker-compose.yml out of `.env.example`: every empty setting gets a secret. Never overwrites one. */
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './local/project.mjs';

const example = readFileSync(join(ROOT, '.env.example'), 'utf8');
const filled = example.replace(/^([A-Z_]+)=$/gm, (_, name) => `${name}=s${randomBytes(32).toString('hex')}`);
try {
  writeFileSync(join(ROOT, '.env'), filled, { mode: 0o600, flag: 'wx' });
  console.log('wrote .env');
} catch (error) {
  if (error.code !== 'EEXIST') throw error;
  console.error('.env is there already: remove it first to make new secrets');
  process.exit(1);
}
