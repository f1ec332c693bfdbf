/** Writes `.env` for docker-compose.yml from `.env.example`, with a secret for every empty setting. Never overwrites `.env`. */
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
  console.error('.env exists: remove it first to create new secrets');
  process.exit(1);
}
