/** Returns the text of a catalog with one more entry in a list, and its first line. Every other line stays as it is, comments included. */
export function insertEntry(yaml: string, list: 'upstreams' | 'models', entry: readonly string[]): { yaml: string; line: number } {
  const lines = yaml.split('\n');
  const head = lines.findIndex((line) => line.startsWith(`${list}:`));
  if (head < 0) {
    const before = yaml.replace(/\n*$/, '\n');
    return { yaml: `${before}\n${list}:\n${indentEntry(entry, '  ').join('\n')}\n`, line: before.split('\n').length + 2 };
  }
  // A list that is empty in brackets becomes one of lines.
  if (new RegExp(`^${list}:\\s*\\[\\s*\\]`).test(lines[head] ?? '')) lines[head] = `${list}:`;
  const last = findLastLine(lines, head);
  const indent = /^(\s*)- /.exec(lines.slice(head + 1, last + 1).find((line) => /^\s*- /.test(line)) ?? '')?.[1] ?? '  ';
  const gap = last === head ? [] : [''];
  lines.splice(last + 1, 0, ...gap, ...indentEntry(entry, indent));
  return { yaml: lines.join('\n'), line: last + 2 + gap.length };
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
