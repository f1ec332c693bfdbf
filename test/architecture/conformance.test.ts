import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { parse } from 'yaml';

/** Holds docs/conformance.yaml to the tests it names, and docs/conformance.md to docs/conformance.yaml. */

interface Rule {
  id: string;
  rule: string;
  tests?: Evidence[];
  reason?: string;
}

interface Evidence {
  file: string;
  title?: string;
}

const { sections }: { sections: { title: string; rules: Rule[] }[] } = parse(readFileSync('docs/conformance.yaml', 'utf8'));
const rules = sections.flatMap((section) => section.rules);
const ids = new Set(rules.map(({ id }) => id));

/** What is wrong with the list; nothing, if it is right. */
function faultsOf(rules: readonly Rule[]): string[] {
  const seen = new Set<string>();
  return rules.flatMap(({ id, rule, tests = [], reason }) => {
    const faults = tests.flatMap(evidenceFaults);
    if (seen.has(id)) faults.push('is there twice');
    if (!rule) faults.push('says nothing');
    if (tests.length === 0 && !reason) faults.push('has neither test nor reason');
    seen.add(id);
    return faults.map((fault) => `${id} ${fault}`);
  });
}

function evidenceFaults({ file, title }: Evidence): string[] {
  if (!existsSync(file)) return [`names a file that is not there: ${file}`];
  if (!isEvidence(file)) return [`names a file that proves nothing: ${file}`];
  if (title === undefined) return isGoldenCase(file) ? [] : [`names no title in ${file}`];
  const count = readFileSync(file, 'utf8').split(title).length - 1;
  return count === 1 ? [] : [`names "${title}", which is ${count} times in ${file}`];
}

/** Tests, what the conformance suites demand, and what they run on. */
function isEvidence(file: string): boolean {
  return file.endsWith('.test.ts') || /\/(conformance(-client|-history)?|test-faults)\.ts$/.test(file) || isRunBySuite(file);
}

function isRunBySuite(file: string): boolean {
  const [folder = '', inside] = file.split('/__fixtures__/');
  return inside !== undefined && existsSync(join(folder, 'adapter.test.ts'));
}

/** A request with what it parses to, a rendered reply, or a recorded stream with the events it gives. */
function isGoldenCase(file: string): boolean {
  if (!isRunBySuite(file)) return false;
  const isPair = existsSync(file.replace(/\.(sse|body)$/, '.expected.json')) && /\.(sse|body)$/.test(file);
  return isPair || ['requests', 'replies'].includes(basename(dirname(file)));
}

test('every rule has a test that is there, or a reason', () => {
  expect(rules.length).toBeGreaterThan(300);
  expect(faultsOf(rules)).toEqual([]);
});

test('the list can be wrong', () => {
  const suite = 'apps/gateway/src/protocols/conformance.ts';
  const rule = (id: string, over: Partial<Rule>): Rule => ({ id, rule: 'A rule.', ...over });
  expect(
    faultsOf([
      rule('a', {}),
      rule('a', { reason: 'Later.' }),
      rule('b', { tests: [{ file: 'gone.test.ts', title: 'x' }] }),
      rule('c', { tests: [{ file: suite, title: 'a title nobody has' }] }),
      rule('d', { tests: [{ file: suite }] }),
      rule('e', { tests: [{ file: 'README.md', title: 'Tollgate' }] }),
    ]),
  ).toEqual([
    'a has neither test nor reason',
    'a is there twice',
    'b names a file that is not there: gone.test.ts',
    `c names "a title nobody has", which is 0 times in ${suite}`,
    `d names no title in ${suite}`,
    'e names a file that proves nothing: README.md',
  ]);
});

test.each([
  ['D', 12],
  ['U', 26],
  ['T', 50],
])('the checklist %s-1 to %i is whole', (letter, last) => {
  const separator = letter === 'D' ? '' : '-';
  const expected = Array.from({ length: last }, (_, index) => `${letter}${separator}${index + 1}`);
  expect(expected.filter((id) => !ids.has(id))).toEqual([]);
});

test('every id of the checklist that a test or a comment cites is in the list', () => {
  const cited = ['apps', 'libs', 'test'].flatMap(sourcesBelow).flatMap((file) => {
    if (file.endsWith('architecture/conformance.test.ts')) return [];
    const text = readFileSync(file, 'utf8');
    return [...text.matchAll(/(?<=[ '(/])(?:[HECRMLUT]-\d+[a-i]?)(?=[ :,;).'])/g)].map(([id]) => ({ id, file }));
  });
  expect(cited.length).toBeGreaterThan(200);
  expect(cited.filter(({ id }) => !ids.has(id))).toEqual([]);
});

function sourcesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(ts|json)$/.test(path) && !path.includes('generated/'))
    .map((path) => join(folder, path));
}

test('docs/conformance.md is made from the list', () => {
  const { status, stdout } = spawnSync(process.execPath, ['scripts/conformance.mjs', '--print'], { encoding: 'utf8' });
  expect(status).toBe(0);
  expect(readFileSync('docs/conformance.md', 'utf8')).toBe(stdout);
});
