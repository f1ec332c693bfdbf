import { existsSync, readFileSync } from 'node:fs';

/** Version of Tollgate, of every service and document: it stands in `package.json` and nowhere else. */
export const VERSION: string = readVersion();

/** The file is above this one, how far depends on whether this is the source or what was built of it. */
function readVersion(): string {
  let file = new URL('package.json', import.meta.url);
  while (!existsSync(file)) {
    const above = new URL('../package.json', file);
    if (above.href === file.href) throw new Error('there is no package.json above this file, which has the version');
    file = above;
  }
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
