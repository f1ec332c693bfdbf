import type { MailSendRequest } from '#contracts/panel.js';
import type { CreatedInvite } from '../shapes/identity.js';
import type { Mail } from './mailer.js';

const SUBJECT_LENGTH_MAX = 150;

/** Renders a notice about an account: the sentence, a link to its page, and where to end the mails. */
export function renderNotice({ email, accountId, sentence, page }: MailSendRequest, panelUrl: string): Mail {
  const link = (name: string) => `${panelUrl}/panel/a/${accountId ?? 'all'}/${name}`;
  const subject = sentence.length > SUBJECT_LENGTH_MAX ? `${sentence.slice(0, SUBJECT_LENGTH_MAX - 1)}…` : sentence;
  const lines = [
    sentence,
    ...(page ? ['', link(page)] : []),
    '',
    `You get this because your address is on the page Notifications:`,
    link('notifications'),
  ];
  return { to: email, subject: subject.replace(/\.$/, ''), text: `${lines.join('\n')}\n` };
}

/** Renders the link of an invite, with what it gives. */
export function renderInvite({ email, role, link, accountId }: CreatedInvite, invitedBy: string | null): Mail {
  const scope = accountId === null ? 'the platform' : 'an account';
  return {
    to: email ?? '',
    subject: 'Your invite to Tollgate',
    text: `${invitedBy ?? 'An operator'} invites you to ${scope} on Tollgate, with the role ${role}.\n\nOpen this link within 24 hours. It works once:\n${link}\n\nIf you did not expect this mail, ignore it.\n`,
  };
}
