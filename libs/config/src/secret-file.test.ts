import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SecretFile } from './secret-file.js';

let folder: string;
let now: number;
const clock = performance.now;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'secrets-'));
  now = 0;
  performance.now = () => now;
});
afterEach(() => {
  performance.now = clock;
  rmSync(folder, { recursive: true });
});

const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);

test('reads a replaced secret after a second', () => {
  write('key', 'one');
  const file = new SecretFile('key', folder);
  expect([file.read()?.toString(), file.version]).toEqual(['one', 1]);
  write('key', 'another');
  now = 999;
  expect([file.read()?.toString(), file.version]).toEqual(['one', 1]);
  now = 1_000;
  expect([file.read()?.toString(), file.version]).toEqual(['another', 2]);
  now = 2_000;
  expect([file.read()?.toString(), file.version]).toEqual(['another', 2]);
});

test('notices a swapped folder, as Kubernetes swaps it', () => {
  for (const [at, text] of [
    ['..1', 'old'],
    ['..2', 'new'],
  ] as const) {
    mkdirSync(join(folder, at));
    write(`${at}/key`, text);
  }
  symlinkSync('..1', join(folder, '..data'));
  symlinkSync('..data/key', join(folder, 'key'));
  const file = new SecretFile('key', folder);
  expect(file.read()?.toString()).toBe('old');
  symlinkSync('..2', join(folder, '..next'));
  renameSync(join(folder, '..next'), join(folder, '..data'));
  now = 1_000;
  expect(file.read()?.toString()).toBe('new');
});

test('a missing file is undefined until it exists', () => {
  const file = new SecretFile('later', folder);
  expect(file.read()).toBeUndefined();
  write('later', 'here');
  now = 1_000;
  expect(file.read()?.toString()).toBe('here');
  rmSync(join(folder, 'later'));
  now = 2_000;
  expect(file.read()).toBeUndefined();
});

test.each(['../key', '/etc/passwd', '.hidden', 'a/../../key', '..', '', 'a//b', 'a/b/c/d/e', '.'])('%j is not a valid name', (name) => {
  write('key', 'secret');
  expect(new SecretFile(name, folder).read()).toBeUndefined();
});

test.each<[fault: string, name: string, make: (path: string) => void]>([
  ['ELOOP', 'key', (path) => symlinkSync('key', path)],
  ['ENAMETOOLONG', 'k'.repeat(256), () => {}],
  ['EISDIR', 'key', (path) => mkdirSync(path)],
  ['EFBIG', 'key', (path) => writeFileSync(path, 'x'.repeat(256 * 1024 + 1))],
])('an unreadable file is undefined and has a fault: %s', (fault, name, make) => {
  make(join(folder, name));
  const file = new SecretFile(name, folder);
  expect([file.read(), file.fault]).toEqual([undefined, fault]);
});

test('reads a file that becomes readable; a removed file has no fault', () => {
  symlinkSync('key', join(folder, 'key'));
  const file = new SecretFile('key', folder);
  const seen = [[file.read()?.toString(), file.fault]];
  for (const change of [() => rmSync(join(folder, 'key')), () => write('key', 'here'), () => rmSync(join(folder, 'key'))]) {
    change();
    now += 1_000;
    seen.push([file.read()?.toString(), file.fault]);
  }
  expect(seen).toEqual([
    [undefined, 'ELOOP'],
    [undefined, undefined],
    ['here', undefined],
    [undefined, undefined],
  ]);
});
