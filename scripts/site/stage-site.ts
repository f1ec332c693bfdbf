import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { parse } from 'yaml';
import { expandSidebar } from '../../site/sidebar.ts';
import { ROOT } from '../local/project.mjs';
import { type OpenApi, renderHttpReference } from './http-reference.ts';
import { type AsyncApi, renderNatsReference } from './nats-reference.ts';
import { type LinkTargets, rewriteLinks } from './page-links.ts';
import { renderSchema, renderSchemas, type Schema } from './schema-table.ts';
import { type GENERATED_PAGES, markdownPath, writtenPages } from './site-pages.ts';

/** Documents that the site serves as they are, by their path in the repository. */
const DOCUMENTS: Record<string, string> = {
  'docs/openapi.json': 'openapi.json',
  'docs/asyncapi.yaml': 'asyncapi.yaml',
  'docs/rules.yaml': 'rules.yaml',
  'docs/tenants.schema.json': 'tenants.schema.json',
  'apps/panel/openapi.json': 'panel-openapi.json',
};

/**
 * Writes the Markdown of every page, the files that the site serves and its sidebar into `folder`, which it empties first.
 */
export function stageSite(folder: string, { repository }: { repository?: string | undefined }): void {
  rmSync(folder, { recursive: true, force: true });
  const written = writtenPages();
  const files = servedFiles();
  const targets: LinkTargets = { pages: new Map([...written].map(([name, path]) => [path, name])), files, repository };
  const pages = new Map([...written].map(([name, path]) => [name, rewriteLinks(read(path), { path, name, targets })]));
  for (const [name, markdown] of Object.entries(generatedPages())) pages.set(name, markdown);
  for (const [name, markdown] of pages) write(join(folder, markdownPath(name)), markdown);
  for (const [path, served] of files) {
    mkdirSync(dirname(join(folder, 'public', served)), { recursive: true });
    cpSync(join(ROOT, path), join(folder, 'public', served));
  }
  const groups = expandSidebar([...pages.keys()]).map((group) => ({
    title: group.title,
    pages: group.pages.map((name) => ({ text: findTitle(pages.get(name) ?? ''), path: markdownPath(name) })),
  }));
  const { version } = JSON.parse(read('package.json')) as { version: string };
  const address = (path: string) => `/${path.replace(/(index)?\.md$/, '')}`;
  const sidebar = groups.map(({ title, pages: items }, at) => ({
    text: title,
    // The generator's group without a link is a button around a button, which screen readers cannot tell apart.
    link: address(items[0]?.path ?? ''),
    collapsed: at > 0,
    items: items.map(({ text, path }) => ({ text, link: address(path) })),
  }));
  write(join(folder, 'sidebar.json'), JSON.stringify({ version, sidebar }));
  write(join(folder, 'public/llms.txt'), renderLlmsText(groups));
}

function servedFiles(): Map<string, string> {
  const images = globSync(['docs/images/*', 'bench/results/*.svg'], { cwd: ROOT });
  return new Map([...Object.entries(DOCUMENTS), ...images.map((path): [string, string] => [path, `images/${basename(path)}`])]);
}

/** Markdown of each page that is made from the documents of the sources. */
function generatedPages(): Record<(typeof GENERATED_PAGES)[number], string> {
  const api = (path: string) => JSON.parse(read(path)) as OpenApi;
  return {
    'reference/http-api': renderHttpReference(api('docs/openapi.json'), { title: 'HTTP API, field by field', source: 'openapi.json' }),
    'reference/panel-api': renderHttpReference(api('apps/panel/openapi.json'), { title: 'API of the panel', source: 'panel-openapi.json' }),
    'reference/nats-messages': renderNatsReference(parse(read('docs/asyncapi.yaml')) as AsyncApi),
    'reference/tenants-file': renderTenantsReference(
      JSON.parse(read('docs/tenants.schema.json')) as Schema & { $defs: Record<string, Schema> },
    ),
  };
}

function renderTenantsReference(schema: Schema & { $defs: Record<string, Schema> }): string {
  return [
    '# Fields of a tenants file',
    'The schema: [tenants.schema.json](/tenants.schema.json).',
    renderSchema(schema),
    '## Schemas',
    renderSchemas(schema.$defs),
    '',
  ].join('\n\n');
}

function renderLlmsText(groups: { title: string; pages: { text: string; path: string }[] }[]): string {
  const sections = groups.map(({ title, pages }) => `## ${title}\n\n${pages.map(({ text, path }) => `- [${text}](${path})`).join('\n')}\n`);
  return `# Tollgate\n\n> A language-model gateway that bills exactly.\n\n${sections.join('\n')}`;
}

function findTitle(markdown: string): string {
  return (/^# (.+)$/m.exec(markdown)?.[1] ?? '').replaceAll('`', '');
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
