import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { serviceAuthor } from '#database/audit-journal.js';
import { createPrismaClient } from '#database/prisma-client.js';
import { createTestDatabase } from '#testing/test-database.js';
import { ChargeStore } from './charge-store.js';

const AUTHOR = serviceAuthor('payments');
const RULE = { thresholdUsd: '5', amountUsd: '10', monthlyCapUsd: '35' };
const CARD = { customer: 'cus_1', paymentMethod: 'pm_1', brand: 'visa', last4: '4242', savedAt: new Date('2026-01-02') };

const database = await createTestDatabase();
const clients = Array.from({ length: 3 }, () => createPrismaClient({ url: database.serviceUrls.payments, applicationName: 'test' }));
const stores = clients.map((client) => new ChargeStore(client));
const [store] = stores as [ChargeStore];
const owner = new pg.Client({ connectionString: database.url });
await owner.connect();
afterAll(async () => {
  await Promise.all(clients.map((client) => client.$disconnect()));
  await owner.end();
  await database.drop();
});

/** An account with the rule and a card. */
async function ruled(rule: Partial<typeof RULE> = {}): Promise<string> {
  const accountId = randomUUID();
  await store.saveCard({ accountId, ...CARD });
  await store.setRule({ accountId, ...RULE, ...rule }, AUTHOR);
  return accountId;
}

/** Reserves from every process at once. Returns what was reserved. */
async function reserveAtOnce(accountId: string) {
  const answers = await Promise.all(Array.from({ length: 24 }, (_, at) => (stores[at % stores.length] as ChargeStore).reserve(accountId)));
  return answers.filter((answer) => answer !== undefined);
}

test('of many at once one charge is made, until the cap of the month has no room for another', async () => {
  const accountId = await ruled();
  const made: number[] = [];
  for (let round = 0; round < 5; round++) {
    const charges = await reserveAtOnce(accountId);
    made.push(charges.length);
    for (const { id } of charges) await store.markPaid(id, accountId, `pi_${id}`);
  }
  expect([made, (await store.show(accountId)).monthPicoUsd]).toEqual([[1, 1, 1, 0, 0], '30000000000000']);
});

test('an open charge counts against the cap, a released one does not', async () => {
  const accountId = await ruled({ monthlyCapUsd: '10' });
  const charge = await store.reserve(accountId);
  expect((await store.show(accountId)).monthPicoUsd).toBe('10000000000000');
  await store.release(String(charge?.id), 'card_declined');
  expect(await store.show(accountId)).toMatchObject({ monthPicoUsd: '0', pausedBy: 'card_declined' });
});

test('the charges of other months do not count', async () => {
  const accountId = await ruled({ monthlyCapUsd: '10' });
  const charge = await store.reserve(accountId);
  await store.markPaid(String(charge?.id), accountId, 'pi_of_january');
  await owner.query("ALTER TABLE payments.charge DISABLE TRIGGER charge_is_kept; UPDATE payments.charge SET month = '2025-01'");
  await owner.query('ALTER TABLE payments.charge ENABLE TRIGGER charge_is_kept');
  expect(await store.reserve(accountId)).toMatchObject({ accountId, cents: 1_000 });
});

test('a cap that is lowered, or a rule that is removed and set anew, forgets nothing of the month', async () => {
  const accountId = await ruled();
  const charge = await store.reserve(accountId);
  await store.markPaid(String(charge?.id), accountId, 'pi_first');
  await store.removeRule(accountId, AUTHOR);
  await store.saveCard({ accountId, ...CARD });
  await store.setRule({ accountId, ...RULE, monthlyCapUsd: '19.99' }, AUTHOR);
  expect(await store.reserve(accountId)).toBeUndefined();
});

test('an account is due with a rule and a card, without an open charge, and not after a refusal until the rule is set again', async () => {
  const accountId = await ruled();
  const isDue = async () =>
    (await store.listDue()).some((rule) => rule.accountId === accountId && rule.thresholdPicoUsd === 5_000_000_000_000n);
  const seen = [await isDue()];
  const charge = await store.reserve(accountId);
  seen.push(await isDue());
  await store.release(String(charge?.id), 'card_declined');
  seen.push(await isDue());
  await store.setRule({ accountId, ...RULE }, AUTHOR);
  seen.push(await isDue());
  expect(seen).toEqual([true, false, false, true]);
});

test('an older card does not replace a newer one', async () => {
  const accountId = await ruled();
  await store.saveCard({ accountId, ...CARD, last4: '1111', savedAt: new Date('2026-01-01') });
  await store.saveCard({ accountId, ...CARD, last4: '2222', savedAt: new Date('2026-01-03') });
  await store.saveCard({ accountId, ...CARD, last4: '3333', savedAt: new Date('2026-01-02') });
  expect((await store.show(accountId)).card?.last4).toBe('2222');
});

test.each([
  [{ amountUsd: '0.49' }, 'amountUsd'],
  [{ amountUsd: '1.005' }, 'amountUsd'],
  [{ thresholdUsd: '0' }, 'thresholdUsd'],
  [{ monthlyCapUsd: '9.99' }, 'monthlyCapUsd'],
])('a rule with %j is refused', async (change, param) => {
  const rule = store.setRule({ accountId: randomUUID(), ...RULE, ...change }, AUTHOR);
  await expect(rule).rejects.toMatchObject({ code: 'invalid_request', param });
});

describe('the database', () => {
  test.each([
    ['changes the amount of a charge', 'UPDATE payments.charge SET amount = 1 WHERE id = $1'],
    ['moves a charge to another month', "UPDATE payments.charge SET month = '2020-01' WHERE id = $1"],
    ['opens a charge that has ended', "UPDATE payments.charge SET state = 'open' WHERE id = $1"],
    ['releases a charge that was paid', "UPDATE payments.charge SET state = 'released' WHERE id = $1"],
    ['deletes a charge', 'DELETE FROM payments.charge WHERE id = $1'],
  ])('refuses the owner who %s', async (_, statement) => {
    const accountId = await ruled();
    const charge = await store.reserve(accountId);
    await store.markPaid(String(charge?.id), accountId, `pi_${accountId}`);
    await expect(owner.query(statement, [charge?.id])).rejects.toMatchObject({ code: '23001' });
  });

  test('makes no charge beyond the cap, whoever inserts it', async () => {
    const accountId = await ruled();
    const insert = `INSERT INTO payments.charge (id, account_id, month, amount, customer, payment_method)
      VALUES (gen_random_uuid(), $1, '', 3501, 'c', 'p')`;
    expect((await owner.query(insert, [accountId])).rowCount).toBe(0);
  });

  test('refuses a rule without an audit row', async () => {
    const insert = 'INSERT INTO payments.auto_topup (account_id, threshold, amount, monthly_cap) VALUES (gen_random_uuid(), 1, 1, 1)';
    await expect(owner.query(insert)).rejects.toMatchObject({ code: '23514', constraint: 'auto_topup_is_audited' });
  });

  test('gives the service no other schema', async () => {
    const service = new pg.Client({ connectionString: database.serviceUrls.payments });
    await service.connect();
    const reading = service.query('SELECT * FROM billing.account').finally(() => service.end());
    await expect(reading).rejects.toThrow(/permission denied/);
  });
});
