import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readArchive, readArchives } from './text-archive.js';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'text-archive-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

test.each([
  ['after a comment', 'Why.\n\n-- a.sse --\ndata: 1\n\n', { 'a.sse': 'data: 1\n\n' }],
  ['without a comment', '-- a --\n1\n-- b --\n2\n', { a: '1\n', b: '2\n' }],
  ['with paths and spaces', '-- a/b c.json --\n{}\n', { 'a/b c.json': '{}\n' }],
  ['that are empty', '-- a --\n-- b --\n-- c --', { a: '', b: '', c: '' }],
  [
    'without a last line break',
    '-- a --\n1\n\\ No newline at end of file\n-- b --\n2\n\n\\ No newline at end of file',
    { a: '1', b: '2\n' },
  ],
  ['with line breaks of every kind', '-- a --\n\r\n\r1\u2028\u0085\n\r\n\\ No newline at end of file\n', { a: '\r\n\r1\u2028\u0085\n\r' }],
  ['with lines that are almost a name', '-- a --\n--- b --\n-- c\n -- d --\n', { a: '--- b --\n-- c\n -- d --\n' }],
])('reads files %s', (_, archive, files) => {
  writeFileSync(join(folder, 'a.txtar'), archive);
  expect(textsIn(readArchive(join(folder, 'a.txtar')))).toEqual(Object.entries(files));
});

test('keeps bytes that are not UTF-8', () => {
  writeFileSync(join(folder, 'a.txtar'), Buffer.from([...Buffer.from('-- a --\n'), 0xff, 0x00, 0xc3, 0x0a]));
  expect(readArchive(join(folder, 'a.txtar'))).toEqual(new Map([['a', Buffer.from([0xff, 0x00, 0xc3, 0x0a])]]));
});

test('joins the archives of a folder, sorted by the names of the files', () => {
  writeFileSync(join(folder, 'first.txtar'), '-- b --\n2\n-- C --\n3\n');
  writeFileSync(join(folder, 'second.txtar'), '-- a --\n1\n');
  writeFileSync(join(folder, 'refusals.json'), '-- d --\n4\n');
  expect(textsIn(readArchives(folder))).toEqual([
    ['C', '3\n'],
    ['a', '1\n'],
    ['b', '2\n'],
  ]);
});

test('refuses two files of one name, and an archive without files', () => {
  writeFileSync(join(folder, 'a.txtar'), '-- a --\n1\n');
  writeFileSync(join(folder, 'b.txtar'), '-- a --\n1\n');
  expect(() => readArchives(folder)).toThrow(`${folder} has a twice`);
  writeFileSync(join(folder, 'b.txtar'), '-- a --\n1\n-- a --\n1\n');
  expect(() => readArchive(join(folder, 'b.txtar'))).toThrow('b.txtar has a twice');
  writeFileSync(join(folder, 'b.txtar'), 'Only a comment.\n');
  expect(() => readArchives(folder)).toThrow('b.txtar has no files');
});

function textsIn(files: Map<string, Buffer>): [string, string][] {
  return [...files].map(([name, content]) => [name, content.toString()]);
}
