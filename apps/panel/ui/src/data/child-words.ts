import { CHILD_PATH } from '#contracts/rules/child-path.js';

/** Characters of the random part of an id that pages show. */
const SHOWN = 8;

/** Names a child key by its chain, the child key of the key itself first: `9f86d081 › 2c26b46b`. Other texts stay as they are. */
export function describeChild(path: string): string {
  if (!CHILD_PATH.test(path)) return path;
  const ids = path.split('.').map((id) => id.slice(id.indexOf('-') + 1).slice(0, SHOWN));
  return ids.join(' › ');
}
