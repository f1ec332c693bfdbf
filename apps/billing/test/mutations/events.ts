import type { MutationsByFile } from './mutation.js';

const DELIVERED = 'apps/billing/src/events/event-deliverer.integration.test.ts';
const WRITTEN = 'apps/billing/src/events/money-events.integration.test.ts';

/** Mutations of money events: when they are written, kept and delivered. */
export const MUTATIONS_OF_EVENTS: MutationsByFile = {
  'apps/billing/src/batch/apply-batch.ts': [
    [
      'a batch with events is written under the lock',
      'if (applied.rows.events.length > 0) return undefined;',
      '',
      WRITTEN,
      'a budget: each threshold once',
    ],
  ],
  'apps/billing/src/events/keep-events.ts': [
    [
      'events wait for NATS before they are deleted',
      'AND e.published_at IS NOT NULL',
      '',
      DELIVERED,
      'old events that wait for NATS are kept',
    ],
    [
      'events wait for webhooks before they are deleted',
      'AND d.done < e.sequence)',
      'AND false)',
      DELIVERED,
      'old events are deleted when they are delivered',
    ],
    [
      'a key is announced once for each end',
      "AND e.payload ->> 'expiresAt' =",
      "AND e.payload ->> 'expiresAt' >=",
      DELIVERED,
      'one event for each end that it is given',
    ],
  ],
  'apps/billing/src/events/publish-events.ts': [
    [
      'events are published in their order',
      'ORDER BY e.account_id, e.sequence LIMIT',
      'ORDER BY e.id DESC LIMIT',
      DELIVERED,
      'one replica delivers at a time',
    ],
  ],
  'apps/billing/src/sql/leadership.ts': [
    [
      'one replica delivers',
      'this.leading = rows[0]?.leading === true;',
      'this.leading = true;',
      DELIVERED,
      'one replica delivers at a time',
    ],
  ],
  'apps/billing/src/events/webhook-deliveries.ts': [
    ['a replay wins over a delivery', ' AND done = $3', '', DELIVERED, 'a replay during a delivery'],
  ],
};
