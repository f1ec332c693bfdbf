import { existsSync, readFileSync } from 'node:fs';

/** Version of every service and document; `package.json` is its only source. */
export const VERSION: string = readVersion();

/** Searches the parent folders, because sources and build output differ in depth. */
function readVersion(): string {
  let file = new URL('package.json', import.meta.url);
  while (!existsSync(file)) {
    const above = new URL('../package.json', file);
    if (above.href === file.href) throw new Error('found no package.json in the parent folders');
    file = above;
  }
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
