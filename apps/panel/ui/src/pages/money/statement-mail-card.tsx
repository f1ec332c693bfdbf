import type { StatementMailBody, StatementMailReply } from '../../../../src/shapes/billing.js';
import { useApi, useChange } from '../../data/api.js';
import { monthAfter } from '../../data/months.js';
import { useSession } from '../../data/session.js';
import { Button } from '../../parts/button.js';
import { MailFailure } from '../../parts/mail-failure.js';
import { Card, Failure } from '../../parts/page.js';
import { utcMonth } from '../../parts/time.js';

/** Switches the mails with the statements of the account on and off for the signed-in person. Nothing without a mail server. */
export function StatementMailCard() {
  const { account, me } = useSession();
  const path = `/accounts/${account}/statement-mail`;
  const { data } = useApi<StatementMailReply>(path);
  const saving = useChange<StatementMailReply, boolean>((isOn) => ({
    method: 'PUT',
    path,
    body: { isOn } satisfies StatementMailBody,
  }));
  if (!data || !(data.mail.isSetUp || data.isOn)) return null;
  const { isOn, sentMonth, mail } = data;
  const next = sentMonth && utcMonth(`${monthAfter(sentMonth, 1)}-01`);
  return (
    <Card
      title="Statements by mail"
      note={isOn ? 'on' : 'off'}
      actions={
        <Button busy={saving.isPending} onClick={() => saving.mutate(!isOn)}>
          {isOn ? 'Stop mails' : 'Mail me statements'}
        </Button>
      }
    >
      <p>
        {isOn
          ? `${me.email} gets the statement of each month as PDF when the month has ended. The next is that of ${next}.`
          : `Get the statement of each month as PDF to ${me.email} when the month has ended. It is for you alone: others switch on their own.`}
      </p>
      <MailFailure mail={mail} />
      {saving.error && <Failure error={saving.error} />}
    </Card>
  );
}
