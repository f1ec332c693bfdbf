import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';

let folder: string;
beforeEach(() => {
  mkdirSync('.local', { recursive: true });
  folder = realpathSync(mkdtempSync('.local/native-runner-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('a hung test, a rejection that no one handles and a process that ends fail their files, and the others run', async () => {
  const verdicts = await run({
    'ends.test.mjs': "test('ends', () => process.exit(1));",
    'hangs.test.mjs': "test('hangs', () => new Promise(() => undefined), 100);",
    'passes.test.mjs': "test('passes', () => undefined);",
    'rejects.test.mjs':
      "test('rejects', async () => { void Promise.reject(new Error('lost')); await new Promise((done) => setTimeout(done, 50)); });",
  });
  expect(verdicts).toEqual({
    'ends.test.mjs': ['failed', []],
    'hangs.test.mjs': ['failed', ['failed']],
    'passes.test.mjs': ['passed', ['passed']],
    'rejects.test.mjs': ['failed', ['failed']],
  });
});

test('modules are shared by the files of a process; mocks, timers and variables are not', async () => {
  const file = (name: string): string => `
    import { jest } from '@jest/globals';
    import { count } from './count.mjs';
    test('${name}', () => {
      expect([process.env.LEFT, Math.random(), Date.now()]).not.toEqual(['left', 7, 0]);
      expect(count()).toBe(++globalThis.expectedCount || (globalThis.expectedCount = 1));
      jest.spyOn(Math, 'random').mockReturnValue(7);
      jest.useFakeTimers({ now: 0 });
      process.env.LEFT = 'left';
    });`;
  const verdicts = await run({
    'count.mjs': 'let counted = 0; export const count = () => ++counted;',
    'a.test.mjs': file('a'),
    'b.test.mjs': file('b'),
  });
  expect(verdicts).toEqual({ 'a.test.mjs': ['passed', ['passed']], 'b.test.mjs': ['passed', ['passed']] });
});

test('without idle memory each file has a process of its own', async () => {
  const file = "test('counts', () => expect((globalThis.files = (globalThis.files ?? 0) + 1)).toBe(1));";
  const verdicts = await run({ 'a.test.mjs': file, 'b.test.mjs': file }, { workerIdleMemoryLimit: 0 });
  expect(verdicts).toEqual({ 'a.test.mjs': ['passed', ['passed']], 'b.test.mjs': ['passed', ['passed']] });
});

/** Verdicts on each file and on its tests, of a run with one worker. */
async function run(files: Record<string, string>, settings: object = {}): Promise<Record<string, [verdict: string, tests: string[]]>> {
  for (const [name, source] of Object.entries(files)) writeFileSync(join(folder, name), source);
  const config = {
    rootDir: folder,
    testEnvironment: 'node',
    testRegex: '\\.test\\.mjs$',
    transform: {},
    runner: join(process.cwd(), 'scripts/testing/native-runner.ts'),
    ...settings,
  };
  const args = ['node_modules/jest/bin/jest.js', '--json', '--maxWorkers', '1', '--config', JSON.stringify(config)];
  const output = await new Promise<string>((resolve) => execFile(process.execPath, args, (_error, stdout) => resolve(stdout)));
  const { testResults } = JSON.parse(output) as {
    testResults: { name: string; status: string; assertionResults: { status: string }[] }[];
  };
  return Object.fromEntries(
    testResults.map(({ name, status, assertionResults }) => [basename(name), [status, assertionResults.map((one) => one.status)]]),
  );
}
