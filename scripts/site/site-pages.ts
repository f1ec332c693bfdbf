import { globSync } from 'node:fs';
import { ROOT } from '../local/project.mjs';

/** Pages from outside docs, by their name on the site. */
const ELSEWHERE: Record<string, string> = {
  changelog: 'CHANGELOG.md',
  contributing: 'CONTRIBUTING.md',
  'reporting-vulnerabilities': 'SECURITY.md',
  'conformance-kit': 'conformance/README.md',
  benchmarks: 'bench/README.md',
  index: 'site/front.md',
};

/** Pages that are made from the documents of the sources. */
export const GENERATED_PAGES = ['reference/http-api', 'reference/panel-api', 'reference/nats-messages', 'reference/tenants-file'] as const;

/** Path in the repository of each written page, by its name on the site; a name of `docs` is its path without the ending. */
export function writtenPages(): Map<string, string> {
  const docs = globSync('docs/**/*.md', { cwd: ROOT }).sort();
  return new Map([
    ...docs.map((path): [string, string] => [path.slice('docs/'.length, -'.md'.length), path]),
    ...Object.entries(ELSEWHERE),
  ]);
}

/** Path of the Markdown of a page on the site. A README is the first page of its folder. */
export function markdownPath(name: string): string {
  return `${name.replace(/(^|\/)README$/, '$1index')}.md`;
}
