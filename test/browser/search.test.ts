import { randomUUID } from 'node:crypto';
import { keyCreate } from '#contracts/billing/keys.js';
import { stack } from '#testing/stack.js';
import { createTenant, type Tenant } from '#testing/tenant.js';
import { axeFindings, describeWithBrowser, openPage, sharedBrowser, signInByInvite, untilSettled } from './browser.js';

/** The search of the whole panel, by keyboard alone. */
describeWithBrowser('search', () => {
  const { panelUrl: origin } = stack();
  const shared = sharedBrowser();
  let tenant: Tenant;
  let cookie: string;

  beforeAll(async () => {
    tenant = await createTenant(shared.administrator);
    const email = `${randomUUID()}@example.com`;
    cookie = await signInByInvite(shared.administrator, origin, { email, role: 'owner', accountId: tenant.accountId });
  });

  async function openSearch() {
    const { page, problems } = await openPage(shared.browser, { origin, cookie });
    await page.goto(`/panel/a/${tenant.accountId}/keys`);
    await untilSettled(page);
    // From inside a field, where `/` is a character.
    await page.getByRole('searchbox', { name: 'Search keys' }).focus();
    await page.keyboard.press('Control+k');
    const field = page.getByRole('combobox', { name: 'Search' });
    await field.waitFor();
    await page.getByText('Type to search').waitFor();
    return { page, problems, field };
  }

  test('Ctrl-K finds a project, and Enter opens its page', async () => {
    const { page, problems, field } = await openSearch();
    await page.keyboard.type('test');
    const option = page.getByRole('option', { name: 'test', exact: true });
    await option.waitFor();
    expect(await field.getAttribute('aria-activedescendant')).toBe(await option.getAttribute('id'));
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/projects/${tenant.projectId}`);
    await untilSettled(page);
    expect({ title: await page.title(), problems }).toEqual({ title: expect.stringMatching(/^test · Projects · /), problems: [] });
    await page.context().close();
  });

  test('a key that is not among the first thousand is found, and its page shows it', async () => {
    const { administrator } = shared;
    const { accountId, projectId } = await createTenant(administrator, { activeKeysMax: 2_000 });
    for (let made = 0; made < 1_000; made += 50)
      await Promise.all(Array.from({ length: 50 }, (_, at) => administrator.request(keyCreate, { projectId, name: `one ${made + at}` })));
    const { keyId } = await administrator.request(keyCreate, { projectId, name: 'the last one' });
    const asked = { email: `${randomUUID()}@example.com`, role: 'owner', accountId } as const;
    const { page, problems } = await openPage(shared.browser, { origin, cookie: await signInByInvite(administrator, origin, asked) });
    await page.goto(`/panel/a/${accountId}/overview`);
    await untilSettled(page);
    await page.keyboard.press('Control+k');
    await page.getByText('Type to search').waitFor();
    await page.keyboard.type('the last');
    await page.getByRole('option', { name: 'the last one' }).waitFor();
    await page.getByRole('status').getByText('1 result').waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/keys?key=${keyId}`);
    await page.getByRole('cell', { name: 'the last one' }).first().waitFor();
    expect(problems).toEqual([]);
    await page.context().close();
  });

  test('arrow keys choose, Escape gives the focus back, and the open list is accessible in both schemes', async () => {
    const { page, field } = await openSearch();
    const chosen = () => page.getByRole('dialog').getByRole('option', { selected: true }).innerText();
    const first = await chosen();
    await page.keyboard.press('ArrowDown');
    const second = await chosen();
    await page.keyboard.press('ArrowUp');
    expect([first.split('\n')[0], second.split('\n')[0], await chosen()]).toEqual(['Overview', 'Usage', first]);
    const light = await axeFindings(page);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 360, height: 780 });
    const dark = await axeFindings(page);
    const excess = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
    expect({ light, dark, excess }).toEqual({ light: [], dark: [], excess: 0 });
    await page.keyboard.press('Escape');
    await field.waitFor({ state: 'detached' });
    expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe('Search keys');
    await page.context().close();
  });
});
