import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, Page } from 'playwright-core';
import type { Messaging } from '#messaging/messaging.js';
import { stack } from '#testing/stack.js';
import { connectAdministrator, createTenant, type Tenant, untilNoHolds } from '#testing/tenant.js';
import { describeWithBrowser, launchBrowser, openPage, type Scheme, signInByInvite, untilSettled } from './browser.js';

/** Every page with data, in both schemes: accessible, within the content policy, without an error, and no wider than a phone. */

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const SCHEMES: Scheme[] = ['light', 'dark'];
/** Pages of an account, by the names in their address. */
const OF_ACCOUNT = ['overview', 'usage', 'requests', 'projects', 'keys', 'money', 'models', 'members', 'audit'];
const OF_PLATFORM = ['overview', 'accounts', 'upstreams', 'ledger', 'audit'];
const WITHOUT_SESSION = ['/panel/', '/panel/welcome#incomplete'];

describeWithBrowser('pages', () => {
  const { panelUrl: origin, gatewayUrl } = stack();
  let administrator: Messaging;
  let browser: Browser;
  let cookie: string;
  let tenant: Tenant;
  let paths: string[];

  beforeAll(async () => {
    administrator = await connectAdministrator(stack());
    tenant = await createTenant(administrator);
    const requestId = await call(tenant.apiKey, 'sim-fast');
    await call(tenant.apiKey, 'sim-fast', ' [[sim fail=500]]');
    await untilNoHolds(administrator, tenant.accountId);
    cookie = await signInByInvite(administrator, origin, { email: `${randomUUID()}@example.com`, role: 'admin' });
    paths = [
      ...OF_ACCOUNT.map((name) => `/panel/a/${tenant.accountId}/${name}`),
      ...OF_PLATFORM.map((name) => `/panel/a/all/${name}`),
      `/panel/requests/${requestId}`,
      '/panel/profile',
    ];
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await administrator?.close();
  });

  async function call(apiKey: string, model: string, directive = ''): Promise<string> {
    const response = await fetch(`${gatewayUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: `Hello${directive}` }] }),
    });
    await response.text();
    return response.headers.get('x-request-id') ?? '';
  }

  async function axeFindings(page: Page): Promise<object[]> {
    await page.evaluate(AXE);
    return await page.evaluate(async () => {
      const { axe } = globalThis as unknown as { axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> } };
      const { violations } = await axe.run();
      return violations.map(({ id, nodes }) => ({ id, elements: nodes.map(({ html }) => html.slice(0, 200)) }));
    });
  }

  test.each(SCHEMES)('every page is accessible and causes no error, %s', async (scheme) => {
    const { page, problems } = await openPage(browser, { origin, cookie, scheme });
    for (const path of paths) {
      await page.goto(path);
      await untilSettled(page);
      expect({ path, problems: problems.splice(0), findings: await axeFindings(page) }).toEqual({ path, problems: [], findings: [] });
    }
    await page.context().close();
  });

  test.each(SCHEMES)('the pages before a session are accessible, %s', async (scheme) => {
    const { page } = await openPage(browser, { origin, scheme });
    for (const path of WITHOUT_SESSION) {
      await page.goto(path);
      await page.locator('main h1').waitFor();
      expect({ path, findings: await axeFindings(page) }).toEqual({ path, findings: [] });
    }
    await page.context().close();
  });

  test('no page is wider than a screen of 360 pixels', async () => {
    const { page } = await openPage(browser, { origin, cookie, width: 360, height: 780 });
    for (const path of paths) {
      await page.goto(path);
      await untilSettled(page);
      const excess = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect({ path, excess }).toEqual({ path, excess: 0 });
    }
    await page.context().close();
  });

  test('the navigation leads to the pages of this test', async () => {
    const { page } = await openPage(browser, { origin, cookie });
    await page.goto(`/panel/a/${tenant.accountId}/overview`);
    await untilSettled(page);
    const names = await page.getByRole('navigation', { name: 'Pages' }).getByRole('link').evaluateAll((links) => links.map((link) => link.getAttribute('href')?.split('/').at(-1)));
    expect(new Set(names)).toEqual(new Set([...OF_ACCOUNT, ...OF_PLATFORM]));
    await page.context().close();
  });

  test('the first page loads at most 160 kB of compressed script and shows its data without a jump', async () => {
    const { page } = await openPage(browser, { origin, cookie });
    let bytes = 0;
    page.on('response', async (response) => {
      if (response.request().resourceType() === 'script') bytes += Number((await response.allHeaders())['content-length'] ?? Number.NaN);
    });
    await page.addInitScript(() => {
      const found = { shift: 0 };
      Object.assign(globalThis, { found });
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) found.shift += (entry as unknown as { value: number }).value;
      }).observe({ type: 'layout-shift', buffered: true });
    });
    await page.goto(`/panel/a/${tenant.accountId}/overview`);
    await untilSettled(page);
    const shift = await page.evaluate(() => (globalThis as unknown as { found: { shift: number } }).found.shift);
    expect({ isSmall: bytes > 0 && bytes <= 160_000, shift }).toEqual({ isSmall: true, shift: 0 });
    await page.context().close();
  });
});
