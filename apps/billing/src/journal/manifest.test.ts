import { createHash } from 'node:crypto';
import { MONTH_FILE_NAMES } from '#contracts/billing/months.js';
import { computeDigest, type Manifest, parseManifest, renderManifest } from './manifest.js';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const MANIFEST: Manifest = {
  month: '2027-01',
  before: sha256('the month before'),
  transactionEnd: '771',
  files: MONTH_FILE_NAMES.map((file, rows) => ({ file, rows, sha256: sha256(file) })),
};

test('a manifest parses to what it was rendered from', () => {
  expect([parseManifest(renderManifest(MANIFEST)), parseManifest(renderManifest({ ...MANIFEST, before: '' }))]).toEqual([
    MANIFEST,
    { ...MANIFEST, before: '' },
  ]);
});

test('its lines are those of the documentation', () => {
  expect(renderManifest(MANIFEST).split('\n').slice(0, 5)).toEqual([
    'tollgate month 1',
    'month 2027-01',
    `before ${MANIFEST.before}`,
    'transactions 771',
    `settlements.csv 0 ${sha256('settlements')}`,
  ]);
  expect(computeDigest(renderManifest(MANIFEST))).toBe(sha256(renderManifest(MANIFEST)));
});

test.each([
  ['another form', (text: string) => text.replace('month 1', 'month 2')],
  ['a line at the end', (text: string) => `${text}more\n`],
  ['a file twice', (text: string) => text.replace(/(grants.*\n)/, '$1$1')],
  ['an unknown file', (text: string) => text.replace('grants', 'others')],
  ['a number written otherwise', (text: string) => text.replace(/grants\.csv (\d)/, 'grants.csv 0$1')],
])('a text that is no manifest is refused: %s', (_, change) => {
  expect(parseManifest(change(renderManifest(MANIFEST)))).toBeUndefined();
});
