import { webhookAdd } from '#contracts/billing/webhooks.js';
import { MailServer } from '../../test/mail-server.js';
import { PanelFixture } from '../../test/panel-fixture.js';
import { MailController } from '../api/mail.controller.js';

const ACME = '0190a6f0-7c1e-7000-8000-00000000000a';
const OTHER = '0190a6f0-7c1e-7000-8000-00000000000f';
const SENTENCE = 'Acme: the monthly budget of project web has spent 80 %, $400.12 of $500.00.';

const server = await MailServer.start();
const panel = await PanelFixture.open({ smtpUrl: server.url, smtpFrom: 'tollgate@example.com' });
const owner = await panel.person('owner', ACME);
const developer = await panel.person('developer', ACME);
const stranger = await panel.person('owner', OTHER);
afterAll(async () => {
  await panel.close();
  await server.stop();
});
beforeEach(() => {
  server.received.length = 0;
  panel.messaging.answer(webhookAdd, (message) => ({ ...message, secret: null }) as never);
});

const send = (email: string) => panel.app.get(MailController).send({ email, accountId: ACME, sentence: SENTENCE, page: 'budgets' });
const add = (email: string) =>
  panel.send(`/accounts/${ACME}/webhooks`, { method: 'POST', body: { url: `mailto:${email}`, format: 'mail' }, cookie: owner.cookie });

test('a notice is one sentence with links to its page and to the page that ends the mails', async () => {
  expect(await send(owner.email)).toMatchObject({ accepted: true });
  const [mail] = server.received;
  expect([mail?.to, mail?.raw.match(/http\S+/g)]).toEqual([
    [owner.email],
    [`http://127.0.0.1:8081/panel/a/${ACME}/budgets`, `http://127.0.0.1:8081/panel/a/${ACME}/notifications`],
  ]);
});

test('no mail goes to people of other accounts, to those who may not see the balance, to strangers and to disabled people', async () => {
  const disabled = await panel.person('finance', ACME);
  await panel.change(`UPDATE panel.user SET disabled_at = now() WHERE id = '${disabled.userId}'`);
  const emails = [stranger.email, developer.email, 'nobody@example.com', disabled.email];
  const answers = await Promise.all(emails.map(send));
  expect(answers.map(({ accepted }) => accepted)).toEqual([false, false, false, false]);
  expect(server.received).toEqual([]);
});

test('only the address of a person who may see the notifications becomes a destination', async () => {
  const replies = [await add(owner.email), await add(developer.email), await add('nobody@example.com')];
  expect(replies.map(({ status, body }) => [status, body.error?.param])).toEqual([
    [201, undefined],
    [400, 'url'],
    [400, 'url'],
  ]);
});

test('an invite is mailed with its link, and the link is in the reply too', async () => {
  const body = { email: 'eve@example.com', role: 'viewer', accountId: ACME };
  const reply = await panel.send('/invites', { method: 'POST', body, cookie: owner.cookie });
  await server.until(() => server.received.length === 1);
  expect([reply.status, reply.body.isMailed, server.received[0]?.to]).toEqual([201, true, ['eve@example.com']]);
  expect(server.received[0]?.raw).toContain(reply.body.link);
});

test('a person who has mailed too many invites makes no more, and people of other accounts do', async () => {
  const sendInvite =
    ({ cookie }: { cookie: string }, accountId: string) =>
    (_: unknown, at: number) =>
      panel.send('/invites', { method: 'POST', body: { email: `team-${at}@example.com`, role: 'viewer', accountId }, cookie });
  const hasty = await panel.person('owner', OTHER);
  const replies = await Promise.all(Array.from({ length: 31 }, sendInvite(hasty, OTHER)));
  const refused = replies.filter(({ status }) => status !== 201);
  expect(refused.map(({ status, body, headers }) => [status, body.error, headers['retry-after']])).toEqual([
    [
      429,
      {
        message: expect.stringMatching(/^You have mailed 30 invites, the most in an hour\. Try again in 1\d\d s\.$/),
        type: 'rate_limit_error',
        param: null,
        code: 'rate_limit_exceeded',
      },
      expect.stringMatching(/^1\d\d$/),
    ],
  ]);
  expect((await sendInvite(owner, ACME)(0, 0)).status).toBe(201);
  const { body } = await panel.send(`/invites?accountId=${OTHER}&limit=200`, { cookie: hasty.cookie });
  expect(body.invites).toHaveLength(30);
});

test('the lists that mail belongs to have the state of the mail server', async () => {
  const { body } = await panel.send(`/invites?accountId=${ACME}`, { cookie: owner.cookie });
  expect(body.mail).toEqual({ isSetUp: true, failure: null, failingSince: null });
});
