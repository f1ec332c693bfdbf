import { useState } from 'react';
import type { Webhook, WebhookReplayBody, WebhookReplayReply } from '../../../../src/shapes/billing.js';
import { useChange } from '../../data/api.js';
import { useSession } from '../../data/session.js';
import { useZone } from '../../data/time-zone.js';
import { plural } from '../../format/numbers.js';
import { Button } from '../../parts/button.js';
import { Dialog, DialogActions, DialogForm } from '../../parts/dialog.js';
import { SelectField } from '../../parts/field.js';
import { formatTime, zoneName } from '../../parts/time.js';
import { splitUrl } from './webhook-words.js';

const HOUR_MS = 3_600_000;
const SPANS: readonly (readonly [string, string])[] = [
  [`${HOUR_MS}`, 'The last hour'],
  [`${24 * HOUR_MS}`, 'The last 24 hours'],
  [`${7 * 24 * HOUR_MS}`, 'The last 7 days'],
  [`${30 * 24 * HOUR_MS}`, 'The last 30 days'],
];
const SINCE_GIVEN_UP = 'given-up';

/** Sends the events since a time again, in their order. */
export function ReplayEvents({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const { account } = useSession();
  const { deadSince } = webhook;
  const zone = useZone();
  const [span, setSpan] = useState(deadSince ? SINCE_GIVEN_UP : `${24 * HOUR_MS}`);
  const replaying = useChange<WebhookReplayReply>(() => {
    const from = span === SINCE_GIVEN_UP && deadSince ? deadSince : new Date(Date.now() - Number(span)).toISOString();
    return {
      method: 'POST',
      path: `/accounts/${account}/webhooks/${webhook.webhookId}/replay`,
      body: { from } satisfies WebhookReplayBody,
    };
  });
  const { host } = splitUrl(webhook.url);
  if (replaying.data) {
    return (
      <Dialog title="Replay begun" onClose={onClose}>
        <p role="status">
          {plural(replaying.data.events, 'event')} go to {host} again.
        </p>
        <DialogActions>
          <Button look="primary" onClick={onClose}>
            Done
          </Button>
        </DialogActions>
      </Dialog>
    );
  }
  return (
    <DialogForm title={`Replay events to ${host}`} submit="Send again" change={replaying} onClose={onClose}>
      <p>All events of this time are sent again, in their order and with their ids, also those that were delivered.</p>
      <SelectField
        label="Events of"
        options={[
          ...(deadSince
            ? [
                [
                  SINCE_GIVEN_UP,
                  `Since the first that was given up, ${formatTime(deadSince, 'both', zone)} ${zoneName(zone, deadSince)}`,
                ] as const,
              ]
            : []),
          ...SPANS,
        ]}
        value={span}
        onChoose={setSpan}
      />
    </DialogForm>
  );
}
