import { randomBytes, randomUUID } from 'node:crypto';
import { type Customer, LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import type { HoldLanes } from '../batch/hold-lanes.js';
import { findRequest } from './find-request.js';

let customer: Customer;
let lanes: HoldLanes;
const ledger = await LedgerFixture.open();
beforeEach(async () => {
  customer = await ledger.customer({ topup: 1_000n });
  lanes = ledger.newLanes();
});
afterAll(() => ledger.close());

const toUuid = (digits: string): string => digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');

/** Opens a hold as a gateway does, and returns the digits of its ids. */
async function reserve(traceId?: string): Promise<{ digits: string; holdId: string; requestId: string }> {
  const digits = randomBytes(16).toString('hex');
  const hold = {
    ...makeReserve(customer, 10n),
    requestId: `req_${digits}`,
    ...(traceId && { traceparent: `00-${traceId}-${randomBytes(8).toString('hex')}-01` }),
  };
  expect(await lanes.reserve(hold)).toMatchObject({ status: 'held' });
  return { digits, holdId: hold.holdId, requestId: hold.requestId };
}

const settle = (holdId: string) =>
  lanes.settle({ holdId, accountId: customer.accountId, reason: 'completed', usage: makeUsage(1, 1), settledBy: 'gateway' });

async function findId(text: string): Promise<string> {
  return (await findRequest(ledger.prisma, text)).requestId;
}

test.each([false, true])('a request is found by every id that it has (settled: %s)', async (isSettled) => {
  const traceId = randomBytes(16).toString('hex');
  const { digits, holdId, requestId } = await reserve(traceId);
  if (isSettled) await settle(holdId);
  const ids = [
    requestId,
    `chatcmpl-${digits}`,
    `resp_${digits}`,
    `msg_${digits}`,
    digits,
    toUuid(digits),
    holdId,
    traceId,
    toUuid(traceId),
  ];
  expect(await Promise.all(ids.map(findId))).toEqual(ids.map(() => requestId));
});

test('a trace of several requests finds the running one, or else the newest', async () => {
  const traceId = randomBytes(16).toString('hex');
  const first = await reserve(traceId);
  await settle(first.holdId);
  const second = await reserve(traceId);
  expect(await findId(traceId)).toBe(second.requestId);
});

test('an unknown id is not found, and one of no known form says which there are', async () => {
  const { digits } = await reserve();
  const messages = ['none', `resp_${randomBytes(16).toString('hex')}`, randomUUID(), `call_${digits}`].map((id) =>
    findId(id).catch((error: Error) => error.message),
  );
  const unknown = expect.stringMatching(/^No request with this id has held money\.$/);
  const formless = expect.stringMatching(/^No request has this id\. Give the id of a request \(req_…\)/);
  expect(await Promise.all(messages)).toEqual([formless, unknown, unknown, formless]);
});
