import { randomUUID } from 'node:crypto';
import { budgetSet } from '#contracts/billing/budgets.js';
import { stack } from '#testing/stack.js';
import { createTenant, type Tenant, untilNoHolds } from '#testing/tenant.js';
import { axeFindings, describeWithBrowser, openPage, sharedBrowser, signInByInvite, untilSettled, type WatchedPage } from './browser.js';

/** The page Requests: refused ones, failed ones, filters, rows, saved views. */
describeWithBrowser('requests', () => {
  const { panelUrl: origin, gatewayUrl } = stack();
  const shared = sharedBrowser();

  const openAs = async (role: 'owner' | 'admin', tenant: Tenant, path: string): Promise<WatchedPage> => {
    const scope = role === 'owner' ? { accountId: tenant.accountId } : {};
    const cookie = await signInByInvite(shared.administrator, origin, { email: `${randomUUID()}@example.com`, role, ...scope });
    const watched = await openPage(shared.browser, { origin, cookie });
    await watched.page.goto(`/panel${path}`);
    await untilSettled(watched.page);
    return watched;
  };

  /** Calls a model. Returns the id of the request, and the sentence of its error. */
  const call = async (tenant: Tenant, body: object = {}, directive = ''): Promise<{ requestId: string; message: string }> => {
    const response = await fetch(`${gatewayUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim-fast', messages: [{ role: 'user', content: `Hello${directive}` }], ...body }),
    });
    const reply = (await response.json()) as { error?: { message: string } };
    return { requestId: response.headers.get('x-request-id') ?? '', message: reply.error?.message ?? '' };
  };

  test('a refused request is found from Overview, says what its client was told, and leads to the budget', async () => {
    const tenant = await createTenant(shared.administrator);
    const { accountId, projectId } = tenant;
    await shared.administrator.request(budgetSet, { accountId, period: 'month', limitPicoUsd: '1000000000000' });
    await shared.administrator.request(budgetSet, { accountId, projectId, period: 'day', limitPicoUsd: '1' });
    const { requestId, message } = await call(tenant);
    const { page, problems } = await openAs('owner', tenant, `/a/${accountId}/overview`);
    await page.getByRole('link', { name: '402 insufficient_balance' }).click();
    await untilSettled(page);
    const row = page.getByRole('table', { name: 'Requests', exact: true }).getByRole('row').filter({ hasText: 'Refused' });
    await row.getByText('402 insufficient_balance').waitFor();
    expect([await row.getByText(message).count(), new URL(page.url()).search]).toEqual([1, '?status=402&code=insufficient_balance']);
    // A click beside the link opens the row.
    await row.getByText('Refused').click();
    await page.waitForURL(`**/requests/${requestId}`);
    await page.getByRole('blockquote').getByText(message).waitFor();
    // Billing knows no such request: the browser reports the 404.
    expect([await axeFindings(page), problems.filter((problem) => !problem.includes('404'))]).toEqual([[], []]);
    await page.getByRole('link', { name: 'The budget that refused it' }).click();
    await untilSettled(page);
    const budgets = page.getByRole('table', { name: 'Budgets' }).getByRole('row');
    expect([await budgets.count(), await budgets.nth(1).innerText()]).toEqual([2, expect.stringContaining('Project')]);
    await page.getByRole('button', { name: 'Remove the filter One budget' }).click();
    await budgets.nth(2).waitFor();
    await page.context().close();
  });

  test('a failed request shows the status of its upstream, and operators its reason, in the order of time', async () => {
    const tenant = await createTenant(shared.administrator);
    const { requestId } = await call(tenant, {}, ' [[sim status=500]]');
    await untilNoHolds(shared.administrator, tenant.accountId);
    const seen: [number, boolean][] = [];
    for (const role of ['owner', 'admin'] as const) {
      const { page, problems } = await openAs(role, tenant, `/requests/${requestId}`);
      const calls = page.getByText('the upstream answered with an error, status 500');
      await calls.first().waitFor();
      const times = await page
        .locator('ol li > div:first-child')
        .evaluateAll((cells) => cells.map((cell) => cell.querySelector('time')?.dateTime));
      expect(times).toEqual(times.toSorted());
      expect(await page.locator('ol li svg').count()).toBe(times.length);
      seen.push([await page.getByText('Reason:').count(), /\d m?s/.test(await page.getByText('Client waited').locator('..').innerText())]);
      expect([await axeFindings(page), problems]).toEqual([[], []]);
      await page.context().close();
    }
    expect(seen).toEqual([
      [0, true],
      [expect.any(Number), true],
    ]);
    expect(seen[1]?.[0]).toBeGreaterThan(0);
  });

  test('filters find requests by user, tag and cost, are saved as a view, and travel in the address', async () => {
    const tenant = await createTenant(shared.administrator);
    const path = `/a/${tenant.accountId}/requests`;
    const { requestId } = await call(tenant, { user: 'ada' });
    await call(tenant, { user: 'bob' });
    await untilNoHolds(shared.administrator, tenant.accountId);
    const { page, problems } = await openAs('owner', tenant, path);
    const rows = page.getByRole('table', { name: 'Requests', exact: true }).locator('tbody td:first-child').getByRole('link');
    expect(await rows.count()).toBe(2);
    await page.getByRole('button', { name: 'More filters' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('User').fill('ada');
    await dialog.getByLabel('Cost up to, $').fill('2,5');
    await dialog.getByText('Write', { exact: false }).first().waitFor();
    expect(await dialog.getByRole('button', { name: 'Apply' }).isDisabled()).toBe(true);
    await dialog.getByLabel('Cost up to, $').fill('2.50');
    await page.setViewportSize({ width: 360, height: 780 });
    expect([await axeFindings(page), await page.evaluate('document.documentElement.scrollWidth - innerWidth')]).toEqual([[], 0]);
    await page.setViewportSize({ width: 1440, height: 900 });
    await dialog.getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('button', { name: 'Remove the filter User ada' }).waitFor();
    await untilSettled(page);
    await rows.nth(1).waitFor({ state: 'detached' });
    expect(await rows.evaluateAll((links) => links.map((link) => link.getAttribute('href')))).toEqual([`/panel/requests/${requestId}`]);

    await page.getByRole('button', { name: 'Save this view' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('What ada spends');
    await page.keyboard.press('Enter');
    const address = page.url();
    await page.goto(`/panel${path}`);
    await untilSettled(page);
    await page.getByLabel('Saved view').selectOption('What ada spends');
    await page.waitForURL(address);
    await page.getByRole('button', { name: 'Remove view' }).click();
    await page.getByLabel('Saved view').waitFor({ state: 'detached' });
    expect([await axeFindings(page), problems]).toEqual([[], []]);
    await page.context().close();
  });

  test('a head sorts the list by its column, the largest first, then the smallest', async () => {
    const tenant = await createTenant(shared.administrator);
    const { requestId: dear } = await call(tenant, {}, ` ${'word '.repeat(50)}`);
    const { requestId: cheap } = await call(tenant);
    await untilNoHolds(shared.administrator, tenant.accountId);
    const { page, problems } = await openAs('owner', tenant, `/a/${tenant.accountId}/requests`);
    const table = page.getByRole('table', { name: 'Requests', exact: true });
    const links = table.locator('tbody td:first-child').getByRole('link');
    const seen = async (order: string, first: string) => {
      await table.locator(`th[aria-sort="${order}"]`).filter({ hasText: 'Cost' }).waitFor();
      // The rows of the order before stay until the others are there.
      await table.locator(`tbody tr:first-child a[href$="${first}"]`).first().waitFor();
      return links.evaluateAll((all) => all.map((link) => link.getAttribute('href')?.split('/').at(-1)));
    };
    await table.getByRole('button', { name: 'Cost' }).click();
    expect(await seen('descending', dear)).toEqual([dear, cheap]);
    await table.getByRole('button', { name: 'Cost' }).click();
    expect(await seen('ascending', cheap)).toEqual([cheap, dear]);
    await page.getByText('Running and refused requests are not in this order.').waitFor();
    expect([new URL(page.url()).search, await axeFindings(page), problems]).toEqual(['?sort=cost', [], []]);
    await page.context().close();
  });

  test('the focused link of a row gives the whole row its ring', async () => {
    const tenant = await createTenant(shared.administrator);
    await call(tenant);
    await untilNoHolds(shared.administrator, tenant.accountId);
    const { page } = await openAs('owner', tenant, `/a/${tenant.accountId}/requests`);
    const ring = () => page.evaluate('getComputedStyle(document.querySelector(`section[aria-label="Requests"] tbody tr`)).outlineStyle');
    expect(await ring()).toBe('none');
    await page.getByRole('region', { name: 'Requests', exact: true }).focus();
    // The heads that sort come first.
    for (let heads = 5; heads >= 0; heads--) await page.keyboard.press('Tab');
    expect([await ring(), await page.evaluate('document.activeElement.tagName')]).toEqual(['solid', 'A']);
    await page.context().close();
  });
});
