import { useState } from 'react';
import { Link, useLocation, useSearch } from 'wouter';
import type { ShownWebhooks, Webhook } from '../../../../src/shapes/billing.js';
import { useApi } from '../../data/api.js';
import { useSession } from '../../data/session.js';
import { Badge } from '../../parts/badge.js';
import { Button } from '../../parts/button.js';
import { MailFailure } from '../../parts/mail-failure.js';
import { WithOwner } from '../../parts/managed.js';
import { Moment } from '../../parts/moment.js';
import { Card, Empty, Page } from '../../parts/page.js';
import { Table, TwoLines } from '../../parts/table.js';
import { Deliveries } from './deliveries.js';
import { EditWebhook } from './edit-webhook.js';
import styles from './notifications.module.css';
import { NewWebhook, RemoveWebhook, RotateSecret, TestWebhook } from './webhook-dialogs.js';
import { describeWebhook, splitUrl } from './webhook-words.js';

/** Deliveries go on by themselves. */
const REFETCH_MS = 10_000;

type Asking = { kind: 'new' } | { kind: 'edit' | 'rotate' | 'test' | 'remove'; webhook: Webhook };

/** Receivers of what happens to the money of an account, and the deliveries of each event. */
export function Notifications() {
  const { account, may } = useSession();
  const { data } = useApi<ShownWebhooks>(`/accounts/${account}/webhooks`, { refetchMs: REFETCH_MS });
  const [path] = useLocation();
  const chosen = new URLSearchParams(useSearch()).get('webhook');
  const [asking, setAsking] = useState<Asking>();
  const close = () => setAsking(undefined);
  const shown = data?.webhooks.find(({ webhookId }) => webhookId === chosen) ?? data?.webhooks[0];
  const newWebhook = may('notifications') && (
    <Button look="primary" icon="plus" onClick={() => setAsking({ kind: 'new' })}>
      New notification
    </Button>
  );
  return (
    <Page
      title="Notifications"
      about="Programs, chats and people get a message when a budget passes a threshold or refuses a request, the balance is low, a project spends far more than it ordinarily does, a plan or a key ends, or the account is frozen."
      actions={newWebhook}
    >
      <MailFailure mail={data?.mail} />
      <Card flush>
        <Table<Webhook>
          caption="Receivers"
          rows={data?.webhooks}
          placeholders={2}
          rowKey={({ webhookId }) => webhookId}
          isMuted={({ mutedAt }) => mutedAt !== null}
          empty={
            <Empty
              icon="notifications"
              title="No one is notified yet"
              text={`Add a program or a chat that receives webhooks${data?.mail.isSetUp ? ', or a person who gets mails' : ''}.`}
            >
              {newWebhook}
            </Empty>
          }
          columns={[
            {
              head: 'Receiver',
              grow: true,
              cell: (webhook) => <Address webhook={webhook} href={`${path}?webhook=${webhook.webhookId}`} />,
            },
            { head: 'State', wrap: true, cell: (webhook) => <State webhook={webhook} hasMail={data?.mail.isSetUp ?? true} /> },
            { head: 'Gets', wide: true, cell: ({ format }) => (format === 'json' ? 'JSON' : 'Sentences') },
            { head: 'Added', wide: true, cell: ({ createdAt }) => <Moment at={createdAt} format="day" /> },
            {
              head: '',
              align: 'end',
              cell: (webhook) => may('notifications') && <Buttons webhook={webhook} onAsk={(kind) => setAsking({ kind, webhook })} />,
            },
          ]}
        />
      </Card>
      {/* The deliveries of a webhook that was removed are not there to load again. */}
      {shown && asking?.kind !== 'remove' && <Deliveries key={shown.webhookId} webhook={shown} />}
      {asking?.kind === 'new' && <NewWebhook hasMail={data?.mail.isSetUp ?? false} onClose={close} />}
      {asking?.kind === 'edit' && <EditWebhook webhook={asking.webhook} onAsk={(kind) => setAsking({ ...asking, kind })} onClose={close} />}
      {asking?.kind === 'rotate' && <RotateSecret webhook={asking.webhook} onClose={close} />}
      {asking?.kind === 'remove' && <RemoveWebhook webhook={asking.webhook} onClose={close} />}
      {asking?.kind === 'test' && <TestWebhook webhook={asking.webhook} onClose={close} />}
    </Page>
  );
}

function Address({ webhook, href }: { webhook: Webhook; href: string }) {
  const { host, path } = splitUrl(webhook.url);
  return (
    <TwoLines
      main={
        <Link to={href} replace>
          {host}
        </Link>
      }
      more={<WithOwner by={webhook.managedBy}>{webhook.accountId === null ? `${path} · events of all accounts` : path}</WithOwner>}
    />
  );
}

function State({ webhook, hasMail }: { webhook: Webhook; hasMail: boolean }) {
  const { state, tone, more } = describeWebhook(webhook, hasMail);
  return (
    <div className={styles.state}>
      <TwoLines main={<Badge tone={tone}>{state}</Badge>} more={more} />
    </div>
  );
}

function Buttons({ webhook, onAsk }: { webhook: Webhook; onAsk: (kind: 'edit' | 'test') => void }) {
  const { host } = splitUrl(webhook.url);
  return (
    <span className={styles.buttons}>
      <Button look="quiet" aria-label={`Test ${host}`} onClick={() => onAsk('test')}>
        Test
      </Button>
      <Button look="quiet" aria-label={`Edit ${host}`} onClick={() => onAsk('edit')}>
        Edit
      </Button>
    </span>
  );
}
