import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

/** Returns the links of a built site that lead to no file of it, or to no element of the page, each with its page. */
export function brokenLinks(folder: string, base = '/'): string[] {
  const pages = new Map(globSync('**/*.html', { cwd: folder }).map((path) => [path, readFileSync(join(folder, path), 'utf8')]));
  const anchors = new Map([...pages].map(([path, html]) => [path, new Set([...html.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id))]));
  return [...pages].flatMap(([page, html]) => {
    const links = new Set([...html.matchAll(/ (?:href|src)="([^"]*)"/g)].map(([, link = '']) => decodeLink(link)));
    return [...links].flatMap((link) => {
      if (/^([a-z]+:|\/\/)/.test(link)) return [];
      const [path = '', anchor] = link.split('#');
      if (path.startsWith('/') && !path.startsWith(base)) return [`${page}: ${link} is outside ${base}`];
      const target = path === '' ? page : locate(path.startsWith('/') ? path.slice(base.length) : posix.join(posix.dirname(page), path));
      const found = pages.has(target) ? !anchor || anchors.get(target)?.has(anchor) : existsSync(join(folder, target));
      return found ? [] : [`${page}: ${link}`];
    });
  });
}

function locate(path: string): string {
  return path === '' || path.endsWith('/') ? `${path}index.html` : path;
}

function decodeLink(link: string): string {
  return decodeURI(link.replaceAll('&amp;', '&').replaceAll('&quot;', '"').replaceAll('&#39;', "'"));
}
