import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { PidFile, sweep } from './pid-file.ts';
import { identify, isAlive, type ProcessIdentity } from './process-identity.ts';

let parent: string;
let folder: string;
const children: ChildProcess[] = [];
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'pid-file-'));
  folder = join(parent, 'test-a');
  mkdirSync(folder);
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(parent, { recursive: true, force: true });
});

function sleeper(): ChildProcess & { pid: number } {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  children.push(child);
  return child as ChildProcess & { pid: number };
}

async function goneIdentity(): Promise<ProcessIdentity> {
  const child = sleeper();
  const identity = identify(child.pid);
  child.kill('SIGKILL');
  await once(child, 'exit');
  return identity;
}

function leave(record: object): void {
  writeFileSync(join(folder, 'pids.json'), JSON.stringify(record));
}

test('a folder has one launcher', async () => {
  const first = await PidFile.claim(folder);
  await expect(PidFile.claim(folder)).rejects.toMatchObject({ name: 'AlreadyRunning', record: { launcher: { pid: process.pid } } });
  first.release();
  (await PidFile.claim(folder)).release();
  expect(existsSync(join(folder, 'pids.json'))).toBe(false);
});

test('ends the orphans of a dead launcher', async () => {
  const orphan = identify(sleeper().pid);
  leave({ launcher: await goneIdentity(), children: { orphan: { ...orphan, stopSignal: 'SIGTERM' } } });
  await PidFile.claim(folder);
  expect(isAlive(orphan)).toBe(false);
});

test('does not end a process with a reused pid', async () => {
  const stranger = identify(sleeper().pid);
  leave({ launcher: await goneIdentity(), children: { ours: { pid: stranger.pid, born: 'another boot/1' } } });
  await PidFile.claim(folder);
  expect(isAlive(stranger)).toBe(true);
});

test('replaces a truncated file', async () => {
  writeFileSync(join(folder, 'pids.json'), '{"launcher":');
  await PidFile.claim(folder);
});

test('sweep finds only folders of dead launchers', async () => {
  const orphan = identify(sleeper().pid);
  leave({ launcher: await goneIdentity(), children: { orphan: { ...orphan, stopSignal: 'SIGTERM' } } });
  for (const name of ['test-running', 'test-being-made', 'test-old', 'other']) mkdirSync(join(parent, name));
  await PidFile.claim(join(parent, 'test-running'));
  utimesSync(join(parent, 'test-old'), 0, 0);
  utimesSync(join(parent, 'other'), 0, 0);
  expect((await sweep(parent, 'test-')).sort()).toEqual([folder, join(parent, 'test-old')]);
  expect(isAlive(orphan)).toBe(false);
});
