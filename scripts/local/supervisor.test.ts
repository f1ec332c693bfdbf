import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { leastMs } from '#testing/least-ms.js';
import { PidFile } from './pid-file.ts';
import { isAlive } from './process-identity.ts';
import { type Program, Supervisor } from './supervisor.ts';

let folder: string;
let supervisor: Supervisor;
let said: string[];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'supervisor-'));
  said = [];
  const pidFile = await PidFile.claim(folder);
  supervisor = new Supervisor({ logDir: join(folder, 'logs'), pidFile, say: (name, text) => said.push(`${name} ${text}`) });
});
afterEach(async () => {
  await supervisor.stopAll();
  rmSync(folder, { recursive: true, force: true });
});

/** A program that writes its name to `journal` on its stop signal. It is ready when it has written its pid. */
function program(name: string, body = ''): Program {
  const journal = join(folder, 'journal');
  const state = join(folder, `${name}.pid`);
  const script = `
    const fs = require('node:fs');
    process.on('SIGTERM', () => { fs.appendFileSync(${JSON.stringify(journal)}, '${name} '); process.exit(0); });
    ${body}
    setInterval(() => {}, 1000);
    fs.writeFileSync(${JSON.stringify(state)}, String(process.pid));`;
  writeFileSync(state, '');
  return {
    name,
    command: process.execPath,
    args: ['-e', script],
    env: {},
    probe: async () => readFileSync(state, 'utf8') === String(supervisor.pid(name)),
  };
}

test('restarts a dead program within a second', async () => {
  await supervisor.start(program('a'));
  const die = async () => {
    said.length = 0;
    const before = supervisor.pid('a');
    const started = performance.now();
    await supervisor.kill('a');
    await supervisor.ready('a');
    const tookMs = performance.now() - started;
    expect(supervisor.pid('a')).not.toBe(before);
    expect(said).toEqual([expect.stringMatching(/^a exited \(SIGKILL\); restarting/)]);
    return tookMs;
  };
  expect(await leastMs(1000, die)).toBeLessThan(1000);
});

test('gives up a program that never starts, with its last error', async () => {
  const broken = { ...program('broken'), args: ['-e', 'console.error("Error: no flour"); process.exit(3)'] };
  await expect(supervisor.start(broken)).rejects.toMatchObject({
    name: 'StartError',
    message: expect.stringMatching(/^broken does not start \(exit code 3\): Error: no flour \(log: .*broken\.log\)$/),
  });
});

test('names a program that cannot be executed', async () => {
  await expect(supervisor.start({ ...program('absent'), command: '/nowhere/absent' })).rejects.toThrow(/^absent does not start \(.*ENOENT/);
});

test('stops named groups first, then the last started', async () => {
  for (const name of ['server', 'early', 'late', 'gateway']) await supervisor.start(program(name));
  await supervisor.stopAll([['gateway'], ['server']]);
  expect(readFileSync(join(folder, 'journal'), 'utf8')).toBe('gateway server late early ');
});

test('kills a program after its grace', async () => {
  await supervisor.start({
    ...program('stubborn', "process.removeAllListeners('SIGTERM'); process.on('SIGTERM', () => {});"),
    graceMs: 200,
  });
  const pid = supervisor.pid('stubborn');
  await supervisor.stopAll();
  expect(() => process.kill(Number(pid), 0)).toThrow(/ESRCH/);
});

test('a held program stays stopped until it is resumed', async () => {
  await supervisor.start(program('a'));
  await supervisor.hold('a');
  expect(supervisor.pid('a')).toBeUndefined();
  expect(said).toEqual([]);
  await supervisor.resume('a');
  expect(supervisor.pid('a')).toEqual(expect.any(Number));
});

test('cannot start programs after stopAll', async () => {
  await supervisor.stopAll();
  await expect(supervisor.start(program('late'))).rejects.toThrow('stopped while starting');
});

test('the pid file has every live process', async () => {
  await supervisor.start(program('a'));
  const children = () => JSON.parse(readFileSync(join(folder, 'pids.json'), 'utf8')).children;
  const { a } = children();
  expect(a).toEqual({ pid: supervisor.pid('a'), born: expect.any(String), stopSignal: 'SIGTERM' });
  expect(isAlive(a)).toBe(true);
  await supervisor.hold('a');
  expect(children()).toEqual({});
  expect(isAlive(a)).toBe(false);
});
