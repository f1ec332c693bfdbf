import { randomUUID } from 'node:crypto';
import { stack } from '#testing/stack.js';
import { describeWithBrowser, openPage, sharedBrowser, signInByInvite } from './browser.js';

/** The page of a visitor without a session. */
describeWithBrowser('signing in', () => {
  const { panelUrl: origin } = stack();
  const shared = sharedBrowser();

  test('a wrong password gives the focus back to its field', async () => {
    const email = `${randomUUID()}@example.com`;
    await signInByInvite(shared.administrator, origin, { email, role: 'admin' });
    const { page } = await openPage(shared.browser, { origin });
    await page.goto('/panel/');
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Password').fill('not the password');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('alert').waitFor();
    expect(await page.evaluate('document.activeElement.type')).toBe('password');
    await page.context().close();
  });
});
