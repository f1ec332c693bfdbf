import { useState } from 'react';
import type { Webhook, WebhookUpdateBody } from '../../../../src/shapes/billing.js';
import { useChange } from '../../data/api.js';
import { useSession } from '../../data/session.js';
import { Button } from '../../parts/button.js';
import { DialogForm } from '../../parts/dialog.js';
import { SelectField } from '../../parts/field.js';
import { FormatField, NetworkField, UrlField } from './webhook-fields.js';
import { splitUrl } from './webhook-words.js';

interface EditWebhookProps {
  webhook: Webhook;
  /** Called when the person wants a new secret, or to remove the webhook. */
  onAsk: (kind: 'rotate' | 'remove') => void;
  onClose: () => void;
}

/** Changes the URL or the format of a webhook, or mutes it. */
export function EditWebhook({ webhook, onAsk, onClose }: EditWebhookProps) {
  const { account } = useSession();
  const [url, setUrl] = useState(webhook.url);
  const [format, setFormat] = useState(webhook.format);
  const [isMuted, setMuted] = useState(webhook.mutedAt !== null);
  const [allowsPrivate, setAllowsPrivate] = useState(webhook.allowPrivateNetwork);
  const saving = useChange<Webhook>(() => ({
    method: 'PATCH',
    path: `/accounts/${account}/webhooks/${webhook.webhookId}`,
    body: {
      ...(url !== webhook.url && { url }),
      ...(format !== webhook.format && { format }),
      ...(isMuted !== (webhook.mutedAt !== null) && { muted: isMuted }),
      ...(allowsPrivate !== webhook.allowPrivateNetwork && { allowPrivateNetwork: allowsPrivate }),
    } satisfies WebhookUpdateBody,
  }));
  return (
    <DialogForm
      title={`Notifications to ${splitUrl(webhook.url).host}`}
      submit="Save"
      managedBy={webhook.managedBy}
      change={saving}
      onDone={onClose}
      onClose={onClose}
      actions={
        <>
          <Button look="danger" onClick={() => onAsk('remove')}>
            Remove
          </Button>
          {format !== 'mail' && <Button onClick={() => onAsk('rotate')}>New secret</Button>}
        </>
      }
    >
      {format !== 'mail' && <FormatField value={format} onChoose={setFormat} />}
      <UrlField format={format} value={url} onText={setUrl} />
      <SelectField
        label="Events"
        options={[
          ['on', 'Sent as they happen'],
          ['off', 'Muted: not sent, and what waits is dropped'],
        ]}
        value={isMuted ? 'off' : 'on'}
        onChoose={(choice) => setMuted(choice === 'off')}
      />
      {format !== 'mail' && <NetworkField value={allowsPrivate} onChoose={setAllowsPrivate} />}
    </DialogForm>
  );
}
