import { randomUUID } from 'node:crypto';
import type { PlanPeriod } from '#contracts/billing/plans.js';
import { type Author, logAudit } from '#database/audit-journal.js';
import type { PgConnection } from '#database/pg-connection.js';
import { windowAt } from '../calendar/budget-window.js';
import { underAccountLock } from '../sql/under-account-lock.js';
import { grantStatement, type Replaced } from './grant-plan.js';

/** Grants of one call: with one round trip each, they take the reaper that calls less than a second. */
const GRANTS_MAX = 200;

/** A subscription whose next grant is due. */
interface DueSubscription {
  id: string;
  accountId: string;
  amount: string;
  period: PlanPeriod;
  timeZone: string;
  /** As the database writes it, with microseconds. */
  dueAt: string;
  /** Milliseconds of the database's clock. */
  now: number;
}

const READ_DUE = `SELECT id, account_id AS "accountId", amount::text, period, time_zone AS "timeZone", due_at::text AS "dueAt",
    extract(epoch FROM clock_timestamp())::float8 * 1000 AS now
  FROM billing.plan_subscription WHERE due_at <= clock_timestamp() ORDER BY due_at LIMIT ${GRANTS_MAX}`;

/**
 * Makes the grants that are due, each for the period that runs now: periods that ended before are left out. Any number of replicas may do so
 * at once, because a grant is made once for each subscription and period. Throws the first failure when all others are granted.
 */
export async function grantDuePlans(connection: PgConnection, author: Author): Promise<void> {
  const { rows } = await connection.query<DueSubscription>(READ_DUE);
  let failure: Error | undefined;
  for (const due of rows) {
    try {
      await grantDue(connection, due, author);
    } catch (error) {
      failure ??= new Error(`granting the plan of account ${due.accountId} failed`, { cause: error });
    }
  }
  if (failure) throw failure;
}

/** Grants nothing if the subscription was granted, changed or cancelled meanwhile. */
async function grantDue(connection: PgConnection, due: DueSubscription, author: Author): Promise<void> {
  const { id, accountId, amount, period, timeZone, dueAt, now } = due;
  const { windowStart, windowEnd } = windowAt(period, timeZone, now);
  const reference = `${id}:${new Date(windowStart).toISOString()}`;
  const endsAt = new Date(windowEnd);
  const key = `subscription:${reference}`;
  const [granted] = await underAccountLock(connection, accountId, () => [
    connection.query<Replaced>(GRANT_DUE, [
      accountId,
      amount,
      randomUUID(),
      endsAt,
      key,
      author.caller,
      reference,
      id,
      dueAt,
      period,
      timeZone,
    ]),
    connection.query(ADVANCE, [accountId, id, dueAt, period, timeZone, endsAt]),
  ]);
  for (const { audit } of granted.rows) logAudit(author, audit);
}

const GRANT_DUE = grantStatement(`EXISTS (SELECT FROM billing.plan_subscription s WHERE s.account_id = $1 AND s.id = $8
  AND s.due_at = $9::timestamptz AND s.amount = $2 AND s.period = $10 AND s.time_zone = $11)`);

/** A subscription whose start was set back into a period that has its grant is advanced too. */
const ADVANCE = `UPDATE billing.plan_subscription SET due_at = $6
  WHERE account_id = $1 AND id = $2 AND due_at = $3::timestamptz AND period = $4 AND time_zone = $5`;
