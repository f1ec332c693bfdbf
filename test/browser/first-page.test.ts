import { randomUUID } from 'node:crypto';
import type { Browser } from 'playwright-core';
import type { Messaging } from '#messaging/messaging.js';
import { stack } from '#testing/stack.js';
import { connectAdministrator, createTenant } from '#testing/tenant.js';
import { describeWithBrowser, launchBrowser, openPage, signInByInvite, untilSettled } from './browser.js';

/** Script of a page: notes what moved while it loaded. */
const NOTE_SHIFTS = `
  shifts = [];
  new PerformanceObserver((list) => {
    for (const { value, sources } of list.getEntries()) shifts.push({ value, moved: sources.map(({ node }) => node?.outerHTML?.slice(0, 200)) });
  }).observe({ type: 'layout-shift', buffered: true });`;

describeWithBrowser('first page', () => {
  const { panelUrl: origin } = stack();
  let administrator: Messaging;
  let browser: Browser;
  beforeAll(async () => {
    administrator = await connectAdministrator(stack());
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await administrator?.close();
  });

  test('the first page loads at most 160 kB of compressed script and shows its data without a jump', async () => {
    const { accountId } = await createTenant(administrator);
    const cookie = await signInByInvite(administrator, origin, { email: `${randomUUID()}@example.com`, role: 'owner', accountId });
    const { page } = await openPage(browser, { origin, cookie });
    let bytes = 0;
    page.on('response', async (response) => {
      if (response.request().resourceType() === 'script') bytes += Number((await response.allHeaders())['content-length'] ?? Number.NaN);
    });
    await page.addInitScript(NOTE_SHIFTS);
    await page.goto(`/panel/a/${accountId}/overview`);
    await untilSettled(page);
    const shifts = await page.evaluate('shifts');
    expect({ isSmall: bytes > 0 && bytes <= 160_000, shifts }).toEqual({ isSmall: true, shifts: [] });
    await page.context().close();
  });
});
