import { Registry } from 'prom-client';
import { MailServer } from '../../test/mail-server.js';
import { createPanelMetrics } from '../http/panel-metrics.js';
import { Mailer, type MailSettings } from './mailer.js';

const MAIL = { to: 'ada@example.com', subject: 'A test', text: 'Hello\n' };

let server: MailServer;
let mailers: Mailer[];
let warnings: object[];
let registry: Registry;
beforeEach(async () => {
  server = await MailServer.start();
  [mailers, warnings, registry] = [[], [], new Registry()];
});
afterEach(async () => {
  for (const mailer of mailers) mailer.onApplicationShutdown();
  await server.stop();
});

function newMailer(settings: Partial<MailSettings> = {}): Mailer {
  const all = {
    smtpUrl: settings.smtpUrl ?? server.url,
    smtpUser: 'none',
    smtpPassword: 'none',
    smtpFrom: 'Tollgate <tollgate@example.com>',
    ...settings,
  };
  const mailer = new Mailer(all, createPanelMetrics(registry), { warn: (about: object) => void warnings.push(about) } as never);
  mailers.push(mailer);
  return mailer;
}

async function readMetric(name: string): Promise<Record<string, number>> {
  const values = (await registry.getSingleMetric(name)?.get())?.values ?? [];
  return Object.fromEntries(values.map(({ labels, value }) => [labels.outcome ?? '', value]));
}

test('a mail has its sender, its receiver, its subject and its text', async () => {
  const outcome = await newMailer().send(MAIL);
  expect(outcome).toEqual({ accepted: true, answer: expect.stringMatching(/^250 /), milliseconds: expect.any(Number) });
  const [mail] = server.received;
  expect([mail?.from, mail?.to]).toEqual(['tollgate@example.com', ['ada@example.com']]);
  expect(mail?.raw).toMatch(/^Subject: A test\r$/m);
  expect(mail?.raw).toMatch(/\r\n\r\nHello\r\n$/);
});

test('a name with line breaks makes no further header', async () => {
  await newMailer().send({ ...MAIL, subject: 'Acme\r\nBcc: eve@example.com' });
  expect(server.received[0]?.to).toEqual(['ada@example.com']);
  expect(server.received[0]?.raw).not.toMatch(/^Bcc:/m);
});

test('without a mail server nothing is sent', async () => {
  const mailer = newMailer({ smtpUrl: 'none' });
  expect(await mailer.send(MAIL)).toEqual({ accepted: false, answer: 'no mail server is set up', milliseconds: 0 });
  expect(mailer.state).toEqual({ isSetUp: false, failure: null, failingSince: null });
});

test('a server that refuses is a failure with its answer, until it accepts again', async () => {
  const mailer = newMailer();
  server.refusal = 'try later';
  expect(await mailer.send(MAIL)).toMatchObject({ accepted: false, answer: expect.stringMatching(/451 try later/) });
  await mailer.send(MAIL);
  expect(mailer.state).toEqual({
    isSetUp: true,
    failure: expect.stringMatching(/451 try later/),
    failingSince: expect.stringMatching(/Z$/),
  });
  expect([await readMetric('tollgate_panel_mail_failing'), warnings.length]).toEqual([{ '': 1 }, 1]);
  server.refusal = undefined;
  expect(await mailer.send(MAIL)).toMatchObject({ accepted: true });
  expect(mailer.state).toEqual({ isSetUp: true, failure: null, failingSince: null });
  expect(await readMetric('tollgate_panel_mails_total')).toEqual({ accepted: 1, failed: 2 });
});

test('a dead server is a failure', async () => {
  const { url } = server;
  await server.stop();
  expect(await newMailer({ smtpUrl: url }).send(MAIL)).toMatchObject({ accepted: false, answer: expect.stringMatching(/ECONNREFUSED/) });
  server = await MailServer.start();
});

test('the password is sent to the server that asks for it', async () => {
  const logins: unknown[][] = [];
  await server.stop();
  server = await MailServer.start({
    allowInsecureAuth: true,
    disabledCommands: ['STARTTLS'],
    onAuth: ({ username, password }, _session, done) => {
      logins.push([username, password]);
      done(null, { user: username });
    },
  });
  expect(await newMailer({ smtpUser: 'tollgate', smtpPassword: 'secret' }).send(MAIL)).toMatchObject({ accepted: true });
  expect(logins).toEqual([['tollgate', 'secret']]);
});
