import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Messaging } from '#messaging/messaging.js';
import { makeId, makeReceipt, TestInstallation } from '../../../../libs/receipts/test/test-installation.js';
import { collectRun } from '../../test/collect-run.js';

const ACME = makeId(0xa);
const folder = mkdtempSync(join(tmpdir(), 'tollgate-cli-receipts-'));
afterAll(() => rmSync(folder, { recursive: true }));

const installation = new TestInstallation();
const month = installation.close('2027-01', [{ accountId: ACME, receipts: [1, 2, 3].map((number) => makeReceipt(ACME, number)) }]);
const [whole, single, keys] = ['whole.jsonl', 'single.jsonl', 'keys.json'].map((name) => join(folder, name)) as [string, string, string];
const renderFile = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');
writeFileSync(whole, renderFile(month.whole(ACME)));
writeFileSync(single, renderFile(month.single(ACME, 1)));
writeFileSync(keys, JSON.stringify(installation.published));

const offline = (): Promise<Messaging> => {
  throw new Error('the command connects');
};
const verify = (...args: string[]) => collectRun(['verify', ...args], offline);

test('a file is verified without a connection', async () => {
  const { code, out } = await verify(whole, '--keys', keys);
  expect(code).toBe(0);
  expect(out).toMatch(/2027-01 .*all 3 .*\$0\.0000135 [\s\S]*\n\nvalid\n$/);
  const { out: json } = await verify(single, '--keys', keys, '--json');
  expect(JSON.parse(json)).toMatchObject({
    valid: true,
    months: [{ month: '2027-01', accountId: ACME, receipts: 1, isWhole: false, requests: '3', amountPicoUsd: '4500000' }],
  });
});

test('a file that is wrong names its line and ends with 1', async () => {
  const changed = join(folder, 'changed.jsonl');
  writeFileSync(changed, readFileSync(single, 'utf8').replace('sim-fast', 'sim-slow'));
  expect(await verify(changed, '--keys', keys)).toMatchObject({
    code: 1,
    out: 'NOT VALID. Line 6: The receipt is not among those of its account.\n',
  });
  const { code, out } = await verify(changed, '--keys', keys, '--json');
  expect([code, JSON.parse(out)]).toEqual([1, { valid: false, fault: 'Line 6: The receipt is not among those of its account.' }]);
  writeFileSync(changed, '{}');
  expect((await verify(whole, '--keys', changed)).out).toBe('NOT VALID. This is no file of published keys.\n');
});

test('a file that is not there is a fault of the command line', async () => {
  expect(await verify(join(folder, 'none'), '--keys', keys)).toMatchObject({ code: 2, err: expect.stringContaining('no such file') });
  expect(await verify(whole)).toMatchObject({ code: 2 });
});

test('an export writes the pages into one file', async () => {
  const [head, ...receipts] = [renderFile(month.whole(ACME).slice(0, 4)), ...month.whole(ACME).slice(4)];
  const pages = [head + renderFile(receipts.slice(0, 2)), renderFile(receipts.slice(2))];
  const messaging = {
    request: async (_: unknown, { cursor }: { cursor?: string }) =>
      cursor ? { lines: pages[1], nextCursor: null } : { lines: pages[0], nextCursor: 'next' },
    close: async () => undefined,
  } as unknown as Messaging;
  const out = join(folder, 'exported.jsonl');
  const { code, out: text } = await collectRun(['receipt', 'export', '2027-01', '--account', ACME, '--out', out], async () => messaging);
  expect([code, text]).toEqual([0, `${out}: 3 receipts\n`]);
  expect(readFileSync(out, 'utf8')).toBe(renderFile(month.whole(ACME)));
});
