import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { everyEndpoint, everyStreamEndpoint } from '#contracts/every-contract.js';
import { ROUTES } from '../../apps/panel/src/http/routes.js';

/** Checks docs/permissions.md, the matrix of every subject and every route of the panel. */

const page = readFileSync('docs/permissions.md', 'utf8');

test('docs/permissions.md is current (node scripts/permissions.ts writes it)', () => {
  const { stdout, stderr, status } = spawnSync(process.execPath, ['scripts/permissions.ts', '--print'], {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  expect({ status, faults: status === 0 ? '' : stderr, current: stdout === page }).toEqual({ status: 0, faults: '', current: true });
});

test('it has every subject and every route, with a user or role that may call it and its cost', () => {
  const rows = [...page.matchAll(/^\| `([^`]+)` \| (.+) \|$/gm)].map(([, name, cells = '']) => ({ name, cells: cells.split(' | ') }));
  const subjects = [...everyEndpoint, ...everyStreamEndpoint].map(({ subject }) => subject);
  const routes = Object.values(ROUTES).map(({ method, path }) => `${method} ${path}`);
  expect(rows.map(({ name }) => name).sort()).toEqual([...subjects, ...routes].sort());
  expect(rows.filter(({ cells }) => cells.some((cell) => cell === ''))).toEqual([]);
});
