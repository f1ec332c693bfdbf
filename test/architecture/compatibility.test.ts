import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { readChangelog } from '../../scripts/changelog/read-fragments.ts';
import { compareInterfaces } from '../../scripts/compatibility/compare-interfaces.ts';
import { type Accepted, judgeDifferences } from '../../scripts/compatibility/judge-differences.ts';
import { type Interfaces, readInterfaces } from '../../scripts/compatibility/read-interfaces.ts';

/** Keeps the promise of docs/stability.md: no breaking difference from the last release that the changelog does not announce. */

const FOLDER = 'scripts/compatibility';
const released = JSON.parse(readFileSync(`${FOLDER}/released.json`, 'utf8')) as Interfaces;
const now = readInterfaces('.');

test('every breaking difference from the last release is announced (node scripts/compatibility.ts prints the others)', () => {
  const accepted = (parse(readFileSync(`${FOLDER}/accepted.yaml`, 'utf8')) ?? []) as Accepted[];
  expect(judgeDifferences(compareInterfaces(released, now), accepted, readChangelog('.'))).toEqual([]);
});

test('the interfaces of the last release are those of the version (node scripts/compatibility.ts --released writes them)', () => {
  expect(released.version).toBe(now.version);
});

test('an operation, metric or setting that the documents no longer have is found in each area', () => {
  expect(Object.keys(now.areas)).toEqual(['gateway', 'panel', 'nats', 'tenants file', 'catalog file']);
  const without = structuredClone(now);
  const removed = [...Object.values(without.areas).map(({ operations }) => operations), without.metrics, without.settings].map(
    (entries) => {
      const [name = ''] = Object.keys(entries);
      delete entries[name];
      return name;
    },
  );
  const areas = [...Object.keys(now.areas), 'metric', 'setting'];
  expect(compareInterfaces(now, without)).toEqual(areas.map((area, at) => `${area} ${removed[at]}: removed`).sort());
  expect(compareInterfaces(now, now)).toEqual([]);
});

/** Interfaces that each test below changes in one place. */
const EXAMPLE: Interfaces = {
  version: '1.0.0',
  areas: {
    panel: {
      operations: {
        'GET /keys': {
          reads: { parameters: { type: 'object', properties: { limit: { type: 'integer', maximum: 500 } }, required: [] } },
          writes: {
            200: { type: 'object', properties: { keys: { type: 'array', items: { $ref: '#/Key' } } }, required: ['keys'] },
            404: {},
          },
        },
        'POST /keys': { reads: { body: { $ref: '#/NewKey' } }, writes: { 201: { $ref: '#/Key' } } },
      },
      schemas: {
        Key: {
          type: 'object',
          properties: { id: { type: 'string' }, spent: { type: ['string', 'null'] }, parent: { $ref: '#/Key' } },
          required: ['id'],
        },
        NewKey: {
          type: 'object',
          properties: {
            name: { type: 'string', maxLength: 200 },
            role: { type: 'string', enum: ['owner', 'viewer'] },
            proof: {
              oneOf: [
                { type: 'object', properties: { kind: { const: 'password' }, text: { type: 'string' } }, required: ['kind'] },
                { type: 'object', properties: { kind: { const: 'token' }, text: { type: 'string' } }, required: ['kind'] },
              ],
            },
          },
          required: ['name'],
        },
      },
    },
  },
  metrics: { tollgate_keys: { type: 'gauge', labels: ['kind'] } },
  settings: { 'KEYS_MAX of panel': '100' },
};
type Change = (copy: Example) => void;
// biome-ignore lint/suspicious/noExplicitAny: a test changes any place of it.
type Example = any;
const newKey = (copy: Example): Example => copy.areas.panel.schemas.NewKey;
const key = (copy: Example): Example => copy.areas.panel.schemas.Key;
const operations = (copy: Example): Example => copy.areas.panel.operations;

