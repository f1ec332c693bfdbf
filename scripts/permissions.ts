// Writes docs/permissions.md: who may call each subject and each route, what it writes to a journal, and what it may cost. With --print to
// standard output.

import { readFileSync, writeFileSync } from 'node:fs';
import { parse } from 'yaml';
import { ROUTES } from '../apps/panel/src/http/routes.ts';
import { ROUTE_CALLERS, ROUTE_PLACES } from '../apps/panel/test/route-callers.ts';
import { ROUTE_RECORDS } from '../apps/panel/test/route-records.ts';
import { readContracts } from './asyncapi/contracts.ts';
import { readUsers } from './asyncapi/nats-users.ts';
import { permissionsPage } from './permissions/page.ts';

const read = (file: string) => parse(readFileSync(file, 'utf8'));
const page = permissionsPage({
  contracts: readContracts().contracts,
  users: readUsers(readFileSync('config/nats.conf', 'utf8')),
  panel: { ROUTES, ROUTE_CALLERS, ROUTE_PLACES, ROUTE_RECORDS },
  costs: read('scripts/permissions/costs.yaml'),
  records: read('scripts/permissions/records.yaml'),
});
if (process.argv.includes('--print')) process.stdout.write(page);
else writeFileSync('docs/permissions.md', page);
