import { randomUUID } from 'node:crypto';
import { budgetSet } from '#contracts/billing/budgets.js';
import { keyCreate } from '#contracts/billing/keys.js';
import { projectCreate } from '#contracts/billing/projects.js';
import { stack } from '#testing/stack.js';
import { createTenant, type Tenant, untilNoHolds } from '#testing/tenant.js';
import { axeFindings, describeWithBrowser, examine, openPage, sharedBrowser, signInByInvite, untilSettled } from './browser.js';

/** People with a role of one project: the panel shows them the project and nothing else of the account. */
describeWithBrowser('people of a project', () => {
  const { panelUrl: origin, gatewayUrl } = stack();
  const shared = sharedBrowser();
  let tenant: Tenant;
  let ads: { projectId: string; keyId: string };

  beforeAll(async () => {
    const { administrator } = shared;
    tenant = await createTenant(administrator);
    const { accountId } = tenant;
    const { projectId } = await administrator.request(projectCreate, { accountId, name: 'ads' });
    const { keyId, key } = await administrator.request(keyCreate, { projectId, name: 'ads-key' });
    ads = { projectId, keyId };
    const limit = { accountId, period: 'month', limitPicoUsd: '5000000000000' } as const;
    for (const target of [{}, { projectId: tenant.projectId }, { projectId }])
      await administrator.request(budgetSet, { ...limit, ...target });
    for (const apiKey of [tenant.apiKey, key]) {
      const response = await fetch(`${gatewayUrl}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'sim-fast', messages: [{ role: 'user', content: 'Hello' }] }),
      });
      await response.text();
    }
    await untilNoHolds(administrator, accountId);
  });

  const signIn = (role: 'owner' | 'project-developer' | 'project-viewer'): Promise<string> =>
    signInByInvite(shared.administrator, origin, {
      ...{ email: `${randomUUID()}@example.com`, role, accountId: tenant.accountId },
      ...(role !== 'owner' && { projectId: ads.projectId }),
    });

  test('every page of their navigation works, is accessible, and shows no other project', async () => {
    const { page, problems } = await openPage(shared.browser, { origin, cookie: await signIn('project-developer') });
    await page.goto('/panel/');
    await untilSettled(page);
    const paths: string[] = [];
    const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
    expect(await links.allTextContents()).toEqual([
      ...['Overview', 'Usage', 'Requests', 'Projects', 'Keys', 'Playground', 'Budgets', 'Models'],
    ]);
    for (const link of await links.all()) paths.push((await link.getAttribute('href')) ?? '');
    for (const path of paths) {
      const faults = await examine({ page, problems }, path);
      const text = await page.locator('main').innerText();
      const foreign = [tenant.keyId.slice(-8), 'Balance', 'Available', 'The whole account'].filter((word) => text.includes(word));
      const found = { path, ...faults, foreign };
      expect(found).toEqual({ path: expect.stringContaining(ads.projectId), problems: [], light: [], dark: [], excess: 0, foreign: [] });
    }
    await page.context().close();
  });

  test('the overview counts the requests of the project alone', async () => {
    const { page } = await openPage(shared.browser, { origin, cookie: await signIn('project-viewer') });
    await page.goto('/panel/');
    await page.getByRole('heading', { level: 1, name: 'ads' }).waitFor();
    await page.getByText('Spent today').waitFor();
    const reply = await page.request.get(`/panel/v1/accounts/${tenant.accountId}/overview?projectId=${ads.projectId}`);
    const { total, byProject, budgets, balance } = await reply.json();
    expect([total.requests, byProject.map((row: { projectId: string }) => row.projectId), budgets.length, balance]).toEqual([
      1,
      [ads.projectId],
      1,
      null,
    ]);
    await page.context().close();
  });

  test('an owner invites a person to a project, changes their role and removes it', async () => {
    const { page, problems } = await openPage(shared.browser, { origin, cookie: await signIn('owner') });
    await page.goto(`/panel/a/${tenant.accountId}/members`);
    await page.getByRole('button', { name: 'Invite' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('E-mail').fill(`${randomUUID()}@example.com`);
    await dialog.getByLabel('Access to').selectOption({ label: 'Project ads' });
    await dialog.getByLabel('Role').selectOption({ label: 'Member: usage, requests and the playground' });
    expect(await axeFindings(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Create link' }).click();
    const link = await dialog.getByText('/panel/welcome#').innerText();
    const email = /[\w-]+@example\.com/.exec(await dialog.innerText())?.[0] ?? '';
    const accepted = await fetch(`${origin}/panel/v1/invites/accept`, {
      method: 'POST',
      headers: { origin, 'content-type': 'application/json' },
      body: JSON.stringify({ token: link.replace(/^.*#/s, '').trim(), name: 'Kim', password: 'a quiet orange river' }),
    });
    expect(accepted.status).toBe(201);
    await dialog.getByRole('button', { name: 'Done' }).click();
    await page.reload();
    const row = page.getByRole('row', { name: email });
    await row.getByRole('cell', { name: 'Member' }).first().waitFor();
    await row.getByRole('button', { name: 'Change the role of Kim: Project ads' }).click();
    await dialog.getByLabel('Role').selectOption({ label: 'Viewer: usage and requests' });
    await dialog.getByRole('button', { name: 'Save' }).click();
    await row.getByRole('cell', { name: 'Viewer' }).first().waitFor();
    await row.getByRole('button', { name: 'Remove Kim: Project ads' }).click();
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await row.waitFor({ state: 'detached' });
    expect(problems).toEqual([]);
    await page.context().close();
  });
});