test.each([
  ['a removed operation', (copy) => delete operations(copy)['GET /keys'], 'panel GET /keys: removed'],
  ['a removed status', (copy) => delete operations(copy)['POST /keys'].writes[201], 'panel POST /keys 201: removed'],
  [
    'a removed parameter',
    (copy) => delete operations(copy)['GET /keys'].reads.parameters.properties.limit,
    'panel reads GET /keys parameters.limit: removed',
  ],
  [
    'a lower bound of a parameter',
    (copy) => (operations(copy)['GET /keys'].reads.parameters.properties.limit.maximum = 100),
    'panel reads GET /keys parameters.limit: maximum 500 became 100',
  ],
  ['a removed property of a request', (copy) => delete newKey(copy).properties.role, 'panel reads NewKey.role: removed'],
  ['a new required property of a request', (copy) => newKey(copy).required.push('role'), 'panel reads NewKey.role: now required'],
  [
    'a removed value of a request',
    (copy) => newKey(copy).properties.role.enum.pop(),
    'panel reads NewKey.role: no longer accepts "viewer"',
  ],
  ['a new bound of a request', (copy) => (newKey(copy).properties.name.minLength = 1), 'panel reads NewKey.name: minLength none became 1'],
  [
    'another pattern of a request',
    (copy) => (newKey(copy).properties.name.pattern = '^[a-z]+$'),
    'panel reads NewKey.name: another pattern',
  ],
  [
    'a narrower type of a request',
    (copy) => (newKey(copy).properties.name.type = 'integer'),
    'panel reads NewKey.name: no longer accepts string',
  ],
  [
    'a removed form of a request',
    (copy) => newKey(copy).properties.proof.oneOf.pop(),
    'panel reads NewKey.proof: no longer accepts an object with kind "token"',
  ],
  [
    'an object that no longer takes other properties',
    (copy) => (newKey(copy).additionalProperties = false),
    'panel reads NewKey: no longer accepts other properties',
  ],
  ['a removed property of a reply', (copy) => delete key(copy).properties.spent, 'panel writes Key.spent: removed'],
  ['a property of a reply that may be absent', (copy) => (key(copy).required = []), 'panel writes Key.id: may now be absent'],
  ['a wider type of a reply', (copy) => (key(copy).properties.id.type = ['string', 'null']), 'panel writes Key.id: may now be null'],
  ['another type of a reply', (copy) => (key(copy).properties.id.type = 'integer'), 'panel writes Key.id: may now be integer'],
  ['a removed metric', (copy) => delete copy.metrics.tollgate_keys, 'metric tollgate_keys: removed'],
  ['a removed label', (copy) => copy.metrics.tollgate_keys.labels.pop(), 'metric tollgate_keys: label kind removed'],
  ['another type of a metric', (copy) => (copy.metrics.tollgate_keys.type = 'counter'), 'metric tollgate_keys: gauge became counter'],
  ['a removed setting', (copy) => delete copy.settings['KEYS_MAX of panel'], 'setting KEYS_MAX of panel: removed'],
  ['another default', (copy) => (copy.settings['KEYS_MAX of panel'] = '50'), 'setting KEYS_MAX of panel: default 100 became 50'],
  ['a new required setting', (copy) => (copy.settings['SALT of panel'] = 'required'), 'setting SALT of panel: now required'],
] as [string, Change, string][])('%s is breaking', (_difference, change, line) => {
  const copy = structuredClone(EXAMPLE);
  change(copy);
  expect(compareInterfaces(EXAMPLE, copy)).toEqual([line]);
});

test.each([
  ['a new operation', (copy) => (operations(copy)['GET /me'] = { reads: {}, writes: {} })],
  ['a refusal that no longer happens', (copy) => delete operations(copy)['GET /keys'].writes[404]],
  ['a new optional property of a request', (copy) => (newKey(copy).properties.note = { type: 'string' })],
  ['a property of a request that is no longer required', (copy) => (newKey(copy).required = [])],
  ['a new value of a request', (copy) => newKey(copy).properties.role.enum.push('finance')],
  ['a wider type of a request', (copy) => (newKey(copy).properties.name.type = ['string', 'null'])],
  ['a new form of a request', (copy) => newKey(copy).properties.proof.oneOf.push({ type: 'string' })],
  ['a new property of a reply', (copy) => (key(copy).properties.label = { type: 'string' })],
  ['a narrower type of a reply', (copy) => (key(copy).properties.spent.type = 'string')],
  ['a new label', (copy) => copy.metrics.tollgate_keys.labels.push('model')],
  ['a required setting of a new service', (copy) => (copy.settings['DATABASE_URL of shop'] = 'required')],
] as [string, Change][])('%s breaks nobody', (_difference, change) => {
  const copy = structuredClone(EXAMPLE);
  change(copy);
  expect(compareInterfaces(EXAMPLE, copy)).toEqual([]);
});

describe('a difference', () => {
  const CHANGELOG =
    '# Changelog\n\n## Unreleased\n\n**Action required**\n\n- `GET /keys` is gone: use\n  `GET /all`.\n\n**Other**\n\n- New.\n\n## 1.0.0\n';
  const LINE = 'panel GET /keys: removed';

  test.each([
    ['that nobody accepted', [], [`not announced: ${LINE}`]],
    ['with the words of its entry, which may be wrapped', [{ entry: '`GET /keys` is gone: use `GET /all`', differences: [LINE] }], []],
    ['with a reason', [{ reason: 'Nobody could call it.', differences: [LINE] }], []],
    ['whose entry is elsewhere', [{ entry: 'New.', differences: [LINE] }], ['"Action required" does not say: New.']],
    ['with neither entry nor reason', [{ differences: [LINE] }], [`needs either an entry or a reason: ${LINE}`]],
    ['that is no longer there', [{ reason: '-', differences: [LINE, 'x'] }], ['accepted, but no difference: x']],
  ] as [string, Accepted[], string[]][])('%s', (_case, accepted, faults) => {
    expect(judgeDifferences([LINE], accepted, CHANGELOG)).toEqual(faults);
  });
});
