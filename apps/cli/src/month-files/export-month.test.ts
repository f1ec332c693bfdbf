import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ClosedMonth, type MonthReadReply, monthFileHeader } from '#contracts/billing/months.js';
import type { Messaging } from '#messaging/messaging.js';
import { exportMonth } from './export-month.js';

const ID = '0190a6f0-7c1e-7000-8000-000000000001';
const HEADER = monthFileHeader('grants');
const LINES = [`${ID},${ID},100,-1,true\n`, `${ID},,${'9'.repeat(38)},0,false\n`];
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const MANIFEST = 'the manifest\n';
const MONTH: ClosedMonth = {
  month: '2027-01',
  digest: sha256(MANIFEST),
  manifest: MANIFEST,
  files: [{ file: 'grants', rows: 2, sha256: sha256(HEADER + LINES.join('')) }],
  closedAt: '2027-02-01T02:00:00.000Z',
};

/** A service with a line on each page. */
function serviceWith(lines: readonly string[]): Pick<Messaging, 'request'> {
  const read = ({ cursor = '0' }: { cursor?: string }): MonthReadReply => {
    const next = Number(cursor) + 1;
    return { lines: lines[next - 1] ?? '', nextCursor: next < lines.length ? String(next) : null };
  };
  return { request: async (_endpoint, payload) => read(payload as { cursor?: string }) as never };
}

let out: string;
beforeEach(async () => {
  out = await mkdtemp(join(tmpdir(), 'tollgate-export-'));
});
afterEach(() => rm(out, { recursive: true, force: true }));

test('the files of a month, page by page', async () => {
  const folder = join(out, '2027-01');
  expect(await exportMonth(serviceWith(LINES), MONTH, out)).toEqual({ folder, differing: [] });
  expect(await readdir(folder)).toEqual(['grants.csv', 'grants.parquet', 'manifest.txt']);
  expect(await readFile(join(folder, 'grants.csv'), 'utf8')).toBe(HEADER + LINES.join(''));
  expect(await readFile(join(folder, 'manifest.txt'), 'utf8')).toBe(MANIFEST);
});

test('a file that is not what was closed is named', async () => {
  expect(await exportMonth(serviceWith(LINES.slice(1)), MONTH, out)).toMatchObject({ differing: ['grants.csv'] });
  expect(await exportMonth(serviceWith(LINES), { ...MONTH, manifest: 'another' }, out)).toMatchObject({ differing: ['manifest.txt'] });
});
