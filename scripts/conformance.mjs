// Writes docs/conformance.md from docs/conformance.yaml; with --print it goes to standard output instead.

import { readFileSync, writeFileSync } from 'node:fs';
import { parse } from 'yaml';

const SOURCE = 'docs/conformance.yaml';
const PAGE = 'docs/conformance.md';

const { sections } = parse(readFileSync(SOURCE, 'utf8'));
const page = renderPage(sections);
if (process.argv.includes('--print')) process.stdout.write(page);
else writeFileSync(PAGE, page);

function renderPage(sections) {
  const rules = sections.flatMap((section) => section.rules);
  return `${[
    '# Conformance',
    `<!-- Made from ${SOURCE.slice('docs/'.length)} by scripts/conformance.mjs. Change that file, and run it. -->`,
    'Every rule of the specification of the API, and every id of the wire checklist (what real clients were seen to require and real upstreams',
    'to send), every limit that protects tenants from one another and every fault of an upstream that is out to harm us, with the tests that prove it. A rule is open when nothing proves it, or not all of it; the reason stands beside it.',
    'A test of the repository holds this page to the tests it names.',
    countTable(sections, rules),
    ...openRules(rules),
    ...sections.map(renderSection),
  ].join('\n')}\n`;
}

function countTable(sections, rules) {
  const rows = sections.map(({ title, rules }) => `| ${title} | ${counts(rules)} |`);
  return ['', '| section | rules | proven | open |', '|---|---|---|---|', ...rows, `| **all** | ${counts(rules)} |`, ''].join('\n');
}

function counts(rules) {
  const open = rules.filter(isOpen).length;
  return `${rules.length} | ${rules.length - open} | ${open}`;
}

function isOpen({ reason }) {
  return reason !== undefined;
}

function openRules(rules) {
  const rows = rules.filter(isOpen).map(({ id, rule, reason }) => `| ${id} | ${cell(rule)} | ${cell(reason)} |`);
  return ['## What is open', '', '| id | rule | why |', '|---|---|---|', ...rows, ''];
}

function renderSection({ title, rules }) {
  const rows = rules.map((rule) => `| ${rule.id} | ${cell(rule.rule)} | ${proof(rule)} |`);
  return [`## ${title}`, '', '| id | rule | proof |', '|---|---|---|', ...rows, ''].join('\n');
}

function proof({ tests = [], reason }) {
  return [...(reason === undefined ? [] : ['**open**']), ...tests.map(renderTest)].join('<br>');
}

function renderTest({ file, title }) {
  const [folder, name] = file.split('/').slice(-2);
  const link = `[${name.endsWith('.json') || name.endsWith('.sse') ? `${folder}/${name}` : name}](../${file})`;
  return title === undefined ? link : `${link}: ${cell(title)}`;
}

/** Text in a cell of a table: nothing in it ends the cell, or begins anything else. */
function cell(text) {
  return text.replace(/[\\`*_[\]<>$|]/g, '\\$&');
}
