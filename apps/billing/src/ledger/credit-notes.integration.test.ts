import { randomUUID } from 'node:crypto';
import { connectPg } from '#database/pg-connection.js';
import { picoUsd } from '#money/pico-usd.js';
import { type Customer, LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import { OWN_AUTHOR } from '../audit/own-author.js';
import { showRequest } from '../holds/show-request.js';
import { Months } from '../months/months.js';
import { type CreditNote, creditNote } from './credit-note.js';
import { listMovements } from './list-movements.js';

let customer: Customer;
const ledger = await LedgerFixture.open({ guarded: true });
beforeEach(async () => {
  customer = await ledger.customer({ topup: 1_000n });
});
afterEach(async () => expect(await ledger.violations()).toEqual([]));
afterAll(() => ledger.close());

const LANES = { times: { leaseMs: 60_000, reaperGraceMs: -120_000 } };

async function reserve(): Promise<{
  holdId: string;
  requestId: string;
  settle: (reason: 'completed' | 'lease-expired', cost?: number) => Promise<unknown>;
}> {
  const lanes = ledger.newLanes(LANES);
  const { holdId, requestId } = makeReserve(customer, 150n);
  const { accountId } = customer;
  await lanes.reserve({ ...makeReserve(customer, 150n), holdId, requestId });
  return {
    holdId,
    requestId,
    settle: (reason, cost) => lanes.settle({ holdId, accountId, reason, ...(cost !== undefined && { usage: makeUsage(cost) }) }),
  };
}

async function settled(cost: number): Promise<{ holdId: string; requestId: string }> {
  const request = await reserve();
  await request.settle('completed', cost);
  return request;
}

const makeNote = (requestId: string, amount?: bigint, noteId: string = randomUUID()): CreditNote => ({
  ...{ requestId, noteId, reason: 'a test' },
  ...(amount !== undefined && { amount: picoUsd(amount) }),
});
const write = (note: CreditNote) => creditNote(ledger.sql, note);

test('the cost of a request is given back in parts and then in whole, and never more', async () => {
  const { requestId } = await settled(100);
  const { accountId } = customer;
  expect(await write(makeNote(requestId, 30n))).toEqual({ accountId, credited: true, amount: 30n, topup: 930n });
  await expect(write(makeNote(requestId, 71n))).rejects.toMatchObject({
    code: 'conflict',
    param: 'usd',
    message: '$0.000000000071 cannot be given back: $0.00000000007 of the cost of this request is not given back yet.',
    details: { requestedPicoUsd: '71', creditablePicoUsd: '70' },
  });
  expect(await write(makeNote(requestId))).toEqual({ accountId, credited: true, amount: 70n, topup: 1_000n });
  await expect(write(makeNote(requestId))).rejects.toMatchObject({ details: { requestedPicoUsd: '0', creditablePicoUsd: '0' } });
});

test('a request of another account gets no note, also while it runs', async () => {
  const [{ requestId }, running] = [await settled(100), await reserve()];
  const { accountId } = await ledger.customer({ topup: 1_000n });
  for (const id of [requestId, running.requestId]) {
    await expect(write({ ...makeNote(id), accountId })).rejects.toMatchObject({
      code: 'not_found',
      message: 'No settled request of this account has this id.',
    });
  }
  await running.settle('completed', 10);
  expect(await write({ ...makeNote(requestId), accountId: customer.accountId })).toMatchObject({ credited: true, amount: 100n });
});

test('a note id is one note', async () => {
  const [{ requestId }, other] = [await settled(100), await settled(100)];
  const note = makeNote(requestId, 40n);
  const second = await ledger.connect();
  const answers = await Promise.all(Array.from({ length: 10 }, (_, count) => creditNote(count % 2 ? ledger.sql : second, note)));
  expect(answers.filter(({ credited }) => credited)).toHaveLength(1);
  expect(answers.every(({ amount, topup }) => amount === 40n && topup === 840n)).toBe(true);
  for (const changed of [{ amount: picoUsd(41n) }, { requestId: other.requestId }, { reason: 'another' }]) {
    await expect(write({ ...note, ...changed })).rejects.toMatchObject({ code: 'conflict', param: 'noteId' });
  }
});

test('concurrent notes of a request never exceed its cost', async () => {
  const { requestId } = await settled(100);
  const connections = await Promise.all(Array.from({ length: 8 }, () => ledger.connect()));
  const done = await Promise.allSettled(connections.map((connection) => creditNote(connection, makeNote(requestId, 30n))));
  expect(done.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
});

test('a request that runs, an unknown one and the bill of the reaper get no note', async () => {
  const request = await reserve();
  await expect(write(makeNote(request.requestId, 1n))).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringMatching(/still runs/),
  });
  await expect(write(makeNote('req-unknown', 1n))).rejects.toMatchObject({ code: 'not_found', param: 'requestId' });
  const connection = await ledger.connect();
  await connection.query(
    `UPDATE billing.hold SET meter_prompt_tokens = 90, meter_prompt_source = 'reported', meter_output_source = 'reported' WHERE id = $1`,
    [request.holdId],
  );
  await request.settle('lease-expired');
  await expect(write(makeNote(request.requestId, 1n))).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringMatching(/^The reaper billed this request/),
  });
});

