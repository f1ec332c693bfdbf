import type { WebhookTestReply } from '../../../../src/shapes/billing.js';
import { Badge } from '../../parts/badge.js';
import { duration } from '../../parts/time.js';

/** The answer to one message, which is read out when it comes. */
export function Answer({ reply }: { reply: WebhookTestReply | undefined }) {
  return (
    <p role="status">
      {reply && (
        <>
          <Badge tone={reply.accepted ? 'good' : 'bad'}>{reply.accepted ? 'Accepted' : 'Not accepted'}</Badge> {reply.answer}, after{' '}
          {duration(reply.milliseconds)}
        </>
      )}
    </p>
  );
}
