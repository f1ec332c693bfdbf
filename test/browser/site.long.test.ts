import { globSync, readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { brokenLinks } from '../../scripts/site/broken-links.ts';
import { buildSite } from '../../scripts/site/build-site.ts';
import { serveFolder } from '../../scripts/site/serve-folder.ts';
import { axeFindings, describeWithBrowser, launchBrowser, openPage } from './browser.js';

/** Bytes of the front page with all that it loads, uncompressed: pages are read on phones. */
const FRONT_PAGE_BYTES_MAX = 500_000;
/** Below a folder, as a forge hosts it, and with a forge: nothing but such a build shows a link that ignores them. */
const BASE = '/tollgate/';
const REPOSITORY = 'https://forge.example.com/us/tollgate/blob/main';

let folder: string;

beforeAll(async () => {
  process.env.SITE_VERSIONS = 'https://docs.example.com/v1.1.0/ https://docs.example.com/v1.0.0/';
  folder = await buildSite({ base: BASE, repository: REPOSITORY });
});

test('the site has no broken link', () => {
  expect(globSync('**/*.html', { cwd: folder }).length).toBeGreaterThan(70);
  expect(brokenLinks(folder, BASE)).toEqual([]);
});

test('links to files outside the documentation lead to the forge', () => {
  expect(readFileSync(join(folder, 'deployment.html'), 'utf8')).toContain(`href="${REPOSITORY}/config/nats.conf"`);
});

test('each page is served as Markdown, and llms.txt names all of them', () => {
  const pages = globSync('**/*.html', { cwd: folder, exclude: ['404.html'] }).map((page) => page.replace('.html', '.md'));
  expect(globSync('**/*.md', { cwd: folder }).sort()).toEqual(pages.sort());
  const listed = [...readFileSync(join(folder, 'llms.txt'), 'utf8').matchAll(/^- \[.+\]\((.+)\)$/gm)].map(([, page]) => page);
  expect(listed.sort()).toEqual(pages.filter((page) => page !== 'index.md'));
});

describeWithBrowser('in a browser', () => {
  let server: Server;
  let browser: Browser;
  let origin: string;

  beforeAll(async () => {
    server = await serveFolder(folder, { base: BASE });
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    server?.close();
  });

  test.each([
    ['How do I point Codex at it?', 'Codex CLI', 'model_provider = "tollgate"'],
    ['What happens to money when a pod dies?', 'Settlement', 'before the reserve is committed'],
    ['How do I add Azure?', 'Credentials of upstreams', 'Azure OpenAI: a deployment is the model'],
    ['Can you explain this bill?', 'For finance', 'tollgate request show'],
    ['How do I upgrade?', 'Upgrading', 'Compose and Kubernetes migrate by themselves'],
  ])('one click answers: %s', async (question, heading, answer) => {
    const { page, problems } = await openPage(browser, { origin });
    await page.goto(BASE);
    await page.getByRole('link', { name: question, exact: true }).click();
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    await page.getByText(answer).first().waitFor();
    expect(problems).toEqual([]);
    await page.context().close();
  });

  test('the menu of versions leads to the sites of other versions', async () => {
    const { page } = await openPage(browser, { origin });
    await page.goto(BASE);
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    await page.getByRole('button', { name: version }).first().hover();
    const link = page.getByRole('link', { name: 'v1.0.0' }).first();
    await link.waitFor();
    expect(await link.getAttribute('href')).toBe('https://docs.example.com/v1.0.0/');
    await page.context().close();
  });

  test.each(
    ['', 'guides/finance.html', 'use-with/codex-cli.html', 'settlement.html', 'metrics.html', 'reference/tenants-file.html'].flatMap(
      (path) => (['light', 'dark'] as const).map((scheme) => ({ path, scheme })),
    ),
  )('axe finds nothing, and a phone need not scroll sideways: "$path" in $scheme', async ({ path, scheme }) => {
    const { page, problems } = await openPage(browser, { origin, scheme });
    await page.goto(BASE + path, { waitUntil: 'networkidle' });
    const findings = await axeFindings(page);
    await page.setViewportSize({ width: 360, height: 780 });
    const excess = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
    expect({ findings, problems, excess }).toEqual({ findings: [], problems: [], excess: 0 });
    await page.context().close();
  });

  test('search finds a page without a server', async () => {
    const { page } = await openPage(browser, { origin });
    await page.goto(BASE);
    await page.getByRole('button', { name: 'Search' }).first().click();
    await page.getByRole('searchbox').fill('leap of the clock lease');
    await page.locator('#localsearch-list a').first().waitFor();
    await page.getByRole('searchbox').fill('insufficient_balance');
    await page.locator('#localsearch-list a', { hasText: 'API' }).first().waitFor();
    await page.context().close();
  });

  test('the front page stays light', async () => {
    const { page } = await openPage(browser, { origin });
    let bytes = 0;
    page.on('response', (response) => {
      void response.body().then((body) => {
        bytes += body.length;
      });
    });
    await page.goto(BASE, { waitUntil: 'networkidle' });
    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes).toBeLessThan(FRONT_PAGE_BYTES_MAX);
    await page.context().close();
  });
});
