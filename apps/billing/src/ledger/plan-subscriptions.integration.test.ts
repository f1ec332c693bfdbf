import { randomUUID } from 'node:crypto';
import { serviceAuthor } from '#database/audit-journal.js';
import { type Customer, LedgerFixture, makeReserve } from '../../test/ledger-fixture.js';
import { windowAt } from '../calendar/budget-window.js';
import { grantDuePlans } from './grant-due-plans.js';
import { listMovements } from './list-movements.js';
import { cancelPlan, showPlan, subscribePlan } from './plan-subscriptions.js';

let customer: Customer;
const ledger = await LedgerFixture.open({ guarded: true });
beforeEach(async () => {
  customer = await ledger.customer();
});
afterEach(async () => {
  expect(await ledger.violations()).toEqual([]);
  await ledger.sql.query('SET session_replication_role = replica');
  await ledger.sql.query('DELETE FROM billing.plan_subscription');
  await ledger.sql.query('SET session_replication_role = DEFAULT');
});
afterAll(() => ledger.close());

const USD = '0.0000000001'; // 100 pico
const subscribe = (changes: object = {}) =>
  subscribePlan(ledger.prisma, { accountId: customer.accountId, usd: USD, period: 'month', ...changes });
const grantDue = async () => grantDuePlans(ledger.sql, serviceAuthor('billing', ledger.logger));
const computeEnd = (period: 'day' | 'week' | 'month', timeZone = 'UTC') =>
  new Date(windowAt(period, timeZone, Date.now()).windowEnd).toISOString();
const plan = () => showPlan(ledger.prisma, customer.accountId);

/** Makes the running period end now, as its grant and its subscription have it. */
async function endPeriod(): Promise<void> {
  await ledger.sql.query(`UPDATE billing.plan_subscription SET due_at = clock_timestamp() WHERE account_id = $1`, [customer.accountId]);
  await ledger.sql.query('SET session_replication_role = replica');
  await ledger.sql.query(
    `UPDATE billing.movement SET idempotency_key = 'subscription:' || gen_random_uuid() WHERE account_id = $1 AND kind = 'grant'`,
    [customer.accountId],
  );
  await ledger.sql.query('SET session_replication_role = DEFAULT');
}

async function movements(): Promise<unknown[]> {
  const { movements: found } = await listMovements(ledger.prisma, { accountId: customer.accountId });
  return found.map(({ kind, amountPicoUsd }) => [kind, amountPicoUsd]);
}

test.each([
  ['day', 'UTC'],
  ['week', 'Asia/Tokyo'],
  ['month', 'Europe/Berlin'],
] as const)('a new subscription is granted at once, for the %s that runs in %s', async (period, timeZone) => {
  const subscription = await subscribe({ period, timeZone });
  await grantDue();
  const expiresAt = computeEnd(period, timeZone);
  expect(await plan()).toEqual({
    accountId: customer.accountId,
    subscription: { ...subscription, nextGrantAt: expiresAt },
    planBalancePicoUsd: '100',
    expiresAt,
  });
});

test('a subscription that starts later is granted then', async () => {
  await subscribe({ startsAt: '2999-01-01' });
  await grantDue();
  expect(await plan()).toMatchObject({ subscription: { nextGrantAt: '2999-01-01T00:00:00.000Z' }, planBalancePicoUsd: '0' });
});

test('concurrent replicas grant a period once, and so does a repetition', async () => {
  await subscribe();
  const connections = await Promise.all(Array.from({ length: 6 }, () => ledger.connect()));
  await Promise.all(connections.map((connection) => grantDuePlans(connection, serviceAuthor('billing', ledger.logger))));
  await grantDue();
  expect(await movements()).toEqual([['grant', '100']]);
});

test('a start that is set back into a period with a grant grants nothing', async () => {
  const { subscriptionId } = await subscribe();
  await grantDue();
  await subscribe({ startsAt: new Date().toISOString() });
  await grantDue();
  expect(await movements()).toEqual([['grant', '100']]);
  expect(await plan()).toMatchObject({ subscription: { subscriptionId, nextGrantAt: computeEnd('month') } });
});

test('the next period replaces the grant: what is left is forfeited, what is held stays with its holds', async () => {
  await subscribe();
  await grantDue();
  await ledger.newLanes().reserve(makeReserve(customer, 30n));
  await endPeriod();
  await grantDue();
  expect(await movements()).toEqual([
    ['forfeit', '-70'],
    ['grant', '100'],
    ['grant', '100'],
  ]);
  expect(await ledger.account(customer.accountId)).toMatchObject({ plan: '100', plan_held: '0', expired: '30' });
});

