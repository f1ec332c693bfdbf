import { randomUUID } from 'node:crypto';
import { budgetList } from '#contracts/billing/budgets.js';
import { stack } from '#testing/stack.js';
import { createTenant, type Tenant } from '#testing/tenant.js';
import { axeFindings, describeWithBrowser, openPage, sharedBrowser, signInByInvite, untilSettled } from './browser.js';

/** Searches of the second day, from the page where a person looks first. */
describeWithBrowser('looking up', () => {
  const { panelUrl: origin, gatewayUrl } = stack();
  const shared = sharedBrowser();
  let tenant: Tenant;

  const openAt = async (path: string) => {
    const owner = { email: `${randomUUID()}@example.com`, role: 'owner', accountId: tenant.accountId } as const;
    const { page, problems } = await openPage(shared.browser, {
      origin,
      cookie: await signInByInvite(shared.administrator, origin, owner),
    });
    await page.goto(`/panel/a/${tenant.accountId}/${path}`);
    await untilSettled(page);
    return { page, problems };
  };

  beforeAll(async () => {
    tenant = await createTenant(shared.administrator);
  });

  test('a line of a log that is pasted into Requests opens its request, and a text without an id says which ids there are', async () => {
    const answer = await fetch(`${gatewayUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim-fast', messages: [{ role: 'user', content: 'Hello' }] }),
    });
    const requestId = answer.headers.get('x-request-id') ?? '';
    await answer.text();
    const { page } = await openAt('requests');
    const field = page.getByRole('searchbox', { name: 'Find by id' });
    await field.fill('yesterday');
    await field.press('Enter');
    await page.getByRole('alert').getByText('Give the id of a request').waitFor();
    await field.fill(`00:07:27 ok {"id":"${requestId.replace('req_', 'chatcmpl-')}"} x-request-id: ${requestId}`);
    await page.waitForURL(`**/requests/${requestId}`);
    await untilSettled(page);
    // The moments of the timeline have no day.
    await page.getByText(/^\d+ [A-Z][a-z]+ \d{4} \S+$/).waitFor();
    await page.context().close();
  });

  test('a budget is made with its own thresholds, which its change shows', async () => {
    const { page, problems } = await openAt('budgets');
    await page.getByRole('button', { name: 'New budget' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Limit in USD').fill('3');
    const thresholds = dialog.getByLabel('Notify at');
    expect(await thresholds.inputValue()).toBe('50, 80, 100');
    await thresholds.fill('80, 200');
    await dialog.getByText('Write whole percentages from 1 to 100').waitFor();
    expect(await dialog.getByRole('button', { name: 'Create budget' }).isDisabled()).toBe(true);
    await thresholds.fill('80 % 95 %');
    expect(await axeFindings(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Create budget' }).click();
    await dialog.waitFor({ state: 'detached' });
    const { budgets } = await shared.administrator.request(budgetList, { accountId: tenant.accountId });
    await page.getByRole('button', { name: /^Change the budget/ }).click();
    expect({ stored: budgets[0]?.thresholds, shown: await thresholds.inputValue(), problems }).toEqual({
      ...{ stored: [80, 95], shown: '80, 95', problems: [] },
    });
    await page.context().close();
  });

  test('a misspelled model of a key is told before it is saved', async () => {
    const { page } = await openAt('keys');
    await page.getByRole('button', { name: 'New key' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Models, networks and limits').click();
    await dialog.getByLabel('Models').fill('sim-fsat\nsim-fast');
    await dialog.getByText('There is no model sim-fsat yet.').waitFor();
    await dialog.getByText('Allows sim-fast.').waitFor();
    await page.context().close();
  });
});
