import type { KeyUpdateRequest } from '#contracts/billing/keys.js';
import { type Customer, LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import type { HoldLanes } from '../batch/hold-lanes.js';
import { setBudget } from '../budgets/budgets.js';
import { listKeys, rotateKey, updateKey } from '../keys/keys.js';

/** Budgets and limits of keys that replace one another. */
let customer: Customer;
let lanes: HoldLanes;
const ledger = await LedgerFixture.open({ guarded: true });
beforeEach(async () => {
  customer = await ledger.customer({ topup: 100_000n });
  lanes = ledger.newLanes();
});
afterEach(async () => expect(await ledger.violations()).toEqual([]));
afterAll(() => ledger.close());

const rotated = async (replaced: Customer): Promise<Customer> => {
  const { keyId } = await rotateKey(ledger.prisma, { keyId: replaced.keyId, graceSeconds: 600 }, 'pepper');
  return { ...replaced, keyId };
};
const keyBudget = ({ accountId, keyId }: Customer, limitPicoUsd: string, period: 'day' | 'total' = 'day') =>
  setBudget(ledger.prisma, { accountId, keyId, period, limitPicoUsd });
const readLimits = async ({ keyId }: Customer) => {
  const [key] = (await listKeys(ledger.prisma, { keyId })).keys;
  return { concurrencyMax: key?.concurrencyMax, tokensPerMinuteMax: key?.tokensPerMinuteMax };
};
const limit = ({ keyId }: Customer, limits: Partial<KeyUpdateRequest>) => updateKey(ledger.prisma, { keyId, ...limits });

/** Bills a request of a key. */
async function bill(of: Customer, cost: bigint): Promise<void> {
  const reserve = makeReserve(of, cost);
  await lanes.reserve(reserve);
  await lanes.settle({ holdId: reserve.holdId, accountId: of.accountId, reason: 'completed', usage: makeUsage(Number(cost)) });
}

test('a budget that is set by the name of a later key is the same one, and one that is set later counts what all have spent and hold', async () => {
  const first = await keyBudget(customer, '100');
  await bill(customer, 30n);
  await lanes.reserve(makeReserve(customer, 5n));
  const second = await rotated(customer);
  await bill(second, 10n);
  expect(await keyBudget(second, '90')).toEqual({ ...first, limitPicoUsd: '90', spentPicoUsd: '40', heldPicoUsd: '5' });
  const total = await keyBudget(second, '90', 'total');
  expect(total).toMatchObject({ keyId: customer.keyId, spentPicoUsd: '40', heldPicoUsd: '5' });
});

test('limits are those of all keys of a rotation, whichever of them they are set by; each change is audited', async () => {
  await limit(customer, { concurrencyMax: 3 });
  const second = await rotated(customer);
  const held = [await lanes.reserve(makeReserve(customer, 1n)), await lanes.reserve(makeReserve(second, 1n))];
  await limit(second, { tokensPerMinuteMax: 50 });
  expect([await readLimits(customer), await readLimits(second)]).toEqual(Array(2).fill({ concurrencyMax: 3, tokensPerMinuteMax: 50 }));
  held.push(await lanes.reserve({ ...makeReserve(customer, 1n), tokensMax: 30 }));
  held.push(await lanes.reserve({ ...makeReserve(second, 1n), tokensMax: 30 }), await lanes.reserve(makeReserve(second, 1n)));
  expect(held).toMatchObject([
    { status: 'held' },
    { status: 'held' },
    { status: 'held', tokens: { remaining: 20 } },
    { status: 'refused', code: 'rate_limit_exceeded', limit: 50 },
    { status: 'refused', code: 'concurrency_limit', limit: 3 },
  ]);
});

test('a limit on concurrency that is set after a rotation counts the open requests of both keys', async () => {
  await lanes.reserve(makeReserve(customer, 1n));
  const second = await rotated(customer);
  await limit(second, { concurrencyMax: 2 });
  expect([await lanes.reserve(makeReserve(second, 1n)), await lanes.reserve(makeReserve(second, 1n))]).toMatchObject([
    { status: 'held' },
    { status: 'refused', code: 'concurrency_limit' },
  ]);
});
