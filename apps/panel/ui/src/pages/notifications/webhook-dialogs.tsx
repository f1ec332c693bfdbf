import { useState } from 'react';
import type {
  Webhook,
  WebhookAddBody,
  WebhookAdded,
  WebhookFormat,
  WebhookRotateBody,
  WebhookTestReply,
  WebhookWithSecret,
} from '../../../../src/shapes/billing.js';
import { useChange } from '../../data/api.js';
import { useSession } from '../../data/session.js';
import { CopyLine } from '../../parts/copy-line.js';
import { Confirm, DialogForm, DoneDialog } from '../../parts/dialog.js';
import { SelectField } from '../../parts/field.js';
import { Answer } from './answer.js';
import { FormatField, NetworkField, UrlField } from './webhook-fields.js';
import { splitUrl } from './webhook-words.js';

/** Adds a webhook and shows its secret once. */
export function NewWebhook({ hasMail, onClose }: { hasMail: boolean; onClose: () => void }) {
  const { account } = useSession();
  // Made once: a form that is sent twice adds one webhook.
  const [webhookId] = useState(() => crypto.randomUUID());
  const [url, setUrl] = useState('');
  const [format, setFormat] = useState<WebhookFormat>('json');
  const [allowsPrivate, setAllowsPrivate] = useState(false);
  const adding = useChange<WebhookAdded>(() => ({
    method: 'POST',
    path: `/accounts/${account}/webhooks`,
    body: { webhookId, url, format, ...(allowsPrivate && { allowPrivateNetwork: true }) } satisfies WebhookAddBody,
  }));
  if (adding.data && format !== 'mail') return <Secret title="Webhook added" secret={adding.data.secret} onClose={onClose} />;
  return (
    <DialogForm title="New notification" submit="Add" change={adding} onDone={format === 'mail' ? onClose : undefined} onClose={onClose}>
      <FormatField
        value={format}
        hasMail={hasMail}
        onChoose={(chosen) => {
          setFormat(chosen);
          setUrl('');
        }}
      />
      <UrlField format={format} value={url} onText={setUrl} />
      {format !== 'mail' && <NetworkField value={allowsPrivate} onChoose={setAllowsPrivate} />}
    </DialogForm>
  );
}

const GRACES = [
  [0, 'At once, because it may be known'],
  [3_600, 'After an hour'],
  [86_400, 'After a day'],
  [7 * 86_400, 'After 7 days'],
] as const;

/** Gives a webhook a new secret and shows it once. */
export function RotateSecret({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const { account } = useSession();
  const [graceSeconds, setGraceSeconds] = useState<number>(86_400);
  const rotating = useChange<WebhookWithSecret>(() => ({
    method: 'POST',
    path: `/accounts/${account}/webhooks/${webhook.webhookId}/rotate`,
    body: { graceSeconds } satisfies WebhookRotateBody,
  }));
  if (rotating.data) return <Secret title="New secret" secret={rotating.data.secret} onClose={onClose} />;
  return (
    <DialogForm title={`New secret for ${splitUrl(webhook.url).host}`} submit="Make secret" change={rotating} onClose={onClose}>
      <p>Messages are signed with both secrets until the old one ends.</p>
      <SelectField label="The old secret ends" options={GRACES} value={graceSeconds} onChoose={setGraceSeconds} />
    </DialogForm>
  );
}

function Secret({ title, secret, onClose }: { title: string; secret: string | null; onClose: () => void }) {
  return (
    <DoneDialog title={title} onClose={onClose}>
      {(onCopied) =>
        secret === null ? (
          <p>It was added before. Its secret is not shown again: make a new one.</p>
        ) : (
          <>
            <p>The receiver proves with this secret that a message is from Tollgate. Copy it now. The panel cannot show it again.</p>
            <CopyLine text={secret} label="Copy the secret" wrap onCopied={onCopied} />
          </>
        )
      }
    </DoneDialog>
  );
}

/** Asks before a webhook is removed. */
export function RemoveWebhook({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const { account } = useSession();
  return (
    <Confirm
      title={`Stop notifications to ${splitUrl(webhook.url).host}?`}
      text={`It gets nothing from now on, and what waits for it is lost.${webhook.format === 'mail' ? '' : ' Its secret never comes back.'}`}
      action="Remove notification"
      path={`/accounts/${account}/webhooks/${webhook.webhookId}`}
      managedBy={webhook.managedBy}
      onClose={onClose}
    />
  );
}

/** Sends a message of kind test, and shows the answer. */
export function TestWebhook({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const { account } = useSession();
  const testing = useChange<WebhookTestReply>(() => ({
    method: 'POST',
    path: `/accounts/${account}/webhooks/${webhook.webhookId}/test`,
  }));
  return (
    <DialogForm
      title={`Test ${splitUrl(webhook.url).host}`}
      submit={testing.data ? 'Send again' : 'Send test'}
      change={testing}
      onClose={onClose}
    >
      <p>Sends one message of kind test, also while the receiver is muted.</p>
      <Answer reply={testing.data} />
    </DialogForm>
  );
}
