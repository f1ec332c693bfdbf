import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { findRoute, ROUTES, type RouteName } from '../../apps/panel/src/http/routes.js';

/** Checks apps/panel/openapi.json against the panel's sources. */

const text = readFileSync('apps/panel/openapi.json', 'utf8');

test('apps/panel/openapi.json is current (node scripts/panel-openapi.ts writes it)', () => {
  const { stdout, status } = spawnSync(process.execPath, ['scripts/panel-openapi.ts', '--print'], {
    encoding: 'utf8',
    maxBuffer: 16 * 1024 * 1024,
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  expect({ status, current: stdout === text }).toEqual({ status: 0, current: true });
});

test('every route is an operation, and there is no other', () => {
  const { paths } = JSON.parse(text) as { paths: Record<string, Record<string, { operationId: string }>> };
  const documented = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => `${operationId}: ${method.toUpperCase()} ${path}`),
  );
  const routed = (Object.keys(ROUTES) as RouteName[]).map((name) => {
    const { method, path } = findRoute(name);
    return `${name}: ${method} /panel/v1${path.replace(/:(\w+)/g, '{$1}')}`;
  });
  expect(documented.sort()).toEqual(routed.sort());
});
