const COMMENT = /^# (?:HELP|TYPE|UNIT) (\S+)/;
const EOF = '# EOF';

/** Joins texts of metrics to one, in which each metric stands once with the samples of all texts. Both formats forbid to repeat a metric. */
export function mergeMetrics(texts: readonly string[]): string {
  const families = new Map<string, { from: number; head: string[]; samples: string[] }>();
  for (const [from, text] of texts.entries()) {
    let name = '';
    for (const line of text.split('\n').filter((one) => one !== '' && one !== EOF)) {
      name = COMMENT.exec(line)?.[1] ?? name;
      const family = families.get(name) ?? { from, head: [], samples: [] };
      families.set(name, family);
      if (!line.startsWith('# ')) family.samples.push(line);
      else if (family.from === from) family.head.push(line);
    }
  }
  const isOpen = texts.some((text) => text.endsWith(`${EOF}\n`));
  const lines = [...families.values()].flatMap(({ head, samples }) => [...head, ...samples]);
  return `${[...lines, ...(isOpen ? [EOF] : [])].join('\n')}\n`;
}
