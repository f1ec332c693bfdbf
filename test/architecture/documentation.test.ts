import 'reflect-metadata';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ServiceConfig } from '#config/service-config.js';
import { BillingConfig } from '../../apps/billing/src/billing.config.js';
import { CatalogConfig } from '../../apps/catalog/src/catalog.config.js';
import { GatewayConfig } from '../../apps/gateway/src/gateway.config.js';
import { InferenceProxyConfig } from '../../apps/inference-proxy/src/inference-proxy.config.js';

/** What the pages say and can be held to: links, settings with their defaults, metrics. */
const PAGES = ['README.md', 'CONTRIBUTING.md', ...pagesBelow('docs'), ...pagesBelow('apps'), ...pagesBelow('libs'), ...pagesBelow('bench')];
const OPERATIONS = readFileSync('docs/operations.md', 'utf8');

function pagesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return ['node_modules', 'generated', 'src', '__fixtures__'].includes(entry.name) ? [] : pagesBelow(path);
    return entry.name.endsWith('.md') ? [path] : [];
  });
}

test('every link leads to something in the repository', () => {
  expect(PAGES.length).toBeGreaterThan(15);
  const links = PAGES.flatMap((page) =>
    [...readFileSync(page, 'utf8').matchAll(/\]\(([^)#\s]+)/g)].map(([, target = '']) => ({ page, target })),
  ).filter(({ target }) => !/^[a-z]+:/.test(target));
  expect(links.length).toBeGreaterThan(20);
  expect(links.filter(({ page, target }) => !existsSync(join(dirname(page), target)))).toEqual([]);
});

test('every file and folder that a page names is there', () => {
  const paths = readdirSync('.');
  for (const folder of ['apps', 'libs', 'docs', 'k8s', 'scripts', 'test', 'bench', 'config', 'prisma']) {
    const below = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => !path.includes('node_modules'));
    paths.push(...below.map((path) => `${folder}/${path}`));
  }
  const endings = new Set(paths.flatMap((path) => path.split('/').map((_, at, parts) => parts.slice(at).join('/'))));
  const named = PAGES.flatMap((page) =>
    [
      ...readFileSync(page, 'utf8').matchAll(
        /`((?:apps|libs|docs|k8s|scripts|test|bench|config|prisma)\/[^`\s<*…]+|[\w./-]+\.(?:ts|mjs))`/g,
      ),
    ].map(([, name = '']) => ({ page, name: name.replace(/\/$/, '') })),
  );
  expect(named.length).toBeGreaterThan(100);
  expect(named.filter(({ name }) => !endings.has(name))).toEqual([]);
});

test('every metric operators are told to watch is exported', () => {
  const named = new Set([...OPERATIONS.matchAll(/`((?:tollgate|gen_ai_(?:client|server))_\w+)/g)].map(([, name = '']) => name));
  expect(named.size).toBeGreaterThan(3);
  const exported = new Set(
    ['apps', 'libs'].flatMap(sourcesBelow).flatMap((text) => text.match(/(?<=')(?:tollgate|gen_ai)_\w+(?=')/g) ?? []),
  );
  expect([...named].filter((name) => !exported.has(name))).toEqual([]);
});

function sourcesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .map((file) => readFileSync(join(folder, file), 'utf8'));
}

test.each([
  ['every service on NATS', ServiceConfig, []],
  ['gateway', GatewayConfig, Object.keys(new ServiceConfig())],
  ['billing', BillingConfig, Object.keys(new ServiceConfig())],
  ['catalog', CatalogConfig, Object.keys(new ServiceConfig())],
  ['inference-proxy', InferenceProxyConfig, Object.keys(new ServiceConfig())],
] as [string, new () => object, string[]][])('docs/operations.md names each setting with its default: %s', (title, Config, shared) => {
  const settings = Object.entries(new Config())
    .filter(([property]) => !shared.includes(property))
    .map(([property, initial]) => [
      property.replace(/[A-Z]/g, (capital) => `_${capital}`).toUpperCase(),
      initial === '' || Number.isNaN(initial) ? 'required' : String(initial),
    ]);
  expect(Object.fromEntries(settingsIn(title))).toEqual(Object.fromEntries(settings));
});

/** The table with this title: names to defaults. A row may hold several names, with one default each or one for all. */
function settingsIn(title: string): [string, string][] {
  const table = OPERATIONS.split(/\n\n/).find((block) => block.startsWith(`| ${title} |`));
  if (!table) throw new Error(`docs/operations.md has no table "${title}"`);
  return table.split('\n').flatMap((row) => {
    const [, names = '', defaults = ''] = row.split('|');
    const values = defaults.split(',').map((value) => value.replaceAll('`', '').trim());
    const found = [...names.matchAll(/`([A-Z][A-Z_]+)`/g)];
    return found.map(([, name = ''], index): [string, string] => [name, values[values.length === 1 ? 0 : index] ?? '']);
  });
}
