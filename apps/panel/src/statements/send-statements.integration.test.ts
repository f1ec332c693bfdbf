import { extractText } from 'unpdf';
import { accountList } from '#contracts/billing/accounts.js';
import { movementList } from '#contracts/billing/movements.js';
import { receiptMonth } from '#contracts/billing/receipts.js';
import { usageQuery } from '#contracts/billing/usage.js';
import { MailServer } from '../../test/mail-server.js';
import { PanelFixture } from '../../test/panel-fixture.js';
import { type Mail, Mailer } from '../mail/mailer.js';
import { Services } from '../services/services.js';
import { SendStatements } from './send-statements.js';
import { nextMonth } from './statement-months.js';
import { StatementPdfs } from './statement-pdfs.js';

const ACME = '0190a6f0-7c1e-7000-8000-00000000000a';
const MONTH = new Date().toISOString().slice(0, 7);
/** Two hours after the end of the month that runs. */
const AFTER = Date.parse(`${nextMonth(MONTH)}-01T02:00:00Z`);
const WEEK_MS = 7 * 86_400_000;

const server = await MailServer.start();
const panel = await PanelFixture.open({ smtpUrl: server.url, smtpFrom: 'tollgate@example.com' });
const finance = await panel.person('finance', ACME);
afterAll(async () => {
  await panel.close();
  await server.stop();
});
beforeEach(async () => {
  server.received.length = 0;
  server.refusal = undefined;
  await panel.change('DELETE FROM panel.statement_mail');
  const createdAt = `${MONTH}-01T00:00:00.000Z`;
  panel.messaging.answer(accountList, () => ({ accounts: [{ accountId: ACME, name: 'Acme', createdAt }], nextCursor: null }) as never);
  panel.messaging.answer(usageQuery, () => ({ rows: [], nextCursor: null }) as never);
  const topup = { movementId: ACME, kind: 'topup', amountPicoUsd: '7500000000000', reference: 'inv-1', reason: null, createdAt };
  panel.messaging.answer(receiptMonth, () => ({ receipts: null }));
  panel.messaging.answer(movementList, () => ({ movements: [topup], nextCursor: null }) as never);
});

const set = (isOn: boolean, { cookie } = finance) =>
  panel.send(`/accounts/${ACME}/statement-mail`, { method: 'PUT', cookie, body: { isOn } });
const readRow = async () => (await panel.prisma.panelStatementMail.findMany())[0];
const makeDue = () => panel.sql.query('UPDATE panel.statement_mail SET due_at = now()');

/** A replica of the panel, of which `round` is one look for what is due. */
function replica({ now = AFTER, send }: { now?: number; send?: (mail: Mail) => Promise<never> } = {}): SendStatements {
  const mailer = panel.app.get(Mailer);
  return new SendStatements({
    ...{ prisma: panel.prisma, services: panel.app.get(Services), pdfs: new StatementPdfs(), panelUrl: 'https://panel.example.com' },
    ...{ logger: { info: () => {}, warn: () => {}, error: () => {} }, now: () => now },
    mailer: send ? { isSetUp: true, send } : mailer,
  });
}

test('a person switches their mails on and off, with one row of the journal each', async () => {
  const replies = [await set(true), await set(true), await set(false), await set(false)];
  expect(replies.map(({ status, body }) => [status, body.isOn])).toEqual([
    [200, true],
    [200, true],
    [200, false],
    [200, false],
  ]);
  const row = { accountId: ACME, target: `user/${finance.userId}`, actor: `user/${finance.userId}` };
  expect(await panel.journal('statement-mail.create')).toEqual([expect.objectContaining({ ...row, after: { mailed: true } })]);
  expect(await panel.journal('statement-mail.remove')).toEqual([expect.objectContaining({ ...row, after: { mailed: false } })]);
});

test('the statement of a month is sent once by many replicas, with the PDF, and not before the month has ended', async () => {
  await set(true);
  await replica({ now: Date.parse(`${nextMonth(MONTH)}-01T00:59:00Z`) }).round();
  expect(server.received).toEqual([]);
  await Promise.all([replica().round(), replica().round(), replica().round()]);
  await replica().round();
  const [mail, ...others] = server.received;
  expect([mail?.to, others]).toEqual([[finance.email], []]);
  expect(mail?.raw).toMatch(new RegExp(`^Subject: Statement of Acme, ${MONTH}\r$`, 'm'));
  expect(mail?.raw).toContain('Closing balance: 7.50 USD');
  const [, encoded = ''] = /application\/pdf[\s\S]*?\r\n\r\n([A-Za-z0-9+/=\r\n]+)/.exec(mail?.raw ?? '') ?? [];
  const { text } = await extractText(new Uint8Array(Buffer.from(encoded, 'base64')), { mergePages: true });
  expect(text).toContain('7.50');
  expect((await readRow())?.sentMonth).toBe(MONTH);
});

test('a replica that dies before it has noted the mail leaves it to another, whose mail is the same', async () => {
  await set(true);
  const sent: (string | undefined)[] = [];
  const die = async (mail: Mail): Promise<never> => {
    sent.push(mail.messageId);
    throw new Error('killed');
  };
  await replica({ send: die }).round();
  await replica().round();
  expect(server.received).toEqual([]); // it is another's for now
  await makeDue();
  await replica().round();
  expect(server.received.map(({ raw }) => /^Message-ID:\s*(<[^>]+>)/im.exec(raw)?.[1])).toEqual(sent);
  expect(sent).toEqual([`<statement-${MONTH}.${ACME}.${finance.userId}@panel.example.com>`]);
});

test('months that were missed are sent one after another', async () => {
  await set(true);
  const following = nextMonth(MONTH);
  await replica({ now: Date.parse(`${nextMonth(following)}-01T02:00:00Z`) }).round();
  expect(server.received.map(({ raw }) => /^Subject: (.*)\r$/m.exec(raw)?.[1])).toEqual([
    `Statement of Acme, ${MONTH}`,
    `Statement of Acme, ${following}`,
  ]);
});

test('a mail that is refused is tried again, and given up a week after the month', async () => {
  await set(true);
  server.refusal = 'no such mailbox';
  await replica().round();
  expect((await readRow())?.sentMonth).not.toBe(MONTH);
  await makeDue();
  await replica({ now: AFTER + WEEK_MS }).round();
  expect([(await readRow())?.sentMonth, server.received]).toEqual([MONTH, []]);
});

test('a person who may no longer see the statements gets none, and their mails end', async () => {
  const former = await panel.person('finance', ACME);
  await set(true, former);
  await panel.change(`UPDATE panel.grant SET role = 'developer' WHERE user_id = '${former.userId}'`);
  await replica().round();
  expect([server.received, await readRow()]).toEqual([[], undefined]);
  const rows = await panel.journal('statement-mail.remove');
  expect(rows.at(-1)).toMatchObject({
    actor: 'service/panel',
    target: `user/${former.userId}`,
    reason: expect.stringMatching(/no longer/),
  });
});
