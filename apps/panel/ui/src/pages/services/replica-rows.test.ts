import type { ReplicaStatus } from '../../../../src/shapes/catalog.js';
import { GONE_MS, missingServices, nameBuild, rememberReplicas } from './replica-rows.js';

const replica = (service: string, process: string, more: Partial<ReplicaStatus> = {}): ReplicaStatus => ({
  service,
  process,
  version: '0.2.0',
  commit: '0123456789abcdef',
  node: 'v24.1.0',
  startedAt: '2026-11-29T10:00:00.000Z',
  missing: [],
  ...more,
});
const LONE = { goneAt: null, sharedWith: [], isOtherBuild: false };

test('services of one process name one another', () => {
  const rows = rememberReplicas([], [replica('panel', 'a/1'), replica('billing', 'a/1'), replica('billing', 'b/1')], 0);
  expect(rows.map(({ service, process, sharedWith }) => [service, process, sharedWith])).toEqual([
    ['billing', 'a/1', ['panel']],
    ['billing', 'b/1', []],
    ['panel', 'a/1', ['billing']],
  ]);
});

test('the build of the process that started last is the one that others are compared with', () => {
  const old = replica('billing', 'a/1', { version: '0.1.0', startedAt: '2026-11-28T10:00:00.000Z' });
  const rows = rememberReplicas([], [old, replica('billing', 'b/1'), replica('panel', 'c/1')], 0);
  expect(rows.map(({ process, isOtherBuild }) => [process, isOtherBuild])).toEqual([
    ['a/1', true],
    ['b/1', false],
    ['c/1', false],
  ]);
});

test('a replica that no longer answers stays for ten minutes with the time at which it was missed', () => {
  const before = rememberReplicas([], [replica('billing', 'a/1'), replica('panel', 'c/1')], 0);
  const missed = rememberReplicas(before, [replica('panel', 'c/1')], 5_000);
  const gone = { ...replica('billing', 'a/1'), ...LONE, goneAt: 5_000 };
  const there = { ...replica('panel', 'c/1'), ...LONE };
  expect(missed).toEqual([gone, there]);
  expect(rememberReplicas(missed, [replica('panel', 'c/1')], 10_000)).toEqual([gone, there]);
  expect(rememberReplicas(missed, [replica('panel', 'c/1')], 5_000 + GONE_MS)).toEqual([there]);
});

test('a replica that started again in its place replaces the one before', () => {
  const before = rememberReplicas([], [replica('billing', 'a/1')], 0);
  const again = replica('billing', 'a/1', { startedAt: '2026-11-29T11:00:00.000Z' });
  expect(rememberReplicas(before, [again], 5_000)).toEqual([{ ...again, ...LONE }]);
});

test('a service without a replica that answers is missing, payments only after it was there', () => {
  const all = ['gateway', 'inference-proxy', 'billing', 'catalog', 'panel'].map((service) => replica(service, `${service}/1`));
  const rows = rememberReplicas([], [...all, replica('payments', 'p/1')], 0);
  const without = (...services: string[]) => [...all, replica('payments', 'p/1')].filter(({ service }) => !services.includes(service));
  expect([
    missingServices(rememberReplicas([], all, 0)),
    missingServices(rememberReplicas([], all.slice(1), 0)),
    missingServices(rememberReplicas(rows, without('payments', 'catalog'), 0)),
  ]).toEqual([[], ['gateway'], ['catalog', 'payments']]);
});

test.each([
  ['0123456789abcdef', '0.2.0 01234567'],
  ['0123456789abcdef-dirty', '0.2.0 01234567-dirty'],
  ['', '0.2.0'],
])('a build of the commit "%s" is %s', (commit, name) => {
  expect(nameBuild({ version: '0.2.0', commit })).toBe(name);
});
