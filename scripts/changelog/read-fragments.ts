import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = 'changes';
/** The heading of what an operator has to do. It comes first. */
const ACTION = 'Action required';
const UNRELEASED = '## Unreleased\n';
const HEADING = /^\*\*(.+)\*\*$/;

/** The parts of a section of the changelog by their headings, each in the lines below it. */
type Parts = Map<string, string>;

/** Paths of the fragments: one file for each change since the last release. */
export function fragmentFiles(root: string): string[] {
  return readdirSync(join(root, FOLDER))
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .sort()
    .map((name) => `${FOLDER}/${name}`);
}

/**
 * Returns the changelog with the fragments in its section "Unreleased", each under its heading.
 * @throws {Error} that names a fragment in another form.
 */
export function mergeFragments(changelog: string, fragments: { path: string; text: string }[]): string {
  const sections = changelog.split(/^(?=## )/m);
  const index = sections.findIndex((section) => section.startsWith(UNRELEASED));
  const section = sections[index];
  if (section === undefined) throw new Error('CHANGELOG.md has no section "Unreleased"');
  const { head, parts } = splitParts(section.slice(UNRELEASED.length));
  for (const { path, text } of fragments) {
    const fragment = splitParts(text);
    if (fragment.head !== '' || fragment.parts.size === 0) throw new Error(`${path} begins with no heading such as **${ACTION}**`);
    for (const [heading, lines] of fragment.parts) {
      if (!lines.startsWith('- ')) throw new Error(`${path}: a change under **${heading}** begins with "- "`);
      parts.set(heading, [parts.get(heading) ?? [], lines].flat().join('\n'));
    }
  }
  const ordered = [...parts].sort(([one], [other]) => Number(other === ACTION) - Number(one === ACTION));
  const blocks = [head, ...ordered.map(([heading, lines]) => `**${heading}**\n\n${lines}`)].filter((block) => block !== '');
  const merged = `${UNRELEASED}\n${blocks.map((block) => `${block}\n\n`).join('')}`;
  return sections.with(index, merged).join('');
}

/** Reads the changelog of a checkout, with its fragments. */
export function readChangelog(root: string): string {
  const read = (path: string) => readFileSync(join(root, path), 'utf8');
  return mergeFragments(
    read('CHANGELOG.md'),
    fragmentFiles(root).map((path) => ({ path, text: read(path) })),
  );
}

function splitParts(text: string): { head: string; parts: Parts } {
  const parts: Parts = new Map();
  let heading = '';
  for (const line of text.split('\n')) {
    heading = HEADING.exec(line)?.[1] ?? heading;
    if (!HEADING.test(line)) parts.set(heading, `${parts.get(heading) ?? ''}${line}\n`);
  }
  const trimmed = new Map([...parts].map(([name, lines]) => [name, lines.trim()]));
  const head = trimmed.get('') ?? '';
  trimmed.delete('');
  return { head, parts: trimmed };
}
