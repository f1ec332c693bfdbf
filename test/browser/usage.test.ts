import { randomUUID } from 'node:crypto';
import { stack } from '#testing/stack.js';
import { createTenant, untilNoHolds } from '#testing/tenant.js';
import { axeFindings, describeWithBrowser, openPage, sharedBrowser, signInByInvite, untilSettled } from './browser.js';

/** The page Usage: groups that requests name, comparison, forecast, figures by model, files. */
describeWithBrowser('usage', () => {
  const { panelUrl: origin, gatewayUrl } = stack();
  const shared = sharedBrowser();

  test('it is split by what requests name, compared, forecast and exported with names', async () => {
    const { accountId, projectId, apiKey } = await createTenant(shared.administrator);
    const call = async (user: string, team: string, model: string, text = 'Hello', agent: Record<string, string> = {}): Promise<void> => {
      const headers = {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        'x-tollgate-tags': `team=${team}`,
        ...agent,
      };
      const body = JSON.stringify({ model, user, messages: [{ role: 'user', content: text }] });
      await (await fetch(`${gatewayUrl}/v1/chat/completions`, { method: 'POST', headers, body })).text();
    };
    await call('ada', 'search', 'sim-fast', 'Hello', { 'x-agent-id': 'main' });
    await call('ada', 'search', 'sim-fast', 'Hello [[sim fail=500]]', { 'x-agent-id': 'helper', 'x-parent-agent-id': 'main' });
    await call('bob', 'ads', 'sim-tiny');
    await untilNoHolds(shared.administrator, accountId);
    const cookie = await signInByInvite(shared.administrator, origin, { email: `${randomUUID()}@example.com`, role: 'owner', accountId });
    const { page, problems } = await openPage(shared.browser, { origin, cookie });
    await page.goto(`/panel/a/${accountId}/usage?group=user`);
    await untilSettled(page);
    const sums = page.getByRole('region', { name: /^Sums by/ });
    const names = async (): Promise<string[]> => (await sums.locator('tbody td:first-child').allInnerTexts()).sort();
    expect(await names()).toEqual(['ada', 'bob']);
    expect(await sums.getByRole('link', { name: 'ada' }).getAttribute('href')).toBe(`/panel/a/${accountId}/requests?user=ada`);
    await page.getByText('none in the 7 d before').first().waitFor();
    await page.getByText(/^Forecast of /).waitFor();
    const models = page.getByRole('region', { name: 'Models compared' });
    // The panel counts requests some moments after they end, and a page that is open keeps its rows.
    while (!(await models.getByRole('row', { name: /^sim-fast 2 50 % / }).isVisible())) {
      await page.reload();
      await untilSettled(page);
    }

    const order = (): Promise<string[]> => sums.locator('tbody td:first-child').allInnerTexts();
    await sums.getByRole('button', { name: 'User' }).click();
    expect(await order()).toEqual(['bob', 'ada']);
    await sums.getByRole('button', { name: 'Requests' }).click();
    expect(await order()).toEqual(['ada', 'bob']);
    await models.getByRole('button', { name: 'Errors' }).click();
    expect(new URL(page.url()).search).toBe('?group=user&sort=-requests&sortModels=-errors');

    await page.goto(`/panel/a/${accountId}/usage?group=agent`);
    await sums.getByText('helper').waitFor();
    const agents = await order();
    expect(agents.indexOf('helper')).toBe(agents.indexOf('main') + 1);
    expect(await sums.getByText('helper', { exact: true }).getAttribute('style')).toBe('padding-inline-start: 1rem;');

    await page.getByRole('navigation', { name: 'Group by' }).getByRole('link', { name: 'Tag' }).click();
    await page.getByText('Which tag?').waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await page.getByLabel('Tag', { exact: true }).fill('team');
    await page.keyboard.press('Enter');
    await sums.getByText('search').waitFor();
    expect(await names()).toEqual(['ads', 'search']);
    await page.getByRole('button', { name: 'From – to' }).click();
    await page.getByLabel('From, UTC').fill(new Date(Date.now() - 40 * 86_400_000).toISOString().slice(0, 16));
    await page.getByRole('dialog').getByRole('button', { name: 'Show' }).click();
    await page.getByText('At most 31 days').waitFor();
    await page.getByRole('navigation', { name: 'Group by' }).getByRole('link', { name: 'Project' }).click();
    await sums.getByRole('link', { name: 'test' }).waitFor();

    const download = page.waitForEvent('download');
    await page.getByRole('link', { name: 'CSV' }).click();
    const file = await download;
    expect(file.suggestedFilename()).toMatch(/^usage-test-[0-9a-f-]+-\d{4}-\d\d-\d\d-\d{4}-\d\d-\d\d\.csv$/);
    const href = await page.getByRole('link', { name: 'CSV' }).getAttribute('href');
    const text = await (await fetch(new URL(href ?? '', origin), { headers: { cookie } })).text();
    const [head, row] = text.split('\r\n').map((line) => line.split(','));
    expect([head?.at(-1), row?.at(-1), row?.[head?.indexOf('projectId') ?? -1]]).toEqual(['project', 'test', projectId]);
    expect(problems).toEqual([]);
    await page.context().close();
  });
});
