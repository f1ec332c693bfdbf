import { webhookList } from '#contracts/billing/webhooks.js';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator, createTenant, type Tenant } from '#testing/tenant.js';
import { MailServer } from '../../apps/panel/test/mail-server.js';
import {
  axeFindings,
  describeWithBrowser,
  openPage,
  PASSWORD,
  sharedBrowser,
  signInByInvite,
  untilSettled,
  type WatchedPage,
} from './browser.js';

/** Notifications and invites by mail, on a system of its own with a mail server. */
describeWithBrowser('mail', () => {
  const shared = sharedBrowser();
  let server: MailServer;
  let own: RunningStack;
  let administrator: Awaited<ReturnType<typeof connectAdministrator>>;
  let tenant: Tenant;
  beforeAll(async () => {
    server = await MailServer.start();
    own = await startPrivateStack({
      layout: 'all',
      services: ['billing', 'catalog', 'panel'],
      serviceEnv: { panel: { SMTP_URL: server.url, SMTP_FROM: 'Tollgate <tollgate@example.com>' } },
    });
    administrator = await connectAdministrator(own);
    tenant = await createTenant(administrator);
  });
  afterAll(async () => {
    await administrator?.close();
    await own?.stop();
    await server?.stop();
  });
  beforeEach(() => void server.received.splice(0));

  async function openAs(email: string, name: string): Promise<WatchedPage> {
    const { accountId } = tenant;
    const cookie = await signInByInvite(administrator, own.panelUrl, { email, role: 'owner', accountId });
    const watched = await openPage(shared.browser, { origin: own.panelUrl, cookie });
    await watched.page.goto(`/panel/a/${accountId}/${name}`);
    await untilSettled(watched.page);
    return watched;
  }

  test('a person gets notifications by mail, and another address is refused with the reason', async () => {
    const { page, problems } = await openAs('ann@example.com', 'notifications');
    await page.getByRole('button', { name: 'New notification' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('For').selectOption('mail');
    await dialog.getByLabel('E-mail').fill('stranger@example.com');
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await dialog.getByText('No person who may see the notifications of this account has this address.').waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await dialog.getByLabel('E-mail').fill('ann@example.com');
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('button', { name: 'Test ann@example.com' }).click();
    await dialog.getByRole('button', { name: 'Send test' }).click();
    await dialog.getByRole('status').getByText('Accepted').waitFor();
    const { webhooks } = await administrator.request(webhookList, {});
    expect({
      mails: server.received.map(({ to }) => to),
      webhooks: webhooks.map(({ url, format, accountId }) => ({ url, format, accountId })),
      problems: problems.filter((problem) => !problem.includes('400')),
    }).toEqual({
      mails: [['ann@example.com']],
      webhooks: [{ url: 'mailto:ann@example.com', format: 'mail', accountId: tenant.accountId }],
      problems: [],
    });
    await page.context().close();
  });

  test('a person switches the statements by mail on and off', async () => {
    const { page, problems } = await openAs('dan@example.com', 'money');
    await page.getByRole('button', { name: 'Mail me statements' }).click();
    await page.getByText(/^dan@example.com gets the statement of each month/).waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await page.reload();
    await page.getByRole('button', { name: 'Stop mails' }).click();
    await page.getByText(/^Get the statement of each month as PDF to dan@example.com/).waitFor();
    expect(problems).toEqual([]);
    await page.context().close();
  });

  test('a server that accepts no mail shows in the test, and then on the pages of mail', async () => {
    const { accountId } = tenant;
    const { page, problems } = await openAs('bea@example.com', 'notifications');
    const data = { url: 'mailto:bea@example.com', format: 'mail' };
    await page.request.post(`/panel/v1/accounts/${accountId}/webhooks`, { data, headers: { origin: own.panelUrl } });
    await page.reload();
    server.refusal = 'mailbox is full';
    await page.getByRole('button', { name: 'Test bea@example.com' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Send test' }).click();
    await dialog.getByRole('status').getByText('mailbox is full').waitFor();
    server.refusal = undefined;
    for (const name of ['notifications', 'members']) {
      await page.goto(`/panel/a/${accountId}/${name}`);
      await page
        .getByRole('status')
        .getByText(/mailbox is full/)
        .waitFor();
      expect({ name, findings: await axeFindings(page), problems }).toEqual({ name, findings: [], problems: [] });
    }
    await page.context().close();
  });

  test('an invite is mailed, and its link makes the person', async () => {
    const { page, problems } = await openAs('cid@example.com', 'members');
    await page.getByRole('button', { name: 'Invite', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('E-mail').fill('dan@example.com');
    await dialog.getByLabel('Role').selectOption('viewer');
    await dialog.getByRole('button', { name: 'Create link' }).click();
    await dialog.getByText('The link is on its way to dan@example.com.').waitFor();
    const shown = await dialog.locator('code').innerText();
    await server.until(() => server.received.length === 1);
    const [mail] = server.received;
    const [link = ''] = mail?.raw.match(/http\S+welcome#\S+/) ?? [];
    expect({ to: mail?.to, link, problems }).toEqual({ to: ['dan@example.com'], link: shown.trim(), problems: [] });
    const guest = await openPage(shared.browser, { origin: own.panelUrl });
    await guest.page.goto(link);
    await guest.page.getByLabel('Name').fill('Dan');
    await guest.page.getByLabel('Password').fill(PASSWORD);
    await guest.page.getByRole('button', { name: 'Continue' }).click();
    await guest.page.getByRole('heading', { level: 1 }).waitFor();
    expect(guest.problems).toEqual([]);
    await guest.page.context().close();
    await page.context().close();
  });

  test('a person who has mailed too many invites is told when there may be more', async () => {
    const { page } = await openAs('fay@example.com', 'members');
    for (let made = 0; made < 30; made++) {
      const data = { email: `team-${made}@example.com`, role: 'viewer', accountId: tenant.accountId };
      const reply = await page.request.post('/panel/v1/invites', { data, headers: { origin: own.panelUrl } });
      expect(reply.status()).toBe(201);
    }
    await page.getByRole('button', { name: 'Invite', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('E-mail').fill('one-more@example.com');
    await dialog.getByRole('button', { name: 'Create link' }).click();
    await dialog
      .getByRole('alert')
      .getByText(/^You have mailed 30 invites, the most in an hour\. Try again in \d+ s\./)
      .waitFor();
    await page.context().close();
  });
});
