import { TAG_NAME } from '#contracts/rules/bounds.js';

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
  const written = text.trim();
  const [, tag, value] = /^([^=]*)(?:=(.+))?$/.exec(written) ?? [];
  const dimension = tag !== undefined && TAG_NAME.test(tag) ? `tag:${tag}` : undefined;
  switch (counting) {
    case 'all':
      return {};
    case 'each-user':
      return { dimension: 'user' };
    case 'user':
      return written ? { dimension: 'user', value: written } : undefined;
    case 'each-tag':
      return dimension && value === undefined ? { dimension } : undefined;
    case 'tag':
      return dimension && value ? { dimension, value } : undefined;
  }
}
