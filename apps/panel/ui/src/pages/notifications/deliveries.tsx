import { useState } from 'react';
import type { Delivery, DeliveryListReply, Webhook } from '../../../../src/shapes/billing.js';
import { usePages } from '../../data/api.js';
import { useSession } from '../../data/session.js';
import { count } from '../../format/numbers.js';
import { Badge } from '../../parts/badge.js';
import { Button, MoreButton } from '../../parts/button.js';
import { Moment } from '../../parts/moment.js';
import { Card, Empty } from '../../parts/page.js';
import { Table, TwoLines } from '../../parts/table.js';
import { duration, relativeTime } from '../../parts/time.js';
import { ReplayEvents } from './replay-events.js';
import { ShowDelivery } from './show-delivery.js';
import { DELIVERY_STATES, describeDelivery, splitUrl } from './webhook-words.js';

const REFETCH_MS = 10_000;

/** The events of the last 30 days that a webhook got or will get. */
export function Deliveries({ webhook }: { webhook: Webhook }) {
  const { account, may } = useSession();
  const list = usePages<DeliveryListReply>(`/accounts/${account}/webhooks/${webhook.webhookId}/deliveries`, { refetchMs: REFETCH_MS });
  const [shown, setShown] = useState<string>();
  const [isReplaying, setReplaying] = useState(false);
  const deliveries = list.data?.pages.flatMap((page) => page.deliveries);
  const delivery = deliveries?.find(({ event }) => event.eventId === shown);
  const { host } = splitUrl(webhook.url);
  return (
    <>
      <Card
        flush
        title={`Deliveries to ${host}`}
        note="the last 30 days, newest first"
        actions={may('notifications') && webhook.mutedAt === null && <Button onClick={() => setReplaying(true)}>Replay</Button>}
      >
        <Table<Delivery>
          caption={`Deliveries to ${host}`}
          rows={deliveries}
          placeholders={4}
          rowKey={({ event }) => event.eventId}
          empty={<Empty icon="notifications" title="Nothing was sent yet" text="Send a test to see that messages arrive." />}
          columns={[
            {
              head: 'Event',
              wrap: true,
              cell: (row) => <TwoLines main={describeDelivery(row)} more={<Moment at={row.event.createdAt} named />} />,
            },
            {
              head: 'State',
              cell: ({ state, nextAttemptAt }) => (
                <TwoLines
                  main={<Badge tone={DELIVERY_STATES[state].tone}>{DELIVERY_STATES[state].name}</Badge>}
                  more={state === 'retrying' && nextAttemptAt && `again ${relativeTime(nextAttemptAt, Date.now())}`}
                />
              ),
            },
            { head: 'Attempts', align: 'end', wide: true, cell: ({ attempts }) => count(attempts) },
            {
              head: 'Answer',
              wide: true,
              wrap: true,
              cell: ({ answer, milliseconds }) =>
                answer && <TwoLines main={answer} more={milliseconds !== null && `after ${duration(milliseconds)}`} />,
            },
            {
              head: '',
              align: 'end',
              cell: (row) => (
                <Button look="quiet" aria-label={`Show event ${row.event.sequence}`} onClick={() => setShown(row.event.eventId)}>
                  Show
                </Button>
              ),
            },
          ]}
        />
      </Card>
      <MoreButton list={list}>Older deliveries</MoreButton>
      {delivery && <ShowDelivery webhook={webhook} delivery={delivery} onClose={() => setShown(undefined)} />}
      {isReplaying && <ReplayEvents webhook={webhook} onClose={() => setReplaying(false)} />}
    </>
  );
}
