/**
 * Checks the import graph against `.dependency-cruiser.mjs`. Exits with 1 on a violation, and when it found no modules: a parser that
 * cannot read TypeScript would pass. `node scripts/check-imports.ts [--base FOLDER] [--json]`
 */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { cruise, type ICruiseOptions, type ICruiseResult } from 'dependency-cruiser';
import { forbidden, noFolderCircles, options } from '../.dependency-cruiser.mjs';
import { ROOT } from './local/project.mjs';
import { findFolderCircles } from './testing/folder-circles.ts';

const { values } = parseArgs({ options: { base: { type: 'string', default: ROOT }, json: { type: 'boolean' } } });
const base = resolve(values.base);
const folders = ['apps', 'libs', 'test', 'conformance'].filter((folder) => existsSync(join(base, folder)));
const { output } = await cruise(folders, { ...options, baseDir: base, validate: true, ruleSet: { forbidden } } as ICruiseOptions, {
  conditionNames: ['@tollgate/source', 'import', 'node', 'types'],
  exportsFields: ['exports'],
  bustTheCache: true,
});
const { summary, modules } = output as ICruiseResult; // a text only for reporters
const { totalCruised, totalDependenciesCruised } = summary;
const violations = [
  ...summary.violations.map(({ rule, from, to }) => ({ rule: rule.name, from, to })),
  ...findFolderCircles(modules, noFolderCircles).map((arrow) => ({ rule: noFolderCircles.name, ...arrow })),
];
const rules = [...forbidden, noFolderCircles].map(({ name }) => name);
if (values.json) {
  console.log(JSON.stringify({ totalCruised, rules, violations }));
} else {
  for (const { rule, from, to } of violations) console.error(`${rule}: ${from} → ${to}`);
  console.log(`${totalCruised} modules, ${totalDependenciesCruised} imports, ${violations.length} violations of ${rules.length} rules`);
}
process.exitCode = violations.length > 0 || totalCruised === 0 ? 1 : 0;
