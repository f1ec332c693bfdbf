import { randomUUID } from 'node:crypto';
import { accountUpdate } from '#contracts/billing/accounts.js';
import { webhookAdd } from '#contracts/billing/webhooks.js';
import { stack } from '#testing/stack.js';
import { createTenant, type Tenant } from '#testing/tenant.js';
import { WebhookReceiver } from '../../apps/billing/test/webhook-receiver.js';
import { axeFindings, describeWithBrowser, openPage, sharedBrowser, signInByInvite, untilSettled, type WatchedPage } from './browser.js';

/** The page Notifications with a real receiver. */
describeWithBrowser('notifications', () => {
  const { panelUrl: origin } = stack();
  const shared = sharedBrowser();
  let receiver: WebhookReceiver;
  beforeAll(async () => {
    receiver = await WebhookReceiver.start();
  });
  afterAll(() => receiver.stop());

  const openAs = async (role: 'admin' | 'owner', tenant: Tenant): Promise<WatchedPage> => {
    const person = { email: `${randomUUID()}@example.com`, role, ...(role === 'owner' && { accountId: tenant.accountId }) };
    const cookie = await signInByInvite(shared.administrator, origin, person);
    const watched = await openPage(shared.browser, { origin, cookie });
    await watched.page.goto(`/panel/a/${tenant.accountId}/notifications`);
    await untilSettled(watched.page);
    return watched;
  };
  /** Makes an event of the account. */
  const makeEvent = ({ accountId }: Tenant, lowBalanceUsd: string) =>
    shared.administrator.request(accountUpdate, { accountId, lowBalanceUsd });

  test('a webhook is added, tested, gets an event, gets it again, is muted and removed', async () => {
    const tenant = await createTenant(shared.administrator);
    const { page, problems } = await openAs('admin', tenant);
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'New notification' }).first().click();
    await dialog.getByLabel('URL').fill(receiver.url('/acme'));
    await dialog.getByLabel('Addresses').selectOption('private');
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await dialog.getByText(/^whsec_/).waitFor();
    await dialog.getByRole('button', { name: 'Done' }).click();

    const { host } = new URL(receiver.url('/'));
    await page.getByRole('button', { name: `Test ${host}` }).click();
    await dialog.getByRole('button', { name: 'Send test' }).click();
    await dialog.getByRole('status').getByText('Accepted').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    expect(receiver.at('/acme').map(({ event }) => event.kind)).toEqual(['test']);

    await makeEvent(tenant, '900');
    await receiver.until(() => receiver.at('/acme').length === 2);
    await page.reload();
    const row = page.getByRole('row', { name: /the balance is low, .* with a threshold of \$900\.00/ });
    await row.getByText('Delivered').waitFor();
    await row.getByRole('button', { name: 'Show event 1' }).click();
    await dialog.getByRole('button', { name: 'Send again' }).click();
    await dialog.getByRole('status').getByText('Accepted').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).last().click();
    await receiver.until(() => receiver.at('/acme').length === 3);

    await page.getByRole('button', { name: `Edit ${host}` }).click();
    await dialog.getByLabel('Events').selectOption('off');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page
      .getByRole('row', { name: new RegExp(host) })
      .getByText('Muted')
      .waitFor();
    await makeEvent(tenant, '901');
    await page.getByRole('button', { name: `Edit ${host}` }).click();
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await dialog.getByRole('button', { name: 'Remove notification' }).click();
    await page.getByText('No one is notified yet').waitFor();
    expect({ problems, got: receiver.at('/acme').map(({ event }) => event.kind) }).toEqual({
      problems: [],
      got: ['test', 'balance-low', 'balance-low'],
    });
    await page.context().close();
  });

  test('the page names what is wrong with a webhook, is accessible in both schemes, and fits a phone', async () => {
    const tenant = await createTenant(shared.administrator);
    const url = 'http://127.0.0.1:9/down';
    await shared.administrator.request(webhookAdd, { accountId: tenant.accountId, url, allowPrivateNetwork: true });
    await makeEvent(tenant, '900');
    const { page, problems } = await openAs('admin', tenant);
    await page.getByText('Failing').waitFor();
    await page.getByText('Retrying').waitFor();
    await page.getByRole('cell', { name: 'JSON', exact: true }).waitFor();
    const found = async () => [
      await axeFindings(page),
      await page.evaluate('Math.max(0, document.documentElement.scrollWidth - innerWidth)'),
    ];
    expect(await found()).toEqual([[], 0]);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 360, height: 780 });
    expect(await found()).toEqual([[], 0]);
    await page.getByRole('button', { name: 'Show event 1' }).click();
    expect(await found()).toEqual([[], 0]);
    expect(problems).toEqual([]);
    await page.context().close();
  });

  test('an owner does not see the webhooks of the operator, and adds public ones alone', async () => {
    const tenant = await createTenant(shared.administrator);
    await shared.administrator.request(webhookAdd, { accountId: tenant.accountId, url: 'https://hooks.example.com/operator' });
    const { page, problems } = await openAs('owner', tenant);
    await page.getByText('No one is notified yet').waitFor();
    await page.getByRole('button', { name: 'New notification' }).first().click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByLabel('Addresses').count()).toBe(0);
    await dialog.getByLabel('URL').fill('https://hooks.example.com/acme');
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await page
      .getByRole('row', { name: /hooks\.example\.com/ })
      .getByText('/acme')
      .waitFor();
    expect(problems).toEqual([]);
    await page.context().close();
  });
});
