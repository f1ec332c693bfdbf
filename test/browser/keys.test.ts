import { randomUUID } from 'node:crypto';
import { budgetSet } from '#contracts/billing/budgets.js';
import { childKeyMint } from '#contracts/billing/child-keys.js';
import { keyCreate, keyList } from '#contracts/billing/keys.js';
import { accountApply } from '#contracts/billing/tenants.js';
import { stack } from '#testing/stack.js';
import { createTenant, type Tenant, untilNoHolds } from '#testing/tenant.js';
import { axeFindings, describeWithBrowser, openPage, sharedBrowser, signInByInvite, untilSettled, type WatchedPage } from './browser.js';

/** The page Keys: limits, finding, sorting, several at once, child keys. */
describeWithBrowser('keys', () => {
  const { panelUrl: origin, gatewayUrl } = stack();
  const shared = sharedBrowser();

  const openAs = async (tenant: Tenant, query = '', role: 'owner' | 'viewer' = 'owner'): Promise<WatchedPage> => {
    const owner = { email: `${randomUUID()}@example.com`, role, accountId: tenant.accountId };
    const cookie = await signInByInvite(shared.administrator, origin, owner);
    const watched = await openPage(shared.browser, { origin, cookie });
    await watched.page.goto(`/panel/a/${tenant.accountId}/keys${query}`);
    await untilSettled(watched.page);
    return watched;
  };
  const addKey = (tenant: Tenant, fields: { name: string; expiresAt?: string; models?: string[] }) =>
    shared.administrator.request(keyCreate, { projectId: tenant.projectId, ...fields });
  const listKeys = async ({ accountId }: Tenant) => (await shared.administrator.request(keyList, { accountId })).keys;
  const untilKeys = async (tenant: Tenant, fits: (keys: Awaited<ReturnType<typeof listKeys>>) => boolean): Promise<void> => {
    while (!fits(await listKeys(tenant))) await new Promise((resolve) => setTimeout(resolve, 50));
  };

  test('a key gets limits when it is made and when it is changed, and its row and its rotation name them', async () => {
    const tenant = await createTenant(shared.administrator);
    const { page, problems } = await openAs(tenant);
    await page.getByRole('button', { name: 'New key' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('limited');
    await dialog.getByText('Limits', { exact: false }).first().click();
    await dialog.getByLabel('Models').fill('sim-t*\nsim-fast');
    await dialog.getByText('Allows sim-fast, sim-tiny.').or(dialog.getByText('Allows sim-tiny')).first().waitFor();
    await dialog.getByLabel('Networks').fill('127.0.0.0/8');
    await dialog.getByLabel('Requests a minute').fill('60');
    await dialog.getByRole('button', { name: 'Limit by model' }).click();
    await dialog.getByRole('textbox', { name: 'Model', exact: true }).fill('sim-*');
    await dialog.getByRole('group', { name: 'Limit by model 1' }).getByLabel('Requests a minute').fill('3');
    await page.setViewportSize({ width: 360, height: 780 });
    expect([await axeFindings(page), await page.evaluate('document.documentElement.scrollWidth - innerWidth')]).toEqual([[], 0]);
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await axeFindings(page, ['color-contrast'])).toEqual([]);
    await page.setViewportSize({ width: 1440, height: 900 });
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await page.getByRole('dialog', { name: 'Your new key' }).getByRole('button', { name: 'Done' }).click();
    const made = (await listKeys(tenant)).find(({ name }) => name === 'limited');
    expect(made).toMatchObject({
      ...{ models: ['sim-t*', 'sim-fast'], networks: ['127.0.0.0/8'], requestsPerMinuteMax: 60 },
      modelLimits: [{ model: 'sim-*', requestsPerMinuteMax: 3 }],
    });
    const row = page.getByRole('row', { name: /limited/ });
    await row.getByText('2 models').waitFor();

    await page.getByRole('button', { name: 'Edit limited' }).click();
    await dialog.getByText('Limits', { exact: false }).first().click();
    await dialog.getByLabel('Requests a minute').first().fill('');
    await dialog.getByLabel('Concurrent requests').fill('5');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect((await listKeys(tenant)).find(({ name }) => name === 'limited')).toMatchObject({
      ...{ requestsPerMinuteMax: null, concurrencyMax: 5, models: ['sim-t*', 'sim-fast'] },
    });
    await page.getByRole('button', { name: 'Rotate limited' }).click();
    await dialog.getByText('the same models, networks and limits').getByText('2 models').waitFor();
    expect(problems).toEqual([]);
    await page.context().close();
  });

  test('keys are found by search, maker and kind, and sorted by what they cost; those of the playground are out of sight', async () => {
    const tenant = await createTenant(shared.administrator);
    await addKey(tenant, { name: 'alpha', models: ['sim-tiny'] });
    await addKey(tenant, { name: 'beta', expiresAt: new Date(Date.now() + 9 * 86_400_000).toISOString() });
    await addKey(tenant, { name: 'Playground of ada@example.com', expiresAt: new Date(Date.now() + 3_600_000).toISOString() });
    const { key } = await addKey(tenant, { name: 'gamma' });
    await fetch(`${gatewayUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim-fast', messages: [{ role: 'user', content: 'Hello' }] }),
    }).then((response) => response.text());
    await untilNoHolds(shared.administrator, tenant.accountId);
    const { page, problems } = await openAs(tenant);
    const names = (): Promise<string[]> => page.locator('tbody tr td:nth-child(2) > div > div:first-child').allInnerTexts();
    expect(await names()).toEqual(['gamma', 'beta', 'alpha', 'Unnamed']);
    await page.getByRole('button', { name: 'Cost, 30 d' }).click();
    expect((await names())[0]).toBe('gamma');
    await page.getByRole('button', { name: 'Name', exact: true }).click();
    await page.getByRole('button', { name: 'Name', exact: true }).click();
    expect(await names()).toEqual(['alpha', 'beta', 'gamma', 'Unnamed']);
    await page.getByLabel('Kind').selectOption('limited');
    expect(await names()).toEqual(['alpha']);
    await page.getByLabel('Kind').selectOption('');
    await page.getByLabel('Search keys').fill('BET');
    expect(await names()).toEqual(['beta']);
    expect(new URL(page.url()).search).toBe('?search=BET&sort=name');
    await page.getByLabel('Search keys').fill('nothing');
    await page.getByText('No key fits').waitFor();
    await page.getByLabel('Search keys').fill('');
    await page.getByRole('button', { name: 'Show 1 key of the playground' }).click();
    expect(await names()).toContain('Playground of ada@example.com');
    expect(problems).toEqual([]);
    await page.context().close();
  });

  test('several keys are rotated, get an end and are revoked at once', async () => {
    const tenant = await createTenant(shared.administrator);
    await addKey(tenant, { name: 'one' });
    await addKey(tenant, { name: 'two' });
    const { page, problems } = await openAs(tenant);
    const choose = async (...names: string[]) => {
      for (const name of names) await page.getByRole('checkbox', { name: `Choose ${name}`, exact: true }).check();
    };
    const dialog = page.getByRole('dialog');
    await choose('one', 'two');
    const toolbar = page.getByRole('toolbar', { name: 'Chosen keys' });
    expect(await axeFindings(page)).toEqual([]);
    await toolbar.getByRole('button', { name: 'Set an end' }).click();
    await dialog.getByRole('button', { name: 'Set the end' }).click();
    await dialog.waitFor({ state: 'detached' });
    const ends = (await listKeys(tenant)).flatMap(({ name, expiresAt }) => (expiresAt ? [name] : []));
    expect(ends).toEqual(['one', 'two']);

    await choose('one', 'two');
    await toolbar.getByRole('button', { name: 'Rotate' }).click();
    await dialog.getByRole('button', { name: 'Rotate 2 keys' }).click();
    const lines = await dialog.locator('code').innerText();
    expect(lines.split('\n')).toEqual([expect.stringMatching(/^test,two,tg_live_\w+$/), expect.stringMatching(/^test,one,tg_live_\w+$/)]);
    await page.keyboard.press('Escape');
    await dialog.getByText('Not copied yet').waitFor();
    await dialog.getByRole('button', { name: 'Done' }).click();

    await page.getByRole('checkbox', { name: 'Choose all keys' }).check();
    await toolbar.getByRole('button', { name: 'Revoke' }).click();
    await dialog.getByRole('button', { name: /^Revoke \d keys$/ }).click();
    await dialog.waitFor({ state: 'detached' });
    await untilKeys(tenant, (keys) => keys.every(({ status }) => status === 'revoked'));
    expect(problems).toEqual([]);
    await page.context().close();
  });

  test('child keys of a key are made, listed with what they spent, and revoked', async () => {
    const tenant = await createTenant(shared.administrator);
    const { keyId } = await addKey(tenant, { name: 'agents' });
    await shared.administrator.request(budgetSet, {
      ...{ accountId: tenant.accountId, keyId, dimension: 'child', period: 'total', limitPicoUsd: '2000000000000' },
    });
    const { page, problems } = await openAs(tenant);
    await page.getByRole('button', { name: 'Child keys of agents' }).click();
    await page.getByText('No child keys', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'New child key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Limit in USD').fill('3');
    await dialog.getByLabel('Models').fill('sim-fast');
    await dialog.getByRole('button', { name: 'Create child key' }).click();
    await dialog.getByText('must be at most $2').waitFor();
    await dialog.getByLabel('Limit in USD').fill('0.20');
    await dialog.getByLabel('Lives for').selectOption('10 minutes');
    await dialog.getByRole('button', { name: 'Create child key' }).click();
    const shown = page.getByRole('dialog', { name: 'Your new child key' });
    const apiKey = await shown
      .getByText(/^tg_child_/)
      .first()
      .innerText();
    await shown.getByText('sim-fast').waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await shown.getByRole('button', { name: 'Done' }).click();
    const call = (model: string) =>
      fetch(`${gatewayUrl}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }),
      }).then(async (response) => [response.status, await response.text()] as const);
    expect([(await call('sim-fast'))[0], (await call('sim-tiny'))[0]]).toEqual([200, 404]);
    await untilNoHolds(shared.administrator, tenant.accountId);
    await page.reload();
    await page.getByRole('button', { name: 'Child keys of agents' }).click();
    const row = dialog.getByRole('row', { name: /ends in/ });
    await row.getByText('of $0.20').waitFor();
    expect(await row.innerText()).not.toContain('$0.00 of');
    expect(await axeFindings(page)).toEqual([]);
    await page.setViewportSize({ width: 360, height: 780 });
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    await page.setViewportSize({ width: 1440, height: 900 });
    await row.getByRole('button', { name: /^Revoke/ }).click();
    await dialog.getByRole('button', { name: 'Revoke child key' }).click();
    await dialog.getByText('Revoked', { exact: true }).waitFor();
    while ((await call('sim-fast'))[0] !== 401) await new Promise((resolve) => setTimeout(resolve, 50));

    await page.goto(`/panel/a/${tenant.accountId}/budgets`);
    await page.getByRole('button', { name: 'Values of the budget of Key agents, each child' }).click();
    await dialog.getByText('its own limit: $0.20').waitFor();
    expect(await axeFindings(page)).toEqual([]);
    // The limit that was too high.
    expect(problems).toEqual([expect.stringContaining('status of 400')]);
    await page.context().close();
  });

  test('who may only read sees the child keys of a key and changes none', async () => {
    const tenant = await createTenant(shared.administrator);
    const { accountId, keyId } = tenant;
    await shared.administrator.request(budgetSet, { accountId, dimension: 'child', period: 'total', limitPicoUsd: '2000000000000' });
    await shared.administrator.request(childKeyMint, { keyId, seconds: 600 });
    const { page, problems } = await openAs(tenant, '', 'viewer');
    await page.getByRole('button', { name: 'Child keys of' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('of $2.00').waitFor();
    expect(await dialog.getByRole('button').allInnerTexts()).toEqual(['', 'Close']);
    expect(problems).toEqual([]);
    await page.context().close();
  });

  test('what a tenants file owns is marked, and the forms that change it warn', async () => {
    const account = {
      name: `managed ${randomUUID()}`,
      budgets: [{ period: 'day' as const, limitUsd: '5' }],
      projects: [{ name: 'web', keys: [{ name: 'ci' }] }],
    };
    const newKeys = [{ project: 'web', name: 'ci', keyId: randomUUID(), keyDigest: 'a'.repeat(64), lastFour: 'abcd' }];
    const file = { fileName: 'tenants.yaml', fileDigest: 'b'.repeat(64), source: 'github.com/example/platform' };
    const { accountId } = await shared.administrator.request(accountApply, { account, newKeys, ...file });
    const { page, problems } = await openAs({ accountId } as Tenant);
    const dialog = page.getByRole('dialog');
    const note = dialog.getByRole('note');
    await page.getByRole('row', { name: /managed by github.com\/example\/platform/ }).waitFor();
    for (const button of ['Edit ci', 'Revoke ci']) {
      await page.getByRole('button', { name: button }).click();
      expect(await note.innerText()).toContain('Managed by github.com/example/platform.');
      await dialog.getByRole('button', { name: 'Cancel' }).click();
    }
    for (const [path, button] of [
      ['budgets', 'Change the budget of The whole account'],
      ['projects', 'Edit'],
    ]) {
      await page.goto(`/panel/a/${accountId}/${path}`);
      await page.getByRole('button', { name: button }).click();
      expect(await note.innerText()).toContain('Managed by github.com/example/platform.');
      expect(await axeFindings(page)).toEqual([]);
    }
    // A warning is no refusal.
    await dialog.getByLabel('Name').fill('shop');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('shop').first().waitFor();
    expect(problems).toEqual([]);
    await page.context().close();
  });
});
