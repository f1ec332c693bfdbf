import { randomUUID } from 'node:crypto';
import { stack } from '#testing/stack.js';
import { createTenant, type Tenant, untilNoHolds } from '#testing/tenant.js';
import { describeWithBrowser, openPage, sharedBrowser, signInByInvite, untilSettled } from './browser.js';

/** Charts by keyboard, zones of moments and titles of tabs. */
describeWithBrowser('reading', () => {
  const { panelUrl: origin, gatewayUrl } = stack();
  const shared = sharedBrowser();
  let tenant: Tenant;
  let cookie: string;

  beforeAll(async () => {
    tenant = await createTenant(shared.administrator);
    const reply = await fetch(`${gatewayUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim-fast', messages: [{ role: 'user', content: 'Hello' }] }),
    });
    await reply.text();
    await untilNoHolds(shared.administrator, tenant.accountId);
    const email = `${randomUUID()}@example.com`;
    cookie = await signInByInvite(shared.administrator, origin, { email, role: 'owner', accountId: tenant.accountId });
  });

  async function open(page: string) {
    const watched = await openPage(shared.browser, { origin, cookie });
    await watched.page.goto(`/panel/a/${tenant.accountId}/${page}`);
    await untilSettled(watched.page);
    return watched.page;
  }

  test('a chart is one stop of the Tab key, arrow keys move along its bars, and Enter opens the requests of one', async () => {
    const page = await open('overview');
    const chart = page.getByRole('group', { name: 'Spend over time' });
    const stops = () => chart.locator('a[data-bar][tabindex="0"]');
    const label = () => stops().getAttribute('aria-label');
    expect(await stops().count()).toBe(1);
    const newest = await label();
    await stops().focus();
    await page.keyboard.press('ArrowLeft');
    const before = await label();
    await page.keyboard.press('End');
    expect([newest === before, await label(), await stops().count()]).toEqual([false, newest, 1]);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/requests?from=*');
    await page.context().close();
  });

  test('moments are shown in the zone that the person has chosen, which the head of their column names', async () => {
    const page = await open('overview');
    expect(await page.title()).toMatch(/^Overview · .+ · Tollgate$/);
    await page.goto('/panel/profile');
    await page.getByLabel('Moments are shown in').selectOption('utc');
    await page.goto(`/panel/a/${tenant.accountId}/projects/${tenant.projectId}`);
    await untilSettled(page);
    const requests = page.getByRole('region', { name: 'Last requests' });
    await requests.getByRole('columnheader', { name: 'Ended UTC' }).waitFor();
    const moment = requests.locator('time').first();
    const [shown, at, title] = [await moment.innerText(), await moment.getAttribute('datetime'), await moment.getAttribute('title')];
    const [, day, time] = /^\d{4}-\d\d-(\d\d)T(\d\d:\d\d:\d\d)/.exec(at ?? '') ?? [];
    expect(shown).toMatch(new RegExp(`^${Number(day)} \\w+, ${time}$`));
    expect(title).toContain(`${at?.replace('T', ' ').replace('Z', '')} UTC`);
    await page.context().close();
  });
});
