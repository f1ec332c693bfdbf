import type { Logger } from '#observability/logger.js';
import { InviteMails } from './invite-mails.js';
import type { Mail } from './mailer.js';

const MAIL = { to: 'ada@example.com', subject: 'Your invite', text: 'a link' };
const ID = '0190a6f0-7c1e-7000-8000-0000000000f1';

/** Mails of invites whose first `failures` attempts fail. `ended` resolves when an attempt succeeds or none follows. */
function newMails({ failures = 0, isOpen = true, isSetUp = true, retries = 3 } = {}) {
  const sent: Mail[] = [];
  const logged: object[] = [];
  const ended = Promise.withResolvers<void>();
  const send = async (mail: Mail) => {
    sent.push(mail);
    const accepted = sent.length > failures;
    if (accepted) ended.resolve();
    return { accepted, answer: accepted ? '250 ok' : '451 later', milliseconds: 1 };
  };
  const warn = (about: { isLast: boolean }) => {
    logged.push(about);
    if (about.isLast) ended.resolve();
  };
  const open = async () => {
    if (!isOpen) ended.resolve();
    return isOpen;
  };
  const counted: (string | null)[][] = [];
  const count = (userId: string, accountId: string | null) => void counted.push([userId, accountId]);
  const mails = new InviteMails({ isSetUp, send }, { count }, open, { warn } as unknown as Logger, new Array<number>(retries).fill(1));
  return { mails, sent, counted, logged, ended: ended.promise };
}

test('a mail that was not accepted is sent again', async () => {
  const { mails, sent, ended } = newMails({ failures: 2 });
  expect(mails.start(ID, MAIL)).toBe(true);
  await ended;
  expect(sent).toEqual([MAIL, MAIL, MAIL]);
});

test('after the last attempt the log says so, without the link', async () => {
  const { mails, logged, ended } = newMails({ failures: 9, retries: 1 });
  mails.start(ID, MAIL);
  await ended;
  expect(logged).toEqual([
    { inviteId: ID, attempts: 1, failure: '451 later', isLast: false },
    { inviteId: ID, attempts: 2, failure: '451 later', isLast: true },
  ]);
});

test('the mail of an invite that is over is not sent again', async () => {
  const { mails, sent, ended } = newMails({ failures: 9, isOpen: false });
  mails.start(ID, MAIL);
  await ended;
  expect(sent).toHaveLength(1);
});

test('without a mail server there is no mail, and none is counted', () => {
  const { mails, sent, counted } = newMails({ isSetUp: false });
  mails.count('ann', null);
  expect([mails.start(ID, MAIL), sent, counted]).toEqual([false, [], []]);
});
