import { allOf, type PgConnection } from '#database/pg-connection.js';
import { execute, plainArray } from '../sql/pipelined-query.js';
import type { BatchRows } from './batch.js';

/** In the order of the batch: the database numbers them as they come. */
const WRITE_EVENTS = {
  name: 'write_events',
  text: `INSERT INTO billing.money_event (account_id, kind, payload, created_at)
    SELECT account_id, kind, payload::jsonb, $4::timestamptz
    FROM unnest($1::uuid[], $2::text[], $3::text[]) WITH ORDINALITY AS e (account_id, kind, payload, position) ORDER BY position`,
};

const WRITE_PASSED = {
  name: 'write_passed',
  text: `UPDATE billing.budget b SET passed = s.passed FROM unnest($1::uuid[], $2::uuid[], $3::int2[]) AS s (id, payer_id, passed)
    WHERE b.id = s.id AND b.account_id = s.payer_id`,
};

/** Writes the events of a batch in its transaction, with the thresholds that its budgets have passed. `at` is the time of the batch. */
export async function writeEvents(connection: PgConnection, { events, budgets }: BatchRows, at: string): Promise<void> {
  const written: Promise<unknown>[] = [
    execute(connection, WRITE_EVENTS, [
      plainArray(events.map(({ accountId }) => accountId)),
      events.map(({ kind }) => kind),
      events.map(({ payload }) => JSON.stringify(payload)),
      at,
    ]),
  ];
  if (budgets.length > 0) {
    const columns = [
      budgets.map(({ budgetId }) => budgetId),
      budgets.map(({ accountId }) => accountId),
      budgets.map(({ passed }) => passed),
    ];
    written.push(execute(connection, WRITE_PASSED, columns.map(plainArray)));
  }
  await allOf(written);
}
