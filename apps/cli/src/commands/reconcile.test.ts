import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { answering, collectRun } from '../../test/collect-run.js';

const folder = mkdtempSync(join(tmpdir(), 'reconcile-'));
afterAll(() => rmSync(folder, { recursive: true }));

const row = (day: string, promptTokens: number) => ({
  ...{ start: `${day}T00:00:00.000Z`, model: 'fast', requests: 1, estimatedRequests: 1, promptTokens, cachedTokens: 0, outputTokens: 5 },
  ...{ reasoningTokens: 0, costPicoUsd: '0', forfeitedPicoUsd: '0' },
});
const YAML = 'models: [{ id: fast, routes: [{ upstream: hosted, model: gpt-x }, { upstream: other, model: gpt-z }] }]';

async function run(csv: string, ...options: string[]) {
  const file = join(folder, 'usage.csv');
  writeFileSync(file, csv);
  const asked: unknown[] = [];
  const answer = (subject: string, payload: object): unknown => {
    if (subject === 'catalog.v1.catalog.get') return { yaml: YAML };
    asked.push(JSON.parse(JSON.stringify(payload)));
    const isFirst = asked.length === 1;
    return { rows: [isFirst ? row('2027-01-15', 100) : row('2027-01-17', 30)], nextCursor: isFirst ? 'more' : null };
  };
  return { ...(await collectRun(['reconcile', file, '--upstream', 'hosted', ...options], answering(answer))), asked };
}

const HEADER = 'day,model,input_tokens,output_tokens\n';
const EQUAL = `${HEADER}2027-01-15,gpt-x,100,5\n2027-01-17,gpt-x,30,5\n`;

test('shows the sums, and the days that differ', async () => {
  const asked = { from: '2027-01-15', to: '2027-01-18T00:00:00.000Z', step: 'day', groupBy: ['model'], upstream: 'hosted', limit: 1_000 };
  expect(await run(`${HEADER}2027-01-15,gpt-x,103,5\n2027-01-17,gpt-x,30,5\n`)).toEqual({
    code: 1,
    err: '',
    asked: [asked, { ...asked, cursor: 'more' }],
    out: `hosted, 2027-01-15 to 2027-01-17
2 requests of the journal are estimated: the upstream did not report their usage in full

MODEL  COUNT   JOURNAL  VENDOR  DIFFERENCE
gpt-x  prompt      130     133  +3 (+2.31 %)
gpt-x  output       10      10  0 (0.00 %)

days that differ:
DAY         MODEL  COUNT   JOURNAL  VENDOR  DIFFERENCE
2027-01-15  gpt-x  prompt      100     103  +3 (+3.00 %)
`,
  });
});

test('equal usage, also under another name, and within a tolerance', async () => {
  expect(await run(EQUAL)).toMatchObject({ code: 0, out: expect.stringMatching(/each day is equal within the tolerance\n$/) });
  const renamed = EQUAL.replaceAll('gpt-x', 'gpt-x-0115');
  expect(await run(renamed, '--models', 'gpt-x-0115=gpt-x')).toMatchObject({ code: 0 });
  expect(await run(EQUAL.replace(',100,', ',103,'), '--tolerance', '3')).toMatchObject({ code: 0 });
});

test.each<[problem: string, csv: string, ...options: string[]]>([
  ['has no rows', HEADER],
  ['--columns: tokens is none of day, model', EQUAL, '--columns', 'tokens=input_tokens'],
  ['line 2: prompt is "many"', `${HEADER}2027-01-15,gpt-x,many,5\n`],
])('%s', async (problem, csv, ...options) => {
  expect(await run(csv, ...options)).toMatchObject({ code: 2, out: '', asked: [], err: expect.stringContaining(problem) });
});