test('a late settlement is the cost that can be given back', async () => {
  const request = await reserve();
  await request.settle('lease-expired');
  await request.settle('completed', 20);
  expect(await write(makeNote(request.requestId))).toMatchObject({ amount: 20n, topup: 1_000n });
});

test('the request and the statement show the note, and the cost stays', async () => {
  const { requestId, holdId } = await settled(100);
  const note = makeNote(requestId, 30n);
  await write(note);
  const createdAt = expect.any(String);
  expect(await showRequest(ledger.prisma, requestId)).toMatchObject({
    settlement: { costPicoUsd: '100' },
    creditNotes: [{ noteId: note.noteId, amountPicoUsd: '30', reason: 'a test', createdAt }],
  });
  const { movements } = await listMovements(ledger.prisma, { accountId: customer.accountId, kinds: ['credit-note'] });
  expect(movements).toEqual([
    {
      ...{ movementId: expect.any(String), kind: 'credit-note', amountPicoUsd: '30', reference: note.noteId },
      ...{ grantId: null, refundOf: null, noteOf: holdId, reason: 'a test', createdAt },
    },
  ]);
});

test('the database refuses a note that is not within the cost of a settled request of the account', async () => {
  const { holdId, requestId } = await settled(100);
  const other = await ledger.customer();
  const running = await reserve();
  const insert = (accountId: string, of: string, amount: number) =>
    ledger.sql.query(
      `INSERT INTO billing.movement (account_id, kind, amount, note_of, reason, idempotency_key) VALUES ($1, 'credit-note', $2, $3, 'why', $4)`,
      [accountId, amount, of, randomUUID()],
    );
  const refused = { constraint: 'movement_note_within_cost' };
  await write(makeNote(requestId, 60n));
  await expect(insert(customer.accountId, holdId, 41)).rejects.toMatchObject(refused);
  await expect(insert(other.accountId, holdId, 1)).rejects.toMatchObject(refused);
  await expect(insert(customer.accountId, running.holdId, 1)).rejects.toMatchObject(refused);
});

test('a closed month has the notes that were written in it, among the credits', async () => {
  const own = await LedgerFixture.open();
  const months = new Months({ connect: () => connectPg({ url: own.url, applicationName: 'test-months' }), prisma: own.prisma });
  try {
    const now = new Date();
    const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 2, 1)).toISOString().slice(0, 7);
    const holder = await own.customer({ topup: 1_000n });
    const lanes = own.newLanes(LANES);
    const { holdId, requestId } = makeReserve(holder, 150n);
    await lanes.reserve({ ...makeReserve(holder, 150n), holdId, requestId });
    await lanes.settle({ holdId, accountId: holder.accountId, reason: 'completed', usage: makeUsage(100) });
    await creditNote(own.sql, makeNote(requestId, 30n));
    await own.sql.query('SET session_replication_role = replica');
    await own.sql.query(`UPDATE billing.movement SET created_at = '${month}-10Z'`);
    await own.sql.query(`UPDATE billing.settlement SET settled_at = '${month}-10Z'`);
    await own.sql.query('SET session_replication_role = DEFAULT');
    await months.close(month, OWN_AUTHOR);
    const { rows } = await own.sql.query(
      'SELECT topups::text, credits::text, cost::text, closing::text, topup_closing::text FROM billing.month_account',
    );
    expect(rows).toEqual([{ topups: '1000', credits: '30', cost: '100', closing: '930', topup_closing: '930' }]);
    expect(await own.violations()).toEqual([]);
  } finally {
    await months.stop();
    await own.close();
  }
});