test('periods that were missed are not granted afterwards', async () => {
  await subscribe({ startsAt: '2020-01-01', period: 'day' });
  await grantDue();
  await grantDue();
  expect(await movements()).toEqual([['grant', '100']]);
  expect(await plan()).toMatchObject({ expiresAt: computeEnd('day') });
});

test('a change takes effect with the next period', async () => {
  const { subscriptionId } = await subscribe();
  await grantDue();
  expect(await subscribe({ usd: '0.0000000002', period: 'week' })).toMatchObject({ subscriptionId, nextGrantAt: computeEnd('month') });
  await grantDue();
  expect(await plan()).toMatchObject({ planBalancePicoUsd: '100', expiresAt: computeEnd('month') });
  await endPeriod();
  await grantDue();
  expect(await plan()).toMatchObject({ planBalancePicoUsd: '200', expiresAt: computeEnd('week') });
});

test('a cancelled subscription keeps its grant to the end and gets no other', async () => {
  const subscription = await subscribe();
  await grantDue();
  expect(await cancelPlan(ledger.prisma, customer.accountId)).toEqual({ ...subscription, nextGrantAt: computeEnd('month') });
  await grantDue();
  expect(await plan()).toEqual({
    accountId: customer.accountId,
    subscription: null,
    planBalancePicoUsd: '100',
    expiresAt: computeEnd('month'),
  });
  await expect(cancelPlan(ledger.prisma, customer.accountId)).rejects.toMatchObject({ code: 'not_found' });
});

test('a subscription that is cancelled while its grant waits for the account is not granted', async () => {
  await subscribe();
  const other = await ledger.connect();
  await other.query('BEGIN');
  await other.query('SELECT FROM billing.account WHERE id = $1 FOR NO KEY UPDATE', [customer.accountId]);
  const granting = grantDue();
  const { rows } = await other.query<{ id: string }>('DELETE FROM billing.plan_subscription WHERE account_id = $1 RETURNING id', [
    customer.accountId,
  ]);
  await other.query(
    `SELECT billing.record_audit('{"actor": "test"}', 'plan.cancel', NULL, 'subscription/' || $1::text, NULL, NULL, NULL)`,
    [rows[0]?.id],
  );
  await other.query('COMMIT');
  await granting;
  expect(await movements()).toEqual([]);
});

test('a subscription that cannot be granted does not hold up the others', async () => {
  const broken = await ledger.customer();
  await subscribe({ accountId: broken.accountId, startsAt: '2020-01-01' });
  await ledger.sql.query('SET session_replication_role = replica');
  await ledger.sql.query(`UPDATE billing.plan_subscription SET time_zone = 'Nowhere' WHERE account_id = $1`, [broken.accountId]);
  await ledger.sql.query('SET session_replication_role = DEFAULT');
  await subscribe();
  await expect(grantDue()).rejects.toThrow(`granting the plan of account ${broken.accountId} failed`);
  expect(await movements()).toEqual([['grant', '100']]);
});

test('each change has an audit row, and the grant names its subscription', async () => {
  const { subscriptionId } = await subscribe();
  await subscribe();
  await grantDue();
  await subscribe({ usd: '1' });
  await cancelPlan(ledger.prisma, customer.accountId);
  const { rows } = await ledger.sql.query('SELECT action, target FROM billing.audit WHERE account_id = $1 ORDER BY id', [
    customer.accountId,
  ]);
  const { movements: found } = await listMovements(ledger.prisma, { accountId: customer.accountId });
  const target = `subscription/${subscriptionId}`;
  expect(rows).toEqual([
    { action: 'plan.subscribe', target },
    { action: 'plan.grant', target: `movement/${found[0]?.movementId}` },
    { action: 'plan.subscribe', target },
    { action: 'plan.cancel', target },
  ]);
  const start = new Date(windowAt('month', 'UTC', Date.now()).windowStart).toISOString();
  expect(found[0]?.reference).toBe(`${subscriptionId}:${start}`);
});

test.each([
  [{ usd: '0' }, 'usd'],
  [{ timeZone: '+01:00' }, 'timeZone'],
])('%j is refused', async (changes, param) => {
  await expect(subscribe(changes)).rejects.toMatchObject({ code: 'invalid_request', param });
});

test('an unknown account is not found', async () => {
  await expect(subscribe({ accountId: randomUUID() })).rejects.toMatchObject({ code: 'not_found', param: 'accountId' });
});
