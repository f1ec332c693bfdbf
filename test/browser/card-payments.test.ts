import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import { autoTopupShow } from '#contracts/payments.js';
import type { Messaging } from '#messaging/messaging.js';
import { event, FakeStripe, STRIPE_KEY, STRIPE_SECRET, sendEvent } from '#testing/fake-stripe.js';
import { type RunningStack, stack as sharedStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator, createTenant, type Tenant } from '#testing/tenant.js';
import { axeFindings, describeWithBrowser, examine, openPage, sharedBrowser, signInByInvite, untilSettled } from './browser.js';

/** Payments by card on the page Money, with the real service and a Stripe of the test's own. */
describeWithBrowser('payments by card', () => {
  const shared = sharedBrowser();
  let stripe: FakeStripe;
  let stack: RunningStack;
  let administrator: Messaging;

  beforeAll(async () => {
    stripe = await FakeStripe.start();
    const settings = { STRIPE_SECRET_KEY: STRIPE_KEY, STRIPE_WEBHOOK_SECRET: STRIPE_SECRET, STRIPE_API_URL: stripe.url };
    stack = await startPrivateStack({
      layout: 'all',
      services: ['billing', 'catalog', 'panel', 'payments'],
      serviceEnv: { payments: { ...settings, AUTO_TOPUP_INTERVAL_MS: '50' } },
    });
    administrator = await connectAdministrator(stack);
  });
  afterAll(async () => {
    await administrator?.close();
    await stack?.stop();
    await stripe?.stop();
  });
  beforeEach(() => {
    stripe.fault = () => undefined;
    stripe.onCharge = () => 'succeeded';
  });

  /** Opens the page Money of a new account with $10. */
  const openAs = async (role: 'owner' | 'auditor') => {
    const tenant = await createTenant(administrator);
    const person = { email: `${randomUUID()}@example.com`, role, ...(role === 'owner' && { accountId: tenant.accountId }) };
    const cookie = await signInByInvite(administrator, stack.panelUrl, person);
    const watched = await openPage(shared.browser, { origin: stack.panelUrl, cookie });
    await watched.page.goto(`/panel/a/${tenant.accountId}/money`);
    await untilSettled(watched.page);
    return { ...watched, tenant };
  };

  /** Stands for the page of Stripe: paying sends the events of the payment, and leads back. */
  const actAsStripe = (page: Page) =>
    page.route('https://checkout.stripe.com/**', async (route) => {
      const [sessionId = '', session] = [...stripe.sessions].at(-1) ?? [];
      for (const payload of stripe.pay(sessionId)) expect(await sendEvent(stack.webhookUrl as string, payload)).toBe(200);
      await route.fulfill({ contentType: 'text/html', body: `<title>Stripe</title><a href="${session?.success_url}">Paid</a>` });
    });

  const pay = async (page: Page, usd: string, { store = false } = {}) => {
    await page.getByRole('button', { name: 'Add money' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Amount in USD').fill(usd);
    if (store) await dialog.getByLabel('Store the card').check();
    await dialog.getByRole('button', { name: 'Pay by card' }).click();
    await page.getByRole('link', { name: 'Paid' }).click();
    await page.getByText('Back from Stripe.').waitFor();
  };

  const setRule = async (page: Page, [threshold, amount, cap]: [string, string, string]) => {
    await page.getByRole('button', { name: 'Automatic top-up', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('When less than this is available').fill(threshold);
    await dialog.getByLabel('Top up by').fill(amount);
    await dialog.getByLabel('At most in a month').fill(cap);
    await dialog.getByRole('button', { name: 'Save' }).click();
  };

  /** Waits for the state of an automatic top-up. */
  const until = async ({ accountId }: Tenant, isReached: (shown: Awaited<ReturnType<typeof show>>) => boolean) => {
    while (!isReached(await show(accountId)));
  };
  const show = (accountId: string) => administrator.request(autoTopupShow, { accountId });
  const figure = (page: Page, label: string) => page.locator('dl > div', { has: page.getByText(label, { exact: true }) });

  test('an owner adds money, stores the card, and sees the money after the return', async () => {
    const { page, problems } = await openAs('owner');
    await actAsStripe(page);
    await pay(page, '25', { store: true });
    await figure(page, 'Available').getByText('$35.00').waitFor();
    await figure(page, 'Stored card').getByText('Visa ending in 4242').waitFor();
    await page.getByRole('cell', { name: /^Top-up.*pi_/ }).waitFor();
    expect(problems).toEqual([]);
    await page.context().close();
  });

  test('the page shows money that comes after the person', async () => {
    const { page, tenant, problems } = await openAs('owner');
    await page.goto(`/panel/a/${tenant.accountId}/money?payment=done`);
    await figure(page, 'Available').getByText('$10.00').waitFor();
    const payment = stripe.paid({ cents: 700, accountId: tenant.accountId });
    expect(await sendEvent(stack.webhookUrl as string, event('payment_intent.succeeded', payment))).toBe(200);
    await figure(page, 'Available').getByText('$17.00').waitFor();
    expect(problems).toEqual([]);
    await page.context().close();
  });

  test('an automatic top-up is set, pays up to its cap, and is ended', async () => {
    const { page, tenant, problems } = await openAs('owner');
    await actAsStripe(page);
    await pay(page, '5', { store: true });
    await setRule(page, ['100', '10', '25']);
    await until(tenant, ({ monthPicoUsd }) => monthPicoUsd === '20000000000000');
    await page.goto(`/panel/a/${tenant.accountId}/money`);
    await figure(page, 'Automatic this month').getByText('$20.00').waitFor();
    await figure(page, 'Automatic this month').getByText('the cap of $25.00 has no room for another').waitFor();
    await figure(page, 'Automatic top-up').getByText('when less than $100.00 is available').waitFor();
    await figure(page, 'Available').getByText('$35.00').waitFor();
    await page.getByRole('button', { name: 'End automatic top-ups' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'End automatic top-ups' }).click();
    await figure(page, 'Automatic top-up').getByText('Off').waitFor();
    await figure(page, 'Stored card').getByText('None').waitFor();
    expect(problems).toEqual([]);
    await page.context().close();
  });

  test('a refused card and a rule without a card are named with their cure', async () => {
    stripe.onCharge = () => 'declined';
    const { page, tenant } = await openAs('owner');
    await setRule(page, ['100', '10', '25']);
    await page.getByText('No card is stored, so nothing is topped up.').waitFor();
    await actAsStripe(page);
    await page.getByRole('button', { name: 'Add money' }).click();
    expect(await page.getByRole('dialog').getByLabel('Store the card').isChecked()).toBe(true);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await pay(page, '5', { store: true });
    await until(tenant, ({ pausedBy }) => pausedBy !== null);
    await page.goto(`/panel/a/${tenant.accountId}/money`);
    await page.getByText('Stripe refused the card (card declined)').waitFor();
    await page.context().close();
  });

  test('while Stripe is away, and for an amount that it does not take, the form says so and stays', async () => {
    const { page } = await openAs('owner');
    stripe.fault = () => 'before';
    await page.getByRole('button', { name: 'Add money' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Amount in USD').fill('25.001');
    await dialog.getByRole('button', { name: 'Pay by card' }).click();
    await dialog.getByText('Stripe takes whole cents: write at most two decimals.').waitFor();
    await dialog.getByLabel('Amount in USD').fill('25');
    await dialog.getByRole('button', { name: 'Pay by card' }).click();
    await dialog.getByText('Stripe did not take the call').waitFor();
    expect(await dialog.getByLabel('Amount in USD').inputValue()).toBe('25');
    await page.context().close();
  });

  test('the page and its dialogs are accessible in both schemes, and fit a phone', async () => {
    const watched = await openAs('owner');
    const { page, tenant } = watched;
    await setRule(page, ['5', '10', '25']);
    await page.getByText('No card is stored').waitFor();
    const fine = { problems: [], light: [], dark: [], excess: 0 };
    expect(await examine(watched, `/panel/a/${tenant.accountId}/money?payment=done`)).toEqual(fine);
    for (const name of ['Add money', 'Automatic top-up', 'End automatic top-ups']) {
      await page.getByRole('button', { name, exact: true }).click();
      await page.getByRole('dialog').waitFor();
      const dark = await axeFindings(page);
      await page.emulateMedia({ colorScheme: 'light' });
      expect({ name, dark, light: await axeFindings(page) }).toEqual({ name, dark: [], light: [] });
      await page.emulateMedia({ colorScheme: 'dark' });
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
    await page.context().close();
  });

  test('an auditor sees the card, and changes nothing', async () => {
    const { page } = await openAs('auditor');
    await page.getByRole('heading', { name: 'Payments by card' }).waitFor();
    expect(await page.getByRole('button', { name: /Add money|utomatic top-up/ }).count()).toBe(0);
    await page.context().close();
  });

  test('where payments are off, the page has no card', async () => {
    const { panelUrl: origin } = sharedStack();
    const { accountId } = await createTenant(shared.administrator);
    const cookie = await signInByInvite(shared.administrator, origin, { email: `${randomUUID()}@example.com`, role: 'owner', accountId });
    const { page, problems } = await openPage(shared.browser, { origin, cookie });
    const answer = page.waitForResponse((response) => response.url().endsWith('/card-payments'));
    await page.goto(`/panel/a/${accountId}/money`);
    expect(await (await answer).json()).toEqual({ offered: false, autoTopup: null });
    await untilSettled(page);
    expect([await page.getByText('Payments by card').count(), problems]).toEqual([0, []]);
    await page.context().close();
  });
});
