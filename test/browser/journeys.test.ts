import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { accountCreate } from '#contracts/billing/accounts.js';
import { topupCreate } from '#contracts/billing/money.js';
import { requestShow } from '#contracts/billing/requests.js';
import { panelInvite } from '#contracts/panel.js';
import { stack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator, createTenant } from '#testing/tenant.js';
import { describeWithBrowser, openPage, PASSWORD, sharedBrowser, signInByInvite, untilSettled } from './browser.js';

const run = promisify(execFile);

describeWithBrowser('journeys', () => {
  const { panelUrl: origin } = stack();
  const shared = sharedBrowser();

  test('from the link to a paid call and its explained cost, by keyboard alone', async () => {
    const { accountId } = await shared.administrator.request(accountCreate, { name: 'newcomer' });
    await shared.administrator.request(topupCreate, { accountId, paymentId: randomUUID(), usd: '10.00' });
    const { link } = await shared.administrator.request(panelInvite, { role: 'owner', accountId, email: `${randomUUID()}@example.com` });
    const { page, problems } = await openPage(shared.browser, { origin });
    const press = (key: string) => page.keyboard.press(key);
    const type = (text: string) => page.keyboard.type(text);

    await page.goto(link);
    await page.getByLabel('Password').focus();
    await type(PASSWORD);
    await press('Enter');
    await untilSettled(page);

    await page.getByRole('link', { name: 'Projects', exact: true }).focus();
    await press('Enter');
    await untilSettled(page);
    await page.getByRole('button', { name: 'New project' }).first().focus();
    await press('Enter');
    await page.getByRole('dialog').getByLabel('Name').focus();
    await type('first');
    await press('Enter');
    // The page of the new project.
    await page.getByRole('heading', { name: 'first', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Create a key' }).focus();
    await press('Enter');
    await page.getByRole('dialog').getByLabel('Name').focus();
    await type('laptop');
    await press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Your new key' });
    const line = await dialog.locator('code').filter({ hasText: 'curl' }).innerText();
    const { stdout } = await run('bash', ['-c', `${line} --silent --include`]);
    const requestId = stdout.match(/^x-request-id: (\S+)/im)?.[1] ?? stdout;
    // Escape loses no key that was not copied.
    await press('Escape');
    await press('Escape');
    await dialog.getByText('Not copied yet').waitFor();
    await dialog.getByRole('button', { name: 'Done' }).focus();
    await press('Enter');
    await dialog.waitFor({ state: 'detached' });

    // The id that the client has: that of the reply.
    await press('/');
    const search = page.getByRole('combobox', { name: 'Search' });
    await search.waitFor();
    await type('call_1');
    await page.getByText('Give the id of a request').waitFor();
    await press('Control+A');
    await type(requestId.replace('req_', 'chatcmpl-'));
    await page.getByRole('option', { name: requestId, selected: true }).waitFor();
    await press('Enter');
    await page.waitForURL(`**/requests/${requestId}`);
    await untilSettled(page);
    const { settlement } = await shared.administrator.request(requestShow, { requestId });
    await page
      .getByText(usd(settlement?.costPicoUsd ?? '0'))
      .first()
      .waitFor();
    expect(problems).toEqual([]);
    await page.context().close();
  });

  test('a session that ends elsewhere asks to sign in, and the page goes on', async () => {
    const { accountId } = await createTenant(shared.administrator);
    const email = `${randomUUID()}@example.com`;
    const cookie = await signInByInvite(shared.administrator, origin, { email, role: 'owner', accountId });
    const { page } = await openPage(shared.browser, { origin, cookie });
    await page.goto(`/panel/a/${accountId}/keys`);
    await untilSettled(page);
    await fetch(`${origin}/panel/v1/session`, { method: 'DELETE', headers: { cookie, origin } });
    await page.getByRole('link', { name: 'Money', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.getByLabel('Password').fill(PASSWORD);
    await dialog.getByRole('button', { name: 'Sign in', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    await untilSettled(page);
    expect(new URL(page.url()).pathname).toBe(`/panel/a/${accountId}/money`);
    await page.context().close();
  });

  test('a message in the playground holds what was announced, and its cost is explained', async () => {
    const { accountId } = await createTenant(shared.administrator);
    const cookie = await signInByInvite(shared.administrator, origin, { email: `${randomUUID()}@example.com`, role: 'owner', accountId });
    const { page, problems } = await openPage(shared.browser, { origin, cookie });
    await page.goto(`/panel/a/${accountId}/playground?model=sim-fast`);
    await untilSettled(page);
    await page.getByLabel('System text').fill('Be brief.');
    await page.getByLabel('Longest reply in tokens').fill('300');
    await page.getByLabel('Message', { exact: true }).fill('Hello [[sim tokens=300 rate=50]]');
    const announced = await page.getByText('Holds at most').locator('data').getAttribute('value');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    await page.locator('[class*="playground-module_text"]').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Stopped').waitFor();
    await page.getByLabel('Message', { exact: true }).fill('Thanks');
    await page.keyboard.press('Enter');
    await page.getByText('2 requests cost').waitFor();
    const bills = page.getByRole('log').getByText('Cost', { exact: false }).locator('data');
    expect([await bills.nth(1).getAttribute('value'), problems]).toEqual([announced, []]);
    await page.getByRole('link', { name: 'Explain' }).first().click();
    await page.waitForURL('**/requests/req_*');
    await untilSettled(page);
    await page.goBack();
    await page.getByText('2 requests cost').waitFor();
    await page.context().close();
  });

  test('an upstream is tested from its page', async () => {
    const cookie = await signInByInvite(shared.administrator, origin, { email: `${randomUUID()}@example.com`, role: 'admin' });
    const { page, problems } = await openPage(shared.browser, { origin, cookie });
    await page.goto('/panel/a/all/upstreams');
    await untilSettled(page);
    await page.getByRole('button', { name: 'Test sim-fast at local', exact: true }).click();
    await page.getByRole('button', { name: 'Start test' }).click();
    await page.getByText('Serves text').waitFor();
    expect(problems).toEqual([]);
    await page.context().close();
  });

  test('a panel that dies and comes back is found again by an open page', async () => {
    const own = await startPrivateStack({ services: ['billing', 'catalog', 'panel'] });
    const caller = await connectAdministrator(own);
    try {
      const { accountId } = await createTenant(caller);
      const cookie = await signInByInvite(caller, own.panelUrl, { email: `${randomUUID()}@example.com`, role: 'owner', accountId });
      const { page } = await openPage(shared.browser, { origin: own.panelUrl, cookie });
      await page.goto(`/panel/a/${accountId}/keys`);
      await untilSettled(page);
      await own.hold('panel');
      await page.getByRole('link', { name: 'Money', exact: true }).click();
      await own.resume('panel');
      await page.getByRole('heading', { name: 'Money' }).waitFor();
      await untilSettled(page);
      await page.getByText('$10.00').first().waitFor();
      await page.context().close();
    } finally {
      await caller.close();
      await own.stop();
    }
  });

  test('no script can read the session', async () => {
    const { accountId } = await createTenant(shared.administrator);
    const email = `${randomUUID()}@example.com`;
    await signInByInvite(shared.administrator, origin, { email, role: 'owner', accountId });
    const { page } = await openPage(shared.browser, { origin });
    await page.goto('/panel/');
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.waitForURL(`**/a/${accountId}/overview`);
    const visible = await page.evaluate('({ cookie: document.cookie, local: localStorage.length, session: sessionStorage.length })');
    expect(visible).toEqual({ cookie: '', local: 0, session: 0 });
    await page.context().close();
  });
});

/** All digits of an amount: `333` is `$0.000000000333`. */
function usd(pico: string): string {
  const digits = pico.padStart(13, '0');
  return `$${digits.slice(0, -12)}.${digits.slice(-12).replace(/0+$/, '')}`;
}
