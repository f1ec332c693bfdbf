import { existsSync, readFileSync } from 'node:fs';

const PACKAGE = JSON.parse(readAbove('package.json') as string) as { version: string; engines: { node: string } };

/** Version of every service and document; `package.json` is its only source. */
export const VERSION: string = PACKAGE.version;

/** Commit of the build, with `-dirty` after changes that are in no commit. Empty where the build knew none, and in a run from sources. */
export const COMMIT: string = readAbove('commit')?.trim() ?? '';

/** The build as `--version` prints it. */
export const BUILD = `${VERSION} (${COMMIT && `commit ${COMMIT}, `}Node ${process.version})`;

/** Says in a line that this version of Node is too old to run Tollgate. Undefined for one that is not. */
export function oldNode(version = process.versions.node): string | undefined {
  const needed = Number(/\d+/.exec(PACKAGE.engines.node)?.[0]);
  return Number.parseInt(version, 10) < needed ? `Tollgate needs Node ${needed}; this is Node ${version}` : undefined;
}

/** Ends the process, with a line on stderr, where `oldNode` has a reason. */
export function requireNode(): void {
  const reason = oldNode();
  if (!reason) return;
  process.stderr.write(`${reason}\n`);
  process.exit(1);
}

/** Reads the first file of this name in the folders from this one to that of `package.json`: sources and build output differ in depth. */
function readAbove(name: string): string | undefined {
  let folder = new URL('./', import.meta.url);
  while (!existsSync(new URL(name, folder))) {
    const above = new URL('../', folder);
    if (above.href === folder.href || existsSync(new URL('package.json', folder))) return undefined;
    folder = above;
  }
  return readFileSync(new URL(name, folder), 'utf8');
}
