import { posix } from 'node:path';
import { markdownPath } from './site-pages.ts';

/** Where links of a page may lead. */
export interface LinkTargets {
  /** Name of the page on the site by its path in the repository. */
  pages: ReadonlyMap<string, string>;
  /** Files that the site serves: paths in the repository, with their paths on the site. */
  files: ReadonlyMap<string, string>;
  /** Address of the repository's files on its forge. Without one, links to them become their text. */
  repository?: string | undefined;
}

const CODE = /(^ *```[\s\S]*?^ *```$|`[^`\n]+`)/m;
const LINK = /(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g;
const PICTURE = /<picture>\s*<source[^>]* srcset="([^"]+)">\s*<img alt="([^"]+)" src="([^"]+)">\s*<\/picture>/g;

/**
 * Returns the Markdown of a page with links that work on the site: to pages and served files as they are there, to other files on the
 * forge. Code is left as it is.
 */
export function rewriteLinks(markdown: string, { path, name, targets }: { path: string; name: string; targets: LinkTargets }): string {
  const place = (target: string) => locate(target, { path, name, targets });
  return withoutCode(markdown, (text) =>
    text
      .replace(PICTURE, (_, dark: string, alt: string, light: string) => {
        const image = (source: string, scheme: string) => `<img class="for-${scheme}" alt="${alt}" src="${place(source) ?? source}">`;
        return `${image(light, 'light')}\n${image(dark, 'dark')}`;
      })
      .replace(LINK, (_, image: string, label: string, target: string) => {
        const located = place(target);
        return located === undefined ? label : `${image}[${label}](${located})`;
      }),
  );
}

/** Changes the text between pieces of code. A label of a link may have code: the link is then changed around it. */
function withoutCode(markdown: string, change: (text: string) => string): string {
  const pieces: string[] = [];
  const hidden = markdown.replace(new RegExp(CODE, 'gm'), (piece) => `\u0000${pieces.push(piece) - 1}\u0000`);
  return change(hidden).replace(/\0(\d+)\0/g, (_, at: string) => pieces[Number(at)] ?? '');
}

/** Returns where a link leads from the page, or undefined when that is a file of the repository and the forge is unknown. */
function locate(target: string, { path, name, targets }: { path: string; name: string; targets: LinkTargets }): string | undefined {
  if (/^([a-z]+:|[#/])/.test(target)) return target;
  const [file = '', anchor] = target.split('#');
  const found = posix.join(posix.dirname(path), file).replace(/\/$/, '');
  const suffix = anchor === undefined ? '' : `#${anchor}`;
  const page = targets.pages.get(found) ?? targets.pages.get(`${found}/README.md`);
  if (page !== undefined) return posix.relative(posix.dirname(markdownPath(name)), markdownPath(page)) + suffix;
  const served = targets.files.get(found);
  if (served !== undefined) return `/${served}${suffix}`;
  return targets.repository && `${targets.repository}/${found}${suffix}`;
}
