import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitepress';
import { headingAnchor } from '../../scripts/site/heading-anchor.ts';

/** Written by `npm run site`, which sets these variables (scripts/site/build-site.ts). */
const { SITE_PAGES = '', SITE_BUILD = '', SITE_CACHE = '', SITE_BASE = '/', SITE_VERSIONS = '' } = process.env;
const { version, sidebar } = JSON.parse(readFileSync(join(SITE_PAGES, 'sidebar.json'), 'utf8'));

export default defineConfig({
  title: 'Tollgate',
  description: 'A language-model gateway that bills exactly',
  lang: 'en',
  base: SITE_BASE,
  srcDir: SITE_PAGES,
  outDir: SITE_BUILD,
  cacheDir: SITE_CACHE,
  // Times of commits are not those of pages: a page is staged from several files.
  lastUpdated: false,
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  transformHead: ({ page }) =>
    page === '404.md' ? [] : [['link', { rel: 'alternate', type: 'text/markdown', href: `${SITE_BASE}${page}` }]],
  markdown: {
    anchor: { slugify: headingAnchor },
    // Colours whose contrast with the background is at least 4.5 to 1 in both schemes.
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config: (markdown) => {
      // Braces in the text of a page are text: they are not Vue's.
      markdown.renderer.rules.text = (tokens, at) => escapeText(tokens[at]?.content ?? '');
      markdown.core.ruler.push('empty-headers', ({ tokens }) => markEmptyHeaders(tokens));
    },
  },
  themeConfig: {
    siteTitle: 'Tollgate',
    nav: [
      { text: 'Start', link: '/start' },
      { text: 'Reference', link: '/api' },
      { text: 'Runbooks', link: '/runbooks' },
      { text: version, items: [{ text: 'What changed', link: '/changelog' }, ...otherVersions()] },
    ],
    sidebar,
    outline: [2, 3],
    search: { provider: 'local' },
    docFooter: { prev: false, next: false },
  },
});

/** Links to the sites of other versions, by the last part of their address. */
function otherVersions(): { text: string; link: string; target: string }[] {
  const addresses = SITE_VERSIONS.split(/\s+/).filter(Boolean);
  return addresses.map((link) => ({ text: new URL(link).pathname.split('/').filter(Boolean).at(-1) ?? link, link, target: '_self' }));
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('{{', '&#123;&#123;');
}

/** The empty corner of a table is a cell: an empty header has nothing to say to a screen reader. */
function markEmptyHeaders(tokens: { type: string; content: string; tag: string }[]): void {
  tokens.forEach((token, at) => {
    const [cell, end] = [tokens[at - 1], tokens[at + 1]];
    if (token.type === 'inline' && token.content === '' && cell?.type === 'th_open' && end) cell.tag = end.tag = 'td';
  });
}
