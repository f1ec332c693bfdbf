const COMMENT = /^# (?:HELP|TYPE|UNIT) (\S+)/;
const EOF = '# EOF';

/** Joins texts of metrics to one, in which each metric stands once with the samples of all texts. Both formats forbid to repeat a metric. */
export function mergeMetrics(texts: readonly string[]): string {
  const families = new Map<string, { head: string[]; samples: string[] }>();
  let isOpen = false;
  for (const text of texts) {
    const begun = new Set<string>();
    let name = '';
    for (const line of text.split('\n')) {
      if (line === EOF) isOpen = true;
      if (line === EOF || line === '') continue;
      name = COMMENT.exec(line)?.[1] ?? name;
      const known = families.get(name);
      if (known === undefined || begun.has(name)) {
        const family = known ?? { head: [], samples: [] };
        families.set(name, family);
        begun.add(name);
        (line.startsWith('# ') ? family.head : family.samples).push(line);
      } else if (!line.startsWith('# ')) known.samples.push(line);
    }
  }
  const lines = [...families.values()].flatMap(({ head, samples }) => [...head, ...samples]);
  return `${[...lines, ...(isOpen ? [EOF] : [])].join('\n')}\n`;
}
