import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { MUTATIONS_OF_BUDGETS } from './mutations/budgets.js';
import { MUTATIONS_OF_DETACHED_MONTHS } from './mutations/detached-months.js';
import { MUTATIONS_OF_EVENTS } from './mutations/events.js';
import { MUTATIONS_OF_HOLD_LIFE } from './mutations/hold-life.js';
import { MUTATIONS_OF_HOLDS } from './mutations/holds.js';
import { MUTATIONS_OF_ITEMS } from './mutations/items.js';
import { MUTATIONS_OF_MONEY } from './mutations/money.js';
import type { Mutation } from './mutations/mutation.js';

/**
 * Removes each lock, SQL condition and right of the money path in turn, in a copy of the sources, and runs the one test that must fail.
 * No tool makes these changes; pure-mutations.long.test.ts changes the pure code.
 */
const MUTATIONS: Mutation[] = [
  MUTATIONS_OF_BUDGETS,
  MUTATIONS_OF_DETACHED_MONTHS,
  MUTATIONS_OF_EVENTS,
  MUTATIONS_OF_HOLD_LIFE,
  MUTATIONS_OF_HOLDS,
  MUTATIONS_OF_ITEMS,
  MUTATIONS_OF_MONEY,
].flatMap((byFile) =>
  Object.entries(byFile).flatMap(([file, mutations]) =>
    mutations.map(([name, from, to, test, title]) => ({ name, file, from, to, test, title })),
  ),
);
const ROOT = process.cwd();
const COPIED = [
  'apps',
  'libs',
  'test',
  'spec',
  'prisma',
  'scripts',
  'config',
  'jest.config.mjs',
  'package.json',
  '.swcrc',
  'tsconfig.json',
];
/** A timeout counts as detected. */
const RUN_MS = 90_000;

interface Report {
  failed: string[];
  passed: string[];
  broken: number;
}

let copy: string;
beforeAll(() => {
  mkdirSync(join(ROOT, '.local'), { recursive: true });
  copy = mkdtempSync(join(ROOT, '.local', 'mutations-'));
  for (const name of COPIED) cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
});
afterAll(() => rmSync(copy, { recursive: true, force: true }));

const verdicts: { mutation: string; file: string; 'detected by': string }[] = [];
afterAll(() => console.table(verdicts));

test('without a mutation, every named test passes', async () => {
  const files = [...new Set(MUTATIONS.map(({ test: file }) => file))];
  const report = await run(files, '', 10 * RUN_MS);
  expect({ failed: report?.failed, broken: report?.broken }).toEqual({ failed: [], broken: 0 });
  const without = MUTATIONS.filter(({ title }) => !report?.passed.some((name) => name.includes(title)));
  expect(without.map(({ title }) => title)).toEqual([]);
}, 1_000_000);

test.each(MUTATIONS)(
  'removed, a test fails: $name ($file)',
  async (mutation) => {
    const whole = mutate(mutation);
    try {
      const report = await run([mutation.test], mutation.title, RUN_MS);
      const noticed = report === undefined || report.failed.length > 0;
      const where = `${mutation.test.split('/').at(-1)}: ${mutation.title}${report === undefined ? ' (timeout)' : ''}`;
      verdicts.push({ mutation: mutation.name, file: mutation.file.split('/').at(-1) ?? '', 'detected by': noticed ? where : 'NO TEST' });
      expect({ noticed, broken: report?.broken ?? 0 }).toEqual({ noticed: true, broken: 0 });
    } finally {
      writeFileSync(join(copy, mutation.file), whole);
    }
  },
  200_000,
);

/** Mutates the file and returns its content before. */
function mutate({ file, from, to }: Mutation): string {
  const whole = readFileSync(join(copy, file), 'utf8');
  if (whole.split(from).length !== 2) throw new Error(`${file} has "${from}" ${whole.split(from).length - 1} times`);
  writeFileSync(
    join(copy, file),
    whole.replace(from, () => to),
  );
  return whole;
}

/** Returns undefined on a timeout. `broken`: files that did not run, which proves nothing. */
async function run(files: string[], title: string, timeoutMs: number): Promise<Report | undefined> {
  const output = join(copy, 'report.json');
  rmSync(output, { force: true });
  const args = ['--experimental-vm-modules', '--no-warnings', 'node_modules/jest/bin/jest.js', '--selectProjects', 'unit', 'integration'];
  const only = title === '' ? [] : ['-t', title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')];
  const paths = files.map((file) => resolve(copy, file));
  const child = spawn(
    process.execPath,
    [...args, '--json', '--outputFile', output, '--forceExit', '--testTimeout', '20000', ...only, '--runTestsByPath', ...paths],
    { cwd: copy, stdio: 'ignore', env: { ...process.env, NODE_OPTIONS: '', TEST_LONG: '' }, timeout: timeoutMs, killSignal: 'SIGKILL' },
  );
  await once(child, 'close');
  if (child.signalCode !== null) return undefined;
  const report = JSON.parse(readFileSync(output, 'utf8')) as {
    numRuntimeErrorTestSuites: number;
    testResults: { assertionResults: { status: string; fullName: string }[] }[];
  };
  const assertions = report.testResults.flatMap(({ assertionResults }) => assertionResults);
  const named = (wanted: string): string[] => assertions.filter(({ status }) => status === wanted).map(({ fullName }) => fullName);
  return {
    failed: named('failed'),
    passed: named('passed'),
    broken: report.numRuntimeErrorTestSuites,
  };
}
