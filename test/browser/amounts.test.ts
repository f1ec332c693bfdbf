import { randomUUID } from 'node:crypto';
import { type Budget, budgetList, budgetSet } from '#contracts/billing/budgets.js';
import { balanceGet } from '#contracts/billing/money.js';
import { stack } from '#testing/stack.js';
import { createTenant } from '#testing/tenant.js';
import { describeWithBrowser, openPage, sharedBrowser, signInByInvite, untilSettled } from './browser.js';

/** Amount fields: the panel reads them by one rule, and repeats what it read. */
describeWithBrowser('amounts', () => {
  const { panelUrl: origin } = stack();
  const shared = sharedBrowser();

  const openAs = async (role: 'admin' | 'owner', accountId: string, path: string) => {
    const email = `${randomUUID()}@example.com`;
    const cookie = await signInByInvite(shared.administrator, origin, { email, role, ...(role === 'owner' && { accountId }) });
    const { page } = await openPage(shared.browser, { origin, cookie });
    await page.goto(`/panel/a/${accountId}/${path}`);
    await untilSettled(page);
    return page;
  };
  const listBudgets = async (accountId: string): Promise<Pick<Budget, 'period' | 'projectId' | 'limitPicoUsd'>[]> => {
    const { budgets } = await shared.administrator.request(budgetList, { accountId });
    return budgets.map(({ period, projectId, limitPicoUsd }) => ({ period, projectId, limitPicoUsd }));
  };

  test('a top-up of 2,50 is refused with its right form, and one of 2.50 is repeated below the field [money-amount-field]', async () => {
    const { accountId } = await createTenant(shared.administrator);
    const page = await openAs('admin', accountId, 'money');
    await page.getByRole('button', { name: 'Top up' }).click();
    const dialog = page.getByRole('dialog');
    const amount = dialog.getByLabel('Amount in USD');
    const send = dialog.getByRole('button', { name: 'Top up' });
    await amount.fill('2,50');
    await dialog.getByText('Write cents with a point: 2.50').waitFor();
    expect(await send.isDisabled()).toBe(true);
    await amount.fill('2.50');
    await dialog.getByText('= $2.50').waitFor();
    await send.click();
    await dialog.waitFor({ state: 'detached' });
    const { balance_usd } = await shared.administrator.request(balanceGet, { accountId });
    expect(balance_usd).toBe('12.50');
    await page.context().close();
  });

  test('a new budget of a target that has one becomes its change, with the present limit [money-create-budget]', async () => {
    const { accountId, projectId } = await createTenant(shared.administrator);
    await shared.administrator.request(budgetSet, { accountId, projectId, period: 'month', limitPicoUsd: '1000000000000' });
    const page = await openAs('owner', accountId, 'budgets');
    await page.getByRole('button', { name: 'New budget' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Limit in USD').waitFor();
    await dialog.getByLabel('Budget of').selectOption(`projectId/${projectId}`);
    await dialog.getByRole('heading', { name: /^Change the budget of project .*: now \$1\.00$/ }).waitFor();
    expect(await dialog.getByLabel('Limit in USD, monthly').inputValue()).toBe('1.00');
    await dialog.getByLabel('Period').selectOption('day');
    await dialog.getByRole('heading', { name: 'New budget' }).waitFor();
    await dialog.getByLabel('Limit in USD').fill('0,50');
    await dialog.getByText('Write cents with a point: 0.50').waitFor();
    await dialog.getByLabel('Limit in USD').fill('0.50');
    await dialog.getByRole('button', { name: 'Create budget' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await listBudgets(accountId)).toEqual([
      { period: 'day', projectId, limitPicoUsd: '500000000000' },
      { period: 'month', projectId, limitPicoUsd: '1000000000000' },
    ]);
    await page.context().close();
  });

  test('a new budget that another person made meanwhile is not replaced: the form shows the present one [money-create-budget]', async () => {
    const { accountId } = await createTenant(shared.administrator);
    const page = await openAs('owner', accountId, 'budgets');
    await page.getByRole('button', { name: 'New budget' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Limit in USD').fill('2');
    await shared.administrator.request(budgetSet, { accountId, period: 'month', limitPicoUsd: '1000000000000' });
    await dialog.getByRole('button', { name: 'Create budget' }).click();
    await dialog.getByText('There is such a budget already, with a limit of $1.00. Change it instead.').waitFor();
    await dialog.getByRole('heading', { name: 'Change the budget of the whole account: now $1.00' }).waitFor();
    expect(await listBudgets(accountId)).toEqual([{ period: 'month', projectId: null, limitPicoUsd: '1000000000000' }]);
    await page.context().close();
  });
});
