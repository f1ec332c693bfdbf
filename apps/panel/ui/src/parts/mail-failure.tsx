import type { MailState } from '../../../src/shapes/identity.js';
import { Badge } from './badge.js';
import { Moment } from './moment.js';

/** Says that the mail server does not accept mail, and why. */
export function MailFailure({ mail }: { mail: MailState | undefined }) {
  if (!mail?.failure || !mail.failingSince) return null;
  return (
    <p role="status">
      <Badge tone="bad">Mail fails</Badge> since <Moment at={mail.failingSince} named />: {mail.failure}
    </p>
  );
}
