import { randomUUID } from 'node:crypto';
import { accountList } from '#contracts/billing/accounts.js';
import { projectList, projectUpdate } from '#contracts/billing/projects.js';
import { stack } from '#testing/stack.js';
import { createTenant } from '#testing/tenant.js';
import { axeFindings, describeWithBrowser, openPage, sharedBrowser, signInByInvite, untilSettled } from './browser.js';

/** Pages of one project, model, upstream, and the list of accounts. */
describeWithBrowser('pages of one thing', () => {
  const { panelUrl: origin, gatewayUrl } = stack();
  const shared = sharedBrowser();

  test('a new project leads to its first key, and then shows what it is used for', async () => {
    const { accountId } = await createTenant(shared.administrator);
    const cookie = await signInByInvite(shared.administrator, origin, { email: `${randomUUID()}@example.com`, role: 'owner', accountId });
    const { page, problems } = await openPage(shared.browser, { origin, cookie });
    await page.goto(`/panel/a/${accountId}/projects`);
    await untilSettled(page);
    await page.getByRole('button', { name: 'New project' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('search team');
    await page.getByRole('button', { name: 'Create project' }).click();
    await page.getByRole('heading', { name: 'search team' }).waitFor();
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('laptop');
    await page.getByRole('button', { name: 'Create key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Your new key' });
    const line = await dialog.locator('code').filter({ hasText: 'curl' }).innerText();
    const [, apiKey] = /Bearer (tg_live_\w+)/.exec(line) ?? [];
    await dialog.getByRole('button', { name: 'Done' }).click();
    const reply = await fetch(`${gatewayUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim-fast', messages: [{ role: 'user', content: 'Hello' }] }),
    });
    expect(reply.status).toBe(200);
    await reply.text();
    await page.reload();
    await untilSettled(page);
    await page.getByRole('region', { name: 'Last requests' }).getByRole('cell', { name: 'sim-fast' }).waitFor();
    await page.getByRole('region', { name: 'Keys in use' }).getByText('laptop').waitFor();
    await page.getByRole('region', { name: 'People who may use the project' }).getByText('owner').first().waitFor();
    expect(problems).toEqual([]);
    await page.context().close();
  });

  test('an operator sets the policy of a project, and removes it', async () => {
    const { accountId, projectId } = await createTenant(shared.administrator);
    const readPolicy = async () => (await shared.administrator.request(projectList, { accountId })).projects[0]?.policy;
    const cookie = await signInByInvite(shared.administrator, origin, { email: `${randomUUID()}@example.com`, role: 'admin' });
    const { page, problems } = await openPage(shared.browser, { origin, cookie });
    const dialog = page.getByRole('dialog');
    await page.goto(`/panel/a/${accountId}/projects/${projectId}`);
    await untilSettled(page);
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    expect(await dialog.getByLabel('When it fails').count()).toBe(0);
    await dialog.getByLabel('Policy').fill('secrets');
    await dialog.getByLabel('Milliseconds that a request waits for it').fill('300');
    await dialog.getByLabel('When it fails').selectOption('open');
    await dialog.getByLabel('Send it the texts of prompts').check();
    const findings = await axeFindings(page);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('secrets: 300 ms, fails open, gets texts').waitFor();
    expect([findings, await readPolicy()]).toEqual([[], { name: 'secrets', deadlineMs: 300, fail: 'open', sendText: true }]);

    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await dialog.getByLabel('Policy').fill('');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('secrets: 300 ms').waitFor({ state: 'detached' });
    expect([await readPolicy(), problems]).toEqual([undefined, []]);
    await page.context().close();
  });

  test('an owner of the account reads which policy a project has, and finds no field to change it', async () => {
    const { accountId, projectId } = await createTenant(shared.administrator);
    const policy = { name: 'secrets', deadlineMs: 300, fail: 'closed', sendText: false } as const;
    await shared.administrator.request(projectUpdate, { projectId, policy });
    const cookie = await signInByInvite(shared.administrator, origin, { email: `${randomUUID()}@example.com`, role: 'owner', accountId });
    const { page, problems } = await openPage(shared.browser, { origin, cookie });
    const dialog = page.getByRole('dialog');
    await page.goto(`/panel/a/${accountId}/projects/${projectId}`);
    await page.getByText('secrets: 300 ms, fails closed, gets no texts').waitFor();
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await dialog.getByLabel('Name').waitFor();
    const labels = ['Policy', 'When it fails', 'Milliseconds that a request waits for it', 'Send it the texts of prompts'];
    expect(await Promise.all(labels.map((label) => dialog.getByLabel(label).count()))).toEqual([0, 0, 0, 0]);
    await dialog.getByLabel('Name').fill('shop');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'shop' }).waitFor();
    const change = (body: object) =>
      fetch(`${origin}/panel/v1/projects/${projectId}`, {
        method: 'PATCH',
        headers: { cookie, origin, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }).then(async (reply) => [reply.status, ((await reply.json()) as { error?: { code: string } }).error?.code]);
    expect([await change({ policy: null }), await change({ policy: { ...policy, fail: 'open' } })]).toEqual([
      [403, 'permission_denied'],
      [403, 'permission_denied'],
    ]);
    expect((await shared.administrator.request(projectList, { projectId })).projects[0]).toMatchObject({ name: 'shop', policy });
    expect(problems).toEqual([]);
    await page.context().close();
  });

  test('a project of another account is none', async () => {
    const [own, other] = [await createTenant(shared.administrator), await createTenant(shared.administrator)];
    const email = `${randomUUID()}@example.com`;
    const cookie = await signInByInvite(shared.administrator, origin, { email, role: 'owner', accountId: own.accountId });
    const { page } = await openPage(shared.browser, { origin, cookie });
    await page.goto(`/panel/a/${own.accountId}/projects/${other.projectId}`);
    await page.getByText('There is no such project').waitFor();
    await page.context().close();
  });

  test('an account is found, frozen with a reason and made active again in the list', async () => {
    const { accountId } = await createTenant(shared.administrator);
    const [{ name } = { name: '' }] = (await shared.administrator.request(accountList, { accountId })).accounts;
    const cookie = await signInByInvite(shared.administrator, origin, { email: `${randomUUID()}@example.com`, role: 'admin' });
    const { page, problems } = await openPage(shared.browser, { origin, cookie });
    await page.goto('/panel/a/all/accounts');
    await untilSettled(page);
    await page.getByRole('searchbox', { name: 'Search accounts' }).fill(name);
    await page.getByRole('button', { name: `Freeze ${name}`, exact: true }).click();
    await page.getByRole('dialog').getByLabel('Reason').fill('unpaid');
    await page.getByRole('button', { name: 'Freeze account' }).click();
    await page.getByRole('button', { name: `Unfreeze ${name}` }).waitFor();
    const status = async () => {
      const [account] = (await shared.administrator.request(accountList, { accountId })).accounts;
      return [account?.status, account?.statusReason];
    };
    expect(await status()).toEqual(['frozen', 'unpaid']);
    await page.getByRole('button', { name: `Unfreeze ${name}` }).click();
    await page.getByRole('button', { name: 'Unfreeze account' }).click();
    await page.getByRole('button', { name: `Freeze ${name}`, exact: true }).waitFor();
    expect([await status(), problems]).toEqual([['active', null], []]);
    await page.context().close();
  });

  test('a model leads to its routes, and these to their upstream with its URL', async () => {
    const cookie = await signInByInvite(shared.administrator, origin, { email: `${randomUUID()}@example.com`, role: 'admin' });
    const { page, problems } = await openPage(shared.browser, { origin, cookie });
    await page.goto('/panel/a/all/models');
    await untilSettled(page);
    await page.getByRole('link', { name: 'sim-fast', exact: true }).click();
    await page.getByRole('region', { name: 'Prices' }).getByText('Cached input').waitFor();
    await page.getByRole('region', { name: 'Routes of sim-fast' }).getByRole('link', { name: 'local', exact: true }).first().click();
    await page.waitForURL('**/upstreams/local');
    await untilSettled(page);
    await page.getByText('openai-chat').waitFor();
    await page.getByText('none is sent').waitFor();
    expect(problems).toEqual([]);
    await page.context().close();
  });
});
