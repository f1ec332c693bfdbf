import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { observabilityFiles } from '../../scripts/observability/observability-files.mjs';

interface Rules {
  groups: { rules: { alert?: string; annotations?: { summary: string; runbook: string } }[] }[];
}

interface RuleTests {
  tests: { name: string; promql_expr_test: { exp_samples: { labels: string; value: number }[] }[] }[];
}

const FOLDER = 'deploy/observability';
const rules = parse(readFileSync(`${FOLDER}/rules.yaml`, 'utf8')) as Rules;
const alerts = rules.groups.flatMap(({ rules: some }) => some).filter(({ alert }) => alert !== undefined);
const runbooks = readFileSync('docs/runbooks.md', 'utf8');

test('the files that `node scripts/observability.mjs` writes are current', () => {
  const written = observabilityFiles();
  const committed = Object.fromEntries(Object.keys(written).map((path) => [path, readFileSync(path, 'utf8')]));
  expect(committed).toEqual(written);
});

test('promtool sees each alert silent and then firing alone', () => {
  const { tests } = parse(readFileSync(`${FOLDER}/rules.test.yaml`, 'utf8'), { maxAliasCount: -1 }) as RuleTests;
  const shown = tests.map(({ name, promql_expr_test }) => [name, promql_expr_test.map(({ exp_samples }) => exp_samples)]);
  expect(shown).toEqual(alerts.map(({ alert }) => [alert, [[], [{ labels: `{alertname="${alert}"}`, value: 1 }]]]));
});

test('each alert has a section of docs/runbooks.md with its meaning, three commands and its end; there is no other section', () => {
  const sections = new Map(
    runbooks
      .split(/^### /m)
      .slice(1)
      .map((section) => [section.split('\n', 1)[0] ?? '', section]),
  );
  const named = alerts.map(({ annotations }) => annotations?.runbook);
  const anchors = [...sections.keys()].map((title) => `docs/runbooks.md#${title.toLowerCase()}`);
  expect([...new Set(named)]).toEqual(anchors);
  const faults = [...sections].filter(([, section]) => {
    const [, commands = ''] = /```sh\n([\s\S]*?)\n```/.exec(section) ?? [];
    return commands.split('\n').length !== 3 || !/\*\*Means\.\*\*[\s\S]+\*\*Customers see\*\*[\s\S]+```sh[\s\S]+\*\*Ends\*\*/.test(section);
  });
  expect(faults.map(([title]) => title)).toEqual([]);
});
