import { readFileSync } from 'node:fs';
import { findAbove, requireAbove } from './find-above.js';

const PACKAGE = JSON.parse(readFileSync(requireAbove('package.json'), 'utf8')) as { version: string; engines: { node: string } };

/** Version of every service and document; `package.json` is its only source. */
export const VERSION: string = PACKAGE.version;

/** Commit of the build, with `-dirty` after changes that are in no commit. Empty where the build knew none, and in a run from sources. */
export const COMMIT: string = readCommit();

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

function readCommit(): string {
  const file = findAbove('commit');
  return file === undefined ? '' : readFileSync(file, 'utf8').trim();
}
