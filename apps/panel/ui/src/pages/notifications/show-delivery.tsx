import type { Delivery, Webhook, WebhookTestReply } from '../../../../src/shapes/billing.js';
import { useChange } from '../../data/api.js';
import { useSession } from '../../data/session.js';
import { Button } from '../../parts/button.js';
import { CopyLine } from '../../parts/copy-line.js';
import { Dialog, DialogActions } from '../../parts/dialog.js';
import { Failure } from '../../parts/page.js';
import { Answer } from './answer.js';
import { describeDelivery } from './webhook-words.js';

/** One event as it is sent, with a button that sends it again. */
export function ShowDelivery({ webhook, delivery, onClose }: { webhook: Webhook; delivery: Delivery; onClose: () => void }) {
  const { account, may } = useSession();
  const { event, answer } = delivery;
  const sending = useChange<WebhookTestReply>(() => ({
    method: 'POST',
    path: `/accounts/${account}/webhooks/${webhook.webhookId}/events/${event.eventId}/send`,
  }));
  return (
    <Dialog title={`Event ${event.sequence}: ${event.kind}`} onClose={onClose}>
      <p>{describeDelivery(delivery)}</p>
      {answer && !sending.data && <p>Last answer: {answer}</p>}
      <CopyLine text={JSON.stringify(event, null, 2)} label="Copy the event" />
      <Answer reply={sending.data} />
      {sending.error && <Failure error={sending.error} />}
      <DialogActions>
        <Button onClick={onClose}>Close</Button>
        {may('notifications') && (
          <Button look="primary" busy={sending.isPending} onClick={() => sending.mutate()}>
            Send again
          </Button>
        )}
      </DialogActions>
    </Dialog>
  );
}
