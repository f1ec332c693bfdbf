import { randomUUID } from 'node:crypto';
import { TOTP } from 'otpauth';
import type { Page } from 'playwright-core';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator } from '#testing/tenant.js';
import { axeFindings, describeWithBrowser, openPage, PASSWORD, sharedBrowser, signInByInvite, untilSettled } from './browser.js';

/** The second factor on the pages. Passkeys need a name, so this panel is at localhost. */
describeWithBrowser('second factor', () => {
  const shared = sharedBrowser();
  let stack: RunningStack;
  let origin: string;

  beforeAll(async () => {
    const port = 20_000 + Math.floor(Math.random() * 10_000);
    origin = `http://localhost:${port}`;
    stack = await startPrivateStack({
      layout: 'all',
      services: ['billing', 'catalog', 'panel'],
      serviceEnv: { panel: { PANEL_URL: origin, PANEL_PORT: String(port) } },
    });
  });
  afterAll(() => stack?.stop());

  const openProfile = async () => {
    const administrator = await connectAdministrator(stack);
    const email = `${randomUUID()}@example.com`;
    const cookie = await signInByInvite(administrator, origin, { email, role: 'admin' });
    await administrator.close();
    const watched = await openPage(shared.browser, { origin, cookie });
    await watched.page.goto('/panel/profile');
    await untilSettled(watched.page);
    return { ...watched, email };
  };
  const signIn = async (page: Page, email: string): Promise<void> => {
    await page.context().clearCookies();
    await page.goto('/panel/profile');
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByLabel('Code').waitFor();
    expect(await axeFindings(page)).toEqual([]);
  };

  test('an app is added with its code, its recovery codes are shown once, and one of them signs in', async () => {
    const { page, email, problems } = await openProfile();
    await page.getByRole('button', { name: 'Add app' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('img', { name: 'QR code with the secret below' }).waitFor();
    expect(await axeFindings(page)).toEqual([]);
    const secret = (await dialog.locator('code').textContent()) ?? '';
    await dialog.getByLabel('Code of the app').fill(new TOTP({ secret }).generate());
    await dialog.getByRole('button', { name: 'Add app' }).click();
    const shown = page.getByRole('dialog', { name: 'Your recovery codes' });
    const [code = ''] = ((await shown.locator('code').textContent()) ?? '').split('\n');
    await shown.getByRole('button', { name: 'Done' }).click();
    await page.getByText('10 recovery codes left.').waitFor();
    await page.setViewportSize({ width: 360, height: 780 });
    expect([await axeFindings(page), await page.evaluate('document.documentElement.scrollWidth - innerWidth')]).toEqual([[], 0]);
    expect(problems).toEqual([]);
    await signIn(page, email);
    await page.getByLabel('Code').fill('000000');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText('The code is wrong, or was used before.').waitFor();
    await page.getByLabel('Code').fill(code);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText('9 recovery codes left.').waitFor();
  });

  test('a passkey is added and signs in', async () => {
    const { page, email } = await openProfile();
    const devTools = await page.context().newCDPSession(page);
    await devTools.send('WebAuthn.enable');
    const options = {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
    } as const;
    await devTools.send('WebAuthn.addVirtualAuthenticator', { options: { ...options, automaticPresenceSimulation: true } });
    await page.getByRole('button', { name: 'Add passkey' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Add passkey' }).click();
    await page.getByRole('dialog', { name: 'Your recovery codes' }).getByRole('button', { name: 'Done' }).click();
    await signIn(page, email);
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await page.getByRole('row', { name: /This device/ }).waitFor();
  });
});
