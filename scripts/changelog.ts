/**
 * Prints the section "Unreleased" of the changelog with the fragments of `changes/`. With `--release <version>` it becomes the section of
 * that version in CHANGELOG.md, and the fragments go: a step of docs/releasing.md.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { fragmentFiles, readChangelog } from './changelog/read-fragments.ts';
import { ROOT } from './local/project.mjs';

const { release } = parseArgs({ options: { release: { type: 'string' } } }).values;
const changelog = readChangelog(ROOT);
if (release === undefined) {
  process.stdout.write(/^## Unreleased\n[\s\S]*?(?=^## |(?![\s\S]))/m.exec(changelog)?.[0] ?? '');
} else {
  const day = new Date().toISOString().slice(0, 10);
  writeFileSync(join(ROOT, 'CHANGELOG.md'), changelog.replace('## Unreleased\n', `## Unreleased\n\n## ${release} – ${day}\n`));
  for (const path of fragmentFiles(ROOT)) rmSync(join(ROOT, path));
}
