import type { MutationsByFile } from './mutation.js';

const ITEMS = 'apps/billing/src/batch/items.integration.test.ts';

/** Mutations of items of services: their ceilings, and who may end and renew a hold. */
export const MUTATIONS_OF_ITEMS: MutationsByFile = {
  'apps/billing/src/batch/read-services.ts': [
    ['the lock on what a service uses', 'ORDER BY service FOR NO KEY UPDATE', 'ORDER BY service', ITEMS, 'one after the other'],
  ],
  'apps/billing/src/batch/batch-changes.ts': [
    [
      'each service gets its own use',
      'WHERE u.service = s.service RETURNING 1',
      "WHERE u.service = s.service AND u.service = '' RETURNING 1",
      ITEMS,
      'charged once',
    ],
  ],
  'apps/billing/src/batch/service-state.ts': [
    ['a day begins', 'day > state.day ? { ...state, day, spent: 0n } : state', 'state', ITEMS, 'on an earlier day'],
    ['a clock that was set back', 'day > state.day ?', 'day !== state.day ?', ITEMS, 'on an earlier day'],
  ],
  'apps/billing/src/holds/renew-items.ts': [
    ['a service renews its own holds', " AND split_part(h.model, '/', 1) = r.service", '', ITEMS, 'end or renew the hold of another one'],
    ['an item alone', 'h.quantity_max IS NOT NULL AND ', '', ITEMS, 'end or renew the hold of another one'],
    [
      'the newest reading',
      'CASE WHEN r.sequence > h.meter_sequence THEN r.quantity ELSE h.meter_quantity END',
      'r.quantity',
      ITEMS,
      'of the last renewal',
    ],
  ],
  'apps/billing/src/batch/fold-batch.ts': [
    ['what another service learns', "(maySee(draft, settle) ? 'already' : 'unknown')", "'already'", ITEMS, 'of the last renewal'],
  ],
};
