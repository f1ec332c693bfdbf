import { randomUUID } from 'node:crypto';
import { accountList } from '#contracts/billing/accounts.js';
import { requestShow } from '#contracts/billing/requests.js';
import { stack } from '#testing/stack.js';
import { createTenant, untilNoHolds } from '#testing/tenant.js';
import { axeFindings, describeWithBrowser, openPage, sharedBrowser, signInByInvite, untilSettled } from './browser.js';

/** The page Money: credit notes, and the settings of the account. */
describeWithBrowser('money', () => {
  const { panelUrl: origin, gatewayUrl } = stack();
  const shared = sharedBrowser();

  const openAs = async (role: 'admin' | 'finance', accountId: string) => {
    const email = `${randomUUID()}@example.com`;
    const cookie = await signInByInvite(shared.administrator, origin, { email, role, ...(role === 'finance' && { accountId }) });
    const { page, problems } = await openPage(shared.browser, { origin, cookie });
    await page.goto(`/panel/a/${accountId}/money`);
    await untilSettled(page);
    return { page, problems };
  };
  const call = async (accountId: string, apiKey: string): Promise<string> => {
    const reply = await fetch(`${gatewayUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim-fast', messages: [{ role: 'user', content: 'Hello' }] }),
    });
    await reply.text();
    await untilNoHolds(shared.administrator, accountId);
    return reply.headers.get('x-request-id') ?? '';
  };
  const readAccount = async (accountId: string) => (await shared.administrator.request(accountList, { accountId })).accounts[0];

  test('the cost of a request is given back once, in the statement and in the list', async () => {
    const { accountId, apiKey } = await createTenant(shared.administrator);
    const other = await createTenant(shared.administrator);
    const [requestId, foreign] = [await call(accountId, apiKey), await call(other.accountId, other.apiKey)];
    const { page, problems } = await openAs('admin', accountId);
    await page.getByText('No credit notes').waitFor();
    await page.getByRole('button', { name: 'New credit note' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Request id').fill(foreign);
    await dialog.getByText('This request belongs to another account.').waitFor();
    await dialog.getByLabel('Request id').fill(requestId);
    await dialog.getByLabel('Reason').fill('a useless reply');
    expect(await axeFindings(page)).toEqual([]);
    await dialog.getByLabel('Amount in USD').fill('5');
    await dialog.getByText(/is not given back yet/).waitFor();
    expect(await dialog.getByRole('button', { name: 'Give back' }).isDisabled()).toBe(true);
    await dialog.getByLabel('Amount in USD').fill('');
    await dialog.getByRole('button', { name: /^Give back \$/ }).click();
    await dialog.waitFor({ state: 'detached' });
    const { settlement, creditNotes } = await shared.administrator.request(requestShow, { requestId });
    expect(creditNotes.map(({ amountPicoUsd, reason }) => [amountPicoUsd, reason])).toEqual([[settlement?.costPicoUsd, 'a useless reply']]);
    await page.getByRole('region', { name: 'Credit notes' }).getByRole('link', { name: 'a useless reply' }).waitFor();
    await page
      .getByRole('region', { name: /^Statement of/ })
      .getByText('Credit note')
      .waitFor();
    await page.getByRole('link', { name: 'a useless reply' }).click();
    await page.waitForURL(`**/requests/${requestId}`);
    await page.getByRole('button', { name: 'Credit note' }).click();
    await page.getByRole('dialog').getByText('All of its cost was given back before.').waitFor();
    expect(problems).toEqual([]);
    await page.context().close();
  });

  test('an operator sets the price plan from a day on, freezes the account with a reason and frees it', async () => {
    const { accountId } = await createTenant(shared.administrator);
    const { page, problems } = await openAs('admin', accountId);
    await page.getByRole('button', { name: 'Freeze the account' }).click();
    await page.getByRole('dialog').getByLabel('Reason').fill('unpaid');
    await page.getByRole('button', { name: 'Freeze account' }).click();
    await page.getByText('unpaid').first().waitFor();
    await page.getByRole('button', { name: 'Unfreeze the account' }).click();
    await page.getByRole('button', { name: 'Unfreeze account' }).click();
    await page.getByRole('button', { name: 'Freeze the account' }).waitFor();
    await page.getByRole('button', { name: 'Change the price plan' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('From (UTC)').fill('2020-01-01');
    await dialog.getByText(/It has begun/).waitFor();
    await dialog.getByLabel('From (UTC)').fill('2099-01-01');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    const { status, nextPricePlan } = (await readAccount(accountId)) ?? {};
    expect([status, nextPricePlan, problems]).toEqual(['active', { pricePlan: null, from: '2099-01-01T00:00:00.000Z' }, []]);
    await page.context().close();
  });

  test('finance sets the low balance, and sees no button of the operator', async () => {
    const { accountId } = await createTenant(shared.administrator);
    const { page, problems } = await openAs('finance', accountId);
    await page.getByText('no warning').waitFor();
    const names = ['New credit note', 'Freeze the account', 'Change the price plan', 'Top up', 'Credit line'];
    expect(await Promise.all(names.map((name) => page.getByRole('button', { name }).count()))).toEqual([0, 0, 0, 0, 0]);
    await page.getByRole('button', { name: 'Change the low balance' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Amount in USD').fill('2.50');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('a warning below $2.50').waitFor();
    expect([(await readAccount(accountId))?.lowBalancePicoUsd, problems]).toEqual(['2500000000000', []]);
    await page.context().close();
  });
});
