/**
 * Compares the documented interfaces with those of the last release, and fails at a breaking difference that the changelog does not
 * announce. With --released it makes those of now the ones of the last release: the step of docs/releasing.md. With `--from FOLDER`
 * the interfaces are those of another checkout.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { parse } from 'yaml';
import { readChangelog } from './changelog/read-fragments.ts';
import { compareInterfaces } from './compatibility/compare-interfaces.ts';
import { type Accepted, judgeDifferences } from './compatibility/judge-differences.ts';
import { type Interfaces, readInterfaces } from './compatibility/read-interfaces.ts';
import { ROOT } from './local/project.mjs';

const RELEASED = join(ROOT, 'scripts/compatibility/released.json');
const ACCEPTED = join(ROOT, 'scripts/compatibility/accepted.yaml');

const { released, from } = parseArgs({ options: { released: { type: 'boolean' }, from: { type: 'string' } } }).values;
if (released) keepReleased(readInterfaces(from ?? ROOT));
else check(readInterfaces(from ?? ROOT));

function check(now: Interfaces): void {
  const before = JSON.parse(readFileSync(RELEASED, 'utf8')) as Interfaces;
  const accepted = (parse(readFileSync(ACCEPTED, 'utf8')) ?? []) as Accepted[];
  const faults = judgeDifferences(compareInterfaces(before, now), accepted, readChangelog(ROOT));
  for (const fault of faults) process.stdout.write(`${fault}\n`);
  if (faults.length === 0) return;
  process.stdout.write(
    'docs/stability.md says what may change. Announce a difference in a file of changes/ and name it in accepted.yaml.\n',
  );
  process.exitCode = 1;
}

/** Writes one line for each operation and schema, so that the difference of two releases can be read. */
function keepReleased(now: Interfaces): void {
  const lines = (entries: object): string =>
    Object.entries(entries)
      .map(([name, value]) => `      ${JSON.stringify(name)}: ${JSON.stringify(value)}`)
      .join(',\n');
  const areas = Object.entries(now.areas).map(
    ([name, { operations, schemas }]) =>
      `  ${JSON.stringify(name)}: {\n    "operations": {\n${lines(operations)}\n    },\n    "schemas": {\n${lines(schemas)}\n    }\n  }`,
  );
  const rest = `"metrics": {\n${lines(now.metrics)}\n},\n"settings": {\n${lines(now.settings)}\n}`;
  writeFileSync(RELEASED, `{\n"version": ${JSON.stringify(now.version)},\n"areas": {\n${areas.join(',\n')}\n},\n${rest}\n}\n`);
  const [head = ''] = readFileSync(ACCEPTED, 'utf8').split(/^(?!#)/m);
  writeFileSync(ACCEPTED, head);
}
