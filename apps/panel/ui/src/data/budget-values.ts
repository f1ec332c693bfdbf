/** The requests of a target that a budget counts: all together, or those of users or of values of a tag. */
export const COUNTINGS = {
  all: { label: 'All requests together', field: undefined },
  'each-user': { label: 'Each end user', field: undefined },
  user: { label: 'One end user', field: 'User' },
  'each-tag': { label: 'Each value of a tag', field: 'Tag' },
  tag: { label: 'One value of a tag', field: 'Tag and value, such as team=search' },
} as const;
export type Counting = keyof typeof COUNTINGS;

interface Values {
  dimension?: string;
  value?: string;
}

/** Parses what a budget counts. Undefined: `text` does not name it. */
export function parseValues(counting: Counting, text: string): Values | undefined {
  const [, tag, value] = /^([A-Za-z0-9][\w.-]{0,63})(?:=(.+))?$/.exec(text.trim()) ?? [];
  switch (counting) {
    case 'all':
      return {};
    case 'each-user':
      return { dimension: 'user' };
    case 'user':
      return text.trim() ? { dimension: 'user', value: text.trim() } : undefined;
    case 'each-tag':
      return tag && value === undefined ? { dimension: `tag:${tag}` } : undefined;
    case 'tag':
      return tag && value ? { dimension: `tag:${tag}`, value } : undefined;
  }
}
