type List = 'upstreams' | 'models';

/** Returns the text of a catalog with one more entry in a list, and its first line. Every other line stays as it is, comments included. */
export function insertEntry(yaml: string, list: List, entry: readonly string[]): { yaml: string; line: number } {
  const lines = yaml.split('\n');
  const head = findHead(lines, list);
  if (head < 0) {
    const before = yaml === '' || yaml.endsWith('\n') ? yaml : `${yaml}\n`;
    return { yaml: `${before}\n${list}:\n${indentEntry(entry, '  ').join('\n')}\n`, line: before.split('\n').length + 2 };
  }
  // A list that is empty in brackets becomes one of lines.
  lines[head] = (lines[head] ?? '').replace(/^(\w+:)\s*\[\s*\]/, '$1');
  const last = findLastLine(lines, head);
  const gap = last === head ? [] : [''];
  lines.splice(last + 1, 0, ...gap, ...indentEntry(entry, readIndent(lines.slice(head + 1, last + 1))));
  return { yaml: lines.join('\n'), line: last + 2 + gap.length };
}

/** Ids of the entries of a list: `- id: a`, `- { id: a, … }`, or a line `id: a` below the first of its entry. */
export function readIds(yaml: string, list: List): string[] {
  const lines = yaml.split('\n');
  const head = findHead(lines, list);
  if (head < 0) return [];
  const entries = lines.slice(head + 1, findLastLine(lines, head) + 1);
  const id = new RegExp(`^${readIndent(entries)}(?:- +(?:\\{ *)?|  )id: *(?:"([^"]*)"|'([^']*)'|([^\\s,}]+))`);
  return entries.flatMap((line) => id.exec(line)?.slice(1).filter(Boolean) ?? []);
}

function findHead(lines: readonly string[], list: List): number {
  return lines.findIndex((line) => line.startsWith(`${list}:`));
}

/** White space before the dashes of a list. */
function readIndent(entries: readonly string[]): string {
  return /^(\s*)- /.exec(entries.find((line) => /^\s*- /.test(line)) ?? '')?.[1] ?? '  ';
}

/** The last line of the list below `head`: entries are indented, or begin with a dash. */
function findLastLine(lines: readonly string[], head: number): number {
  let last = head;
  for (let at = head + 1; at < lines.length; at++) {
    const line = lines[at] ?? '';
    if (/^(\s+\S|- )/.test(line)) last = at;
    else if (line.trim() !== '' && !line.startsWith('#')) break;
  }
  return last;
}

function indentEntry(entry: readonly string[], indent: string): string[] {
  return entry.map((line, at) => `${indent}${at === 0 ? '- ' : '  '}${line}`);
}
