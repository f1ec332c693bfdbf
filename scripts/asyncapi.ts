// Writes docs/asyncapi.yaml from the contracts and config/nats.conf, or with --print to standard output.

import { readFileSync, writeFileSync } from 'node:fs';
import { stringify } from 'yaml';
import { readContracts } from './asyncapi/contracts.ts';
import { asyncApiDocument } from './asyncapi/document.ts';
import { readUsers } from './asyncapi/nats-users.ts';

const PAGE = 'docs/asyncapi.yaml';
const HEAD = '# Generated from libs/contracts and config/nats.conf by scripts/asyncapi.ts.\n';

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const document = asyncApiDocument(readContracts(), readUsers(readFileSync('config/nats.conf', 'utf8')), version);
const page = HEAD + stringify(document, { lineWidth: 0, aliasDuplicateObjects: false });
if (process.argv.includes('--print')) process.stdout.write(page);
else writeFileSync(PAGE, page);
