import { randomBytes, randomUUID } from 'node:crypto';
import { stack } from '#testing/stack.js';
import { createTenant, type Tenant, untilNoHolds } from '#testing/tenant.js';
import {
  axeFindings,
  describeWithBrowser,
  examine,
  openPage,
  type Scheme,
  sharedBrowser,
  signInByInvite,
  untilSettled,
} from './browser.js';

/** Every page with data: accessible, within the content policy, without an error, no wider than a phone, in both schemes. */

const SCHEMES: Scheme[] = ['light', 'dark'];
/** Pages of an account, by the names in their address. */
const OF_ACCOUNT = [
  'overview',
  'usage',
  'requests',
  'projects',
  'keys',
  'playground',
  'budgets',
  'money',
  'notifications',
  'models',
  'members',
  'audit',
];
const OF_PLATFORM = ['overview', 'accounts', 'upstreams', 'services', 'ledger', 'margin', 'audit'];
/** Tabs of the page Models. */
const TABS = ['scheduled', 'file', 'history'];
const WITHOUT_SESSION = ['/panel/', '/panel/welcome#incomplete'];

/** Script of a page: notes what moved while it loaded. */
const NOTE_SHIFTS = `
  shifts = [];
  new PerformanceObserver((list) => {
    for (const { value, sources } of list.getEntries()) shifts.push({ value, moved: sources.map(({ node }) => node?.outerHTML?.slice(0, 200)) });
  }).observe({ type: 'layout-shift', buffered: true });`;

describeWithBrowser('pages', () => {
  const { panelUrl: origin, gatewayUrl } = stack();
  const shared = sharedBrowser();
  let cookie: string;
  let tenant: Tenant;
  let paths: string[];

  beforeAll(async () => {
    const { administrator } = shared;
    tenant = await createTenant(administrator);
    const requestId = await call(tenant.apiKey, 'sim-fast');
    await call(tenant.apiKey, 'sim-fast', ' [[sim fail=500]]');
    await untilNoHolds(administrator, tenant.accountId);
    cookie = await signInByInvite(administrator, origin, { email: `${randomUUID()}@example.com`, role: 'admin' });
    paths = [
      ...OF_ACCOUNT.map((name) => `/panel/a/${tenant.accountId}/${name}`),
      ...OF_PLATFORM.map((name) => `/panel/a/all/${name}`),
      ...TABS.map((tab) => `/panel/a/all/models?tab=${tab}`),
      `/panel/a/${tenant.accountId}/projects/${tenant.projectId}`,
      '/panel/a/all/models/sim-fast',
      '/panel/a/all/upstreams/local',
      `/panel/requests/${requestId}`,
      '/panel/profile',
    ];
  });

  async function call(apiKey: string, model: string, directive = '', headers: Record<string, string> = {}): Promise<string> {
    const response = await fetch(`${gatewayUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: `Hello${directive}` }] }),
    });
    await response.text();
    return response.headers.get('x-request-id') ?? '';
  }

  test('the first page loads at most 160 kB of compressed script and shows its data without a jump', async () => {
    const { accountId } = await createTenant(shared.administrator);
    const ownCookie = await signInByInvite(shared.administrator, origin, {
      email: `${randomUUID()}@example.com`,
      role: 'owner',
      accountId,
    });
    const { page } = await openPage(shared.browser, { origin, cookie: ownCookie });
    await page.addInitScript(NOTE_SHIFTS);
    await page.goto(`/panel/a/${accountId}/overview`);
    await untilSettled(page);
    const bytes = (await page.evaluate(`performance.getEntriesByType('resource')
      .filter(({ name }) => new URL(name).pathname.endsWith('.js')).reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`)) as number;
    expect({ bytes, isSmall: bytes > 0 && bytes <= 160_000, shifts: await page.evaluate('shifts') }).toEqual({
      bytes,
      isSmall: true,
      shifts: [],
    });
    await page.context().close();
  });

  test('every page is accessible, has enough contrast in the dark scheme, causes no error, and fits a screen of 360 pixels', async () => {
    const watched = await openPage(shared.browser, { origin, cookie });
    for (const path of paths) {
      const found = { path, ...(await examine(watched, path)) };
      expect(found).toEqual({ path, problems: [], light: [], dark: [], excess: 0 });
    }
    await watched.page.context().close();
  });

  test('the page of a request links its trace', async () => {
    const traceId = randomBytes(16).toString('hex');
    const requestId = await call(tenant.apiKey, 'sim-fast', '', { traceparent: `00-${traceId}-${randomBytes(8).toString('hex')}-01` });
    await untilNoHolds(shared.administrator, tenant.accountId);
    const { page } = await openPage(shared.browser, { origin, cookie });
    await page.goto(`/panel/requests/${requestId}`);
    const link = page.getByRole('link', { name: traceId });
    expect(await link.getAttribute('href')).toBe(`https://traces.example.com/trace/${traceId}`);
    await page.context().close();
  });

  test.each(SCHEMES)('the pages before a session are accessible, %s', async (scheme) => {
    const { page } = await openPage(shared.browser, { origin, scheme });
    for (const path of WITHOUT_SESSION) {
      await page.goto(path);
      await page.locator('main h1').waitFor();
      expect({ path, findings: await axeFindings(page) }).toEqual({ path, findings: [] });
    }
    await page.context().close();
  });

  test('the navigation leads to the pages of this test', async () => {
    const { page } = await openPage(shared.browser, { origin, cookie });
    await page.goto(`/panel/a/${tenant.accountId}/overview`);
    await untilSettled(page);
    const names = await page
      .getByRole('navigation', { name: 'Pages' })
      .getByRole('link')
      .evaluateAll((links) => links.map((link) => link.getAttribute('href')?.split('/').at(-1)));
    expect(new Set(names)).toEqual(new Set([...OF_ACCOUNT, ...OF_PLATFORM]));
    await page.context().close();
  });
});
