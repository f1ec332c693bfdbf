import { randomUUID } from 'node:crypto';
import { budgetList, budgetRemove } from '#contracts/billing/budgets.js';
import { stack } from '#testing/stack.js';
import { createTenant } from '#testing/tenant.js';
import { axeFindings, describeWithBrowser, openPage, sharedBrowser, signInByInvite, untilSettled } from './browser.js';

/** The page Audit: sentences, links and filters. */
describeWithBrowser('the journal', () => {
  const { panelUrl: origin } = stack();
  const shared = sharedBrowser();

  test('a change of a budget is a sentence with links, is found by target, person, action and time, and outlives its budget', async () => {
    const { accountId, projectId } = await createTenant(shared.administrator);
    const email = `${randomUUID()}@example.com`;
    const cookie = await signInByInvite(shared.administrator, origin, { email, role: 'owner', accountId });
    await fetch(`${origin}/panel/v1/accounts/${accountId}/budgets`, {
      method: 'POST',
      headers: { cookie, origin, 'content-type': 'application/json' },
      body: JSON.stringify({ projectId, period: 'day', limitPicoUsd: '1000000000' }),
    });
    const [budget] = (await shared.administrator.request(budgetList, { accountId })).budgets;
    const budgetId = budget?.budgetId ?? '';
    const { page, problems } = await openPage(shared.browser, { origin, cookie });
    await page.goto(`/panel/a/${accountId}/budgets`);
    await untilSettled(page);
    await page.getByRole('button', { name: /^Change the budget of/ }).click();
    await page.getByRole('dialog').getByLabel('Limit in USD').fill('0.003');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'History' }).click();
    await page.waitForURL(`**/audit?target=${encodeURIComponent(`budget/${budgetId}`)}`);
    const changes = () => page.locator('tbody tr').filter({ has: page.getByRole('button', { name: /^Details of/ }) });
    const sentence = `${email} set the daily budget of project test to $0.003, before $0.001`;
    await page.getByText(sentence).waitFor();
    expect(await changes().count()).toBe(2);
    await shared.administrator.request(budgetRemove, { budgetId });

    // All that the person did.
    await page.getByLabel('Who').selectOption(email);
    await page.getByLabel('Target').selectOption('');
    await page.getByText('joined as', { exact: false }).or(page.getByText('accepted an invite')).first().waitFor();
    await page.getByLabel('Action').selectOption('budget.update');
    // The rows of the question before stay until the answer is there.
    await changes().nth(1).waitFor({ state: 'detached' });
    await page.getByText(sentence).waitFor();

    // A time of the person's own.
    await page.getByRole('button', { name: 'From – to' }).click();
    await page.getByLabel('From, UTC').fill('2020-01-01T00:00');
    await page.getByLabel('To, UTC').fill('2019-01-01T00:00');
    await page.getByRole('dialog').getByRole('button', { name: 'Show' }).click();
    await page.getByText('The end is after the start.').waitFor();
    await page.getByLabel('To, UTC').fill('2020-02-01T00:00');
    await page.getByRole('dialog').getByRole('button', { name: 'Show' }).click();
    await page.getByText('No change fits').waitFor();
    await page.getByRole('link', { name: '24 h' }).click();
    await page.getByText(sentence).waitFor();

    await page.getByRole('button', { name: /^Details of budget.update/ }).click();
    const dialog = page.getByRole('dialog', { name: 'Change' });
    await dialog.getByText(`budget/${budgetId}`).waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await dialog.getByRole('link', { name: 'All changes of this target' }).click();
    await page.getByLabel('Who').selectOption('');
    await page.getByLabel('Action').selectOption('');
    await page.getByText('removed the daily budget of $0.003 on project test').waitFor();
    await page.getByRole('link', { name: 'project test' }).first().click();
    await page.waitForURL(`**/projects/${projectId}`);
    expect(problems).toEqual([]);
    await page.context().close();
  });
});
