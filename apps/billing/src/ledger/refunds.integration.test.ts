import { randomUUID } from 'node:crypto';
import type { PgConnection } from '#database/pg-connection.js';
import { picoUsd } from '#money/pico-usd.js';
import { type Customer, LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import { type Adjustment, adjust } from './adjust.js';
import { grantPlan } from './grant-plan.js';
import { listMovements } from './list-movements.js';
import { type Refund, refund } from './refund.js';
import { topUp } from './top-up.js';

const TWO_OF_EIGHT = ['done', 'done', ...Array<string>(6).fill('insufficient_balance')];

const ledger = await LedgerFixture.open();
afterEach(async () => expect(await ledger.violations()).toEqual([]));
afterAll(() => ledger.close());

async function paid(...amounts: bigint[]): Promise<Customer & { payments: string[] }> {
  const customer = await ledger.customer();
  const payments = amounts.map(() => randomUUID());
  for (const [index, amount] of amounts.entries()) {
    await topUp(ledger.sql, { accountId: customer.accountId, amount: picoUsd(amount), paymentId: payments[index] as string });
  }
  return { ...customer, payments };
}

function sendRefund({ accountId }: Customer, wanted: { paymentId?: string; amount?: bigint; refundId?: string }): Promise<unknown> {
  return refund(ledger.sql, { refundId: randomUUID(), accountId, ...wanted } as Refund);
}

function adjustment({ accountId }: Customer, kind: 'credit' | 'debit', amount: bigint, adjustmentId: string = randomUUID()): Adjustment {
  return { accountId, adjustmentId, kind, amount: picoUsd(amount), reason: 'a test' };
}

/** Returns the outcomes of eight concurrent requests, each on its own connection. */
async function atOnce(work: (connection: PgConnection) => Promise<unknown>): Promise<string[]> {
  const connections = await Promise.all(Array.from({ length: 8 }, () => ledger.connect()));
  const done = await Promise.allSettled(connections.map(work));
  return done.map((one) => (one.status === 'fulfilled' ? 'done' : (one.reason as { code: string }).code)).sort();
}

async function spend(customer: Customer, tokens: number): Promise<void> {
  const lanes = ledger.newLanes();
  const reserve = makeReserve(customer, BigInt(tokens));
  await lanes.reserve(reserve);
  await lanes.settle({ holdId: reserve.holdId, accountId: customer.accountId, reason: 'completed', usage: makeUsage(tokens) });
}

describe('a refund', () => {
  test('returns a payment in whole, in parts, or an amount of all payments', async () => {
    const customer = await paid(100n, 50n);
    const [first, second] = customer.payments as [string, string];
    expect(await sendRefund(customer, { paymentId: first, amount: 30n })).toEqual({ refunded: true, amount: 30n, topup: 120n });
    expect(await sendRefund(customer, { paymentId: first })).toEqual({ refunded: true, amount: 70n, topup: 50n });
    expect(await sendRefund(customer, { amount: 10n })).toEqual({ refunded: true, amount: 10n, topup: 40n });
    // 40 of the account are left, although 50 of the second payment were not refunded by its name.
    expect(await sendRefund(customer, { paymentId: second })).toEqual({ refunded: true, amount: 40n, topup: 0n });
  });

  test('is made once per id; the same id for another refund is a conflict', async () => {
    const customer = await paid(100n);
    const [paymentId] = customer.payments;
    const second = await ledger.connect();
    const wanted = { accountId: customer.accountId, refundId: randomUUID(), paymentId, amount: picoUsd(60n) } as Refund;
    const answers = await Promise.all(Array.from({ length: 10 }, (_, count) => refund(count % 2 ? ledger.sql : second, wanted)));
    expect(answers.filter(({ refunded }) => refunded)).toHaveLength(1);
    expect(answers.every(({ amount, topup }) => amount === 60n && topup === 40n)).toBe(true);
    const { amount: _, ...whole } = wanted;
    expect(await refund(ledger.sql, whole)).toEqual({ refunded: false, amount: 60n, topup: 40n });
    for (const changed of [
      { amount: picoUsd(61n) },
      { paymentId: undefined },
      { accountId: (await paid(100n)).accountId, paymentId: undefined },
    ]) {
      await expect(refund(ledger.sql, { ...wanted, ...changed } as Refund)).rejects.toMatchObject({ code: 'conflict', param: 'refundId' });
    }
  });

  test('never exceeds the top-ups not refunded yet, and the error has the refundable amount', async () => {
    const customer = await paid(100n, 50n);
    const [first] = customer.payments;
    await adjust(ledger.sql, adjustment(customer, 'credit', 1_000n));
    await sendRefund(customer, { paymentId: first, amount: 40n });
    const refused = { code: 'insufficient_balance', param: 'usd' };
    await expect(sendRefund(customer, { paymentId: first, amount: 61n })).rejects.toMatchObject({
      ...refused,
      details: { requestedPicoUsd: '61', refundablePicoUsd: '60', freePicoUsd: '1110' },
    });
    await expect(sendRefund(customer, { amount: 111n })).rejects.toMatchObject({
      ...refused,
      details: { requestedPicoUsd: '111', refundablePicoUsd: '110', freePicoUsd: '1110' },
    });
    await sendRefund(customer, { paymentId: first });
    await expect(sendRefund(customer, { paymentId: first })).rejects.toMatchObject({
      ...refused,
      details: { requestedPicoUsd: '0', refundablePicoUsd: '0', freePicoUsd: '1050' },
    });
  });

  test('never takes held or spent money', async () => {
    const customer = await paid(100n);
    await spend(customer, 30);
    await ledger.newLanes().reserve(makeReserve(customer, 50n));
    await expect(sendRefund(customer, { paymentId: customer.payments[0] })).rejects.toMatchObject({
      code: 'insufficient_balance',
      message:
        '$0.0000000001 cannot be refunded: $0.0000000001 was topped up and not refunded yet, $0.00000000002 of top-up money is not held.',
      details: { requestedPicoUsd: '100', refundablePicoUsd: '100', freePicoUsd: '20' },
    });
    expect(await sendRefund(customer, { amount: 20n })).toMatchObject({ topup: 50n });
  });

  test('of an unknown account or payment is not found', async () => {
    const [customer, other] = [await paid(100n), await paid(100n)];
    await expect(sendRefund(customer, { paymentId: other.payments[0] })).rejects.toMatchObject({ code: 'not_found', param: 'paymentId' });
    await expect(sendRefund({ ...customer, accountId: randomUUID() }, { amount: 1n })).rejects.toMatchObject({
      code: 'not_found',
      param: 'accountId',
    });
  });

  test('of many concurrent ones for half each, two are made', async () => {
    const customer = await paid(100n);
    const wanted = (): Refund => ({ accountId: customer.accountId, refundId: randomUUID(), amount: picoUsd(50n) });
    expect(await atOnce((connection) => refund(connection, wanted()))).toEqual(TWO_OF_EIGHT);
    expect(await ledger.account(customer.accountId)).toMatchObject({ topup: '0' });
  });
});

describe('an adjustment', () => {
  test('adds or takes money, once by its id', async () => {
    const customer = await paid(100n);
    const credit = adjustment(customer, 'credit', 5n);
    const debit = adjustment(customer, 'debit', 25n);
    expect(await adjust(ledger.sql, credit)).toEqual({ adjusted: true, topup: 105n });
    expect(await adjust(ledger.sql, debit)).toEqual({ adjusted: true, topup: 80n });
    expect(await adjust(ledger.sql, credit)).toEqual({ adjusted: false, topup: 80n });
    for (const changed of [{ kind: 'debit' as const }, { amount: picoUsd(6n) }, { accountId: (await paid(9n)).accountId }]) {
      await expect(adjust(ledger.sql, { ...credit, ...changed })).rejects.toMatchObject({ code: 'conflict', param: 'adjustmentId' });
    }
  });

  test('of many concurrent debits for half each, two are made', async () => {
    const customer = await paid(100n);
    expect(await atOnce((connection) => adjust(connection, adjustment(customer, 'debit', 50n)))).toEqual(TWO_OF_EIGHT);
    expect(await ledger.account(customer.accountId)).toMatchObject({ topup: '0' });
  });

  test('a debit never takes held money', async () => {
    const customer = await paid(100n);
    await ledger.newLanes().reserve(makeReserve(customer, 60n));
    await expect(adjust(ledger.sql, adjustment(customer, 'debit', 41n))).rejects.toMatchObject({
      code: 'insufficient_balance',
      param: 'usd',
      details: { requestedPicoUsd: '41', freePicoUsd: '40' },
    });
    expect(await adjust(ledger.sql, adjustment(customer, 'debit', 40n))).toEqual({ adjusted: true, topup: 60n });
  });

  test('of an unknown account is not found', async () => {
    const unknown = { accountId: randomUUID(), projectId: '', keyId: '' };
    await expect(adjust(ledger.sql, adjustment(unknown, 'credit', 1n))).rejects.toMatchObject({ code: 'not_found', param: 'accountId' });
  });
});

describe('the statement of account', () => {
  test('lists all movements of money besides requests, newest first, with sign, reference and reason', async () => {
    const customer = await paid(100n);
    const { accountId } = customer;
    const at = expect.stringMatching(/^\d{4}-.*Z$/);
    const grantId = randomUUID();
    await grantPlan(ledger.sql, { grantId, accountId, amount: picoUsd(7n), endsAt: new Date(Date.now() - 1), grantKey: 'june' });
    await ledger.newLanes().sweep(accountId);
    await refund(ledger.sql, {
      accountId,
      refundId: 'r-1',
      paymentId: customer.payments[0] as string,
      amount: picoUsd(40n),
      reason: 'unhappy',
    });
    await adjust(ledger.sql, { ...adjustment(customer, 'debit', 3n, 'a-1'), reason: 'typo' });
    const { movements, nextCursor } = await listMovements(ledger.prisma, { accountId });
    const none = { reference: null, grantId: null, refundOf: null, noteOf: null, reason: null };
    const entry = { movementId: expect.any(String), createdAt: at, ...none };
    expect(nextCursor).toBeNull();
    expect(movements).toEqual([
      { ...entry, kind: 'debit', amountPicoUsd: '-3', reference: 'a-1', reason: 'typo' },
      { ...entry, kind: 'refund', amountPicoUsd: '-40', reference: 'r-1', reason: 'unhappy', refundOf: movements[4]?.movementId },
      { ...entry, kind: 'forfeit', amountPicoUsd: '-7', grantId },
      { ...entry, kind: 'grant', amountPicoUsd: '7', reference: 'june', grantId },
      { ...entry, kind: 'topup', amountPicoUsd: '100', reference: customer.payments[0] },
    ]);
    expect(await listMovements(ledger.prisma, { accountId, kinds: ['topup'], limit: 1 })).toEqual({
      movements: [movements[4]],
      nextCursor: null,
    });
    const from = movements[2]?.createdAt as string;
    expect((await listMovements(ledger.prisma, { accountId, to: from })).movements.map(({ kind }) => kind)).toEqual(['grant', 'topup']);
  });

  test('pages equal the whole list, even when movements are added meanwhile', async () => {
    const customer = await paid(...Array.from({ length: 7 }, () => 1n));
    const { accountId } = customer;
    const whole = await listMovements(ledger.prisma, { accountId });
    const pages: unknown[] = [];
    let cursor: string | null = null;
    do {
      const page = await listMovements(ledger.prisma, { accountId, limit: 3, ...(cursor && { cursor }) });
      pages.push(...page.movements);
      cursor = page.nextCursor;
      await topUp(ledger.sql, { accountId, amount: picoUsd(1n), paymentId: randomUUID() });
    } while (cursor);
    expect(pages).toEqual(whole.movements);
  });

  test('refuses invalid queries, naming the field', async () => {
    const customer = await paid(1n, 2n);
    const { accountId } = customer;
    const { nextCursor } = await listMovements(ledger.prisma, { accountId, limit: 1 });
    const cursor = nextCursor as string;
    const asking = (request: object) => expect(listMovements(ledger.prisma, { accountId, ...request })).rejects;
    await asking({ cursor: 'x' }).toMatchObject({ code: 'invalid_request', param: 'cursor' });
    await asking({ cursor, kinds: ['topup'] }).toMatchObject({ code: 'invalid_request', param: 'cursor' });
    await asking({ from: '2026-02-01', to: '2026-01-01' }).toMatchObject({ code: 'invalid_request', param: 'to' });
    await asking({ accountId: randomUUID() }).toMatchObject({ code: 'not_found', param: 'accountId' });
  });
});

test('the database refuses more refunds than top-ups', async () => {
  const { accountId } = await paid(100n);
  const sql = `INSERT INTO billing.movement (account_id, idempotency_key, kind, amount) VALUES ($1, gen_random_uuid()::text, 'refund', 101)`;
  const constraint = 'movement_refund_within_topups';
  await expect(ledger.sql.query(sql, [accountId])).rejects.toMatchObject({ code: '23514', constraint });
});

test('the database refuses a refund beyond its top-up, or of another account', async () => {
  const [customer, other] = [await paid(100n, 50n), await paid(100n)];
  const sql = `INSERT INTO billing.movement (account_id, idempotency_key, kind, amount, refund_of)
    SELECT $1, gen_random_uuid()::text, 'refund', 51, id FROM billing.movement WHERE idempotency_key = $2`;
  for (const paymentId of [customer.payments[1], other.payments[0]]) {
    await expect(ledger.sql.query(sql, [customer.accountId, `topup:${paymentId}`])).rejects.toMatchObject({
      code: '23514',
      constraint: 'movement_refund_within_its_topup',
    });
  }
});
