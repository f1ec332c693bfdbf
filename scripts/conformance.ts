// `npm run conformance`: writes docs/conformance.md from docs/rules.yaml and the tests that name its rules; with --print, to standard output instead.
// Fails when a title names an unknown rule, or when a rule has neither a proof nor a reason under `open`.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { parse } from 'yaml';
import { readArchive } from '../libs/testing/src/text-archive.ts';

const SOURCE = 'docs/rules.yaml';
const PAGE = 'docs/conformance.md';

/** The file of the rules: the rules of each section by id, the reasons of open ones, and ids of golden cases by folder and name. */
interface Rules {
  sections: Record<string, Record<string, string>>;
  open?: Record<string, string>;
  fixtures?: Record<string, Record<string, string>>;
}

/** A file that proves a rule: all of it, or one test. */
interface Proof {
  file: string;
  title?: string | undefined;
}

const { sections, open = {}, fixtures = {} } = parse(readFileSync(SOURCE, 'utf8')) as Rules;
const proofs = new Map(Object.values(sections).flatMap((rules) => Object.keys(rules).map((id): [string, Proof[]] => [id, []])));
const faults: string[] = [];

const ID = String.raw`(?:[A-Z]-\d+[a-i]?|D\d+|[a-z\d]+(?:-[a-z\d]+)+)`;
/** A string that ends with ids: `'title [ids]'`. */
const TITLE = new RegExp(String.raw`(['"\`])((?:\\.|(?!\1)[^\\\n])*) \[(${ID}(?:, ${ID})*)\]\1`, 'g');
/** The id that the name of a golden case in an archive starts with: `u08-` is U-8, `R-1f-` is R-1f. */
const CASE = /__fixtures__\/(?:.*\/)?([a-z])-?0*(\d+[a-i]?)-(?!.*\.expected\.json$)/i;

const files = ['apps', 'libs', 'test'].flatMap(filesBelow).sort();
/** The archive of each file in one. Such a file counts as a file of the archive's folder. */
const archivesByName = new Map(
  files
    .filter((file) => file.endsWith('.txtar'))
    .flatMap((archive) => [...readArchive(archive).keys()].map((name) => [`${dirname(archive)}/${name}`, archive])),
);
for (const file of files.filter((file) => /\.(ts|json)$/.test(file))) {
  for (const [, , title = '', ids = ''] of readFileSync(file, 'utf8').matchAll(TITLE)) {
    for (const id of ids.split(', ')) prove(id, file, title.replace(/\\(?=['"`])/g, ''));
  }
}
for (const file of [...archivesByName.keys()].sort()) {
  const [, letter, number] = CASE.exec(file) ?? [];
  const id = `${letter?.toUpperCase()}-${number}`;
  if (proofs.has(id)) prove(id, file);
}
for (const [folder, cases] of Object.entries(fixtures)) {
  for (const [name, ids] of Object.entries(cases)) for (const id of ids.split(', ')) prove(id, `${folder}/${name}`);
}
for (const id of Object.keys(open)) if (!proofs.has(id)) faults.push(`${SOURCE}: no rule ${id} can be open`);
for (const [id, found] of proofs) if (found.length === 0 && !open[id]) faults.push(`${SOURCE}: ${id} has neither a proof nor a reason`);

if (faults.length > 0) {
  process.stderr.write(`${faults.join('\n')}\n`);
  process.exitCode = 1;
} else if (process.argv.includes('--print')) process.stdout.write(renderPage());
else writeFileSync(PAGE, renderPage());

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`);
}

function prove(id: string, file: string, title?: string): void {
  const found = proofs.get(id);
  if (!archivesByName.has(file) && !existsSync(file)) faults.push(`${SOURCE}: ${file} does not exist`);
  else if (found) found.push({ file, title });
  else faults.push(`${file}: ${SOURCE} has no rule ${id}`);
}

function renderPage(): string {
  const rows = Object.entries(sections).map(([title, rules]) => `| ${title} | ${counts(Object.keys(rules))} |`);
  return `${[
    '# Conformance',
    `<!-- Written by scripts/conformance.ts from ${basename(SOURCE)} and the titles of the tests. Do not edit. -->`,
    '',
    'Every rule of the API with the tests that prove it. An id with a letter and a number names what real clients require or real upstreams send.',
    'A rule is open when no test proves it fully.',
    ...['', '| section | rules | proven | open |', '|---|---|---|---|', ...rows, `| **all** | ${counts([...proofs.keys()])} |`, ''],
    ...['## Open rules', '', '| id | rule | reason |', '|---|---|---|', ...openRules(), ''],
    ...Object.entries(sections).map(renderSection),
  ].join('\n')}\n`;
}

function counts(ids: string[]): string {
  const openCount = ids.filter((id) => open[id]).length;
  return `${ids.length} | ${ids.length - openCount} | ${openCount}`;
}

function openRules(): string[] {
  const rules: Record<string, string> = Object.assign({}, ...Object.values(sections));
  return Object.entries(open).map(([id, reason]) => `| ${id} | ${cell(rules[id] ?? '')} | ${cell(reason)} |`);
}

function renderSection([title, rules]: [string, Record<string, string>]): string {
  const rows = Object.entries(rules).map(([id, rule]) => {
    const found = [...(open[id] ? ['**open**'] : []), ...(proofs.get(id) ?? []).map(renderProof)];
    return `| ${id} | ${cell(rule)} | ${found.join('<br>')} |`;
  });
  return [`## ${title}`, '', '| id | rule | proof |', '|---|---|---|', ...rows, ''].join('\n');
}

function renderProof({ file, title }: Proof): string {
  const archive = archivesByName.get(file);
  const place = archive ?? file;
  const isCase = title === undefined || file.endsWith('.json');
  const name = isCase ? `${basename(dirname(place))}/${basename(place)}` : basename(place);
  const proof = title ?? (archive === undefined ? undefined : basename(file));
  return `[${name}](../${place})${proof === undefined ? '' : `: ${cell(proof)}`}`;
}

/** Text for a cell of a Markdown table, with its special characters escaped. */
function cell(text: string): string {
  return text.replace(/[\\`*_[\]<>$|]/g, '\\$&');
}
