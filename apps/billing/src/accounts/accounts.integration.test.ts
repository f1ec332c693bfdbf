import { type Customer, LedgerFixture } from '../../test/ledger-fixture.js';
import { updateAccount } from './accounts.js';

let customer: Customer;
const ledger = await LedgerFixture.open();
beforeEach(async () => {
  customer = await ledger.customer();
});
afterAll(() => ledger.close());

const AHEAD = '2099-01-01T00:00:00.000Z';

async function plansAfter(change: { pricePlan: string | null; pricePlanFrom?: string }) {
  const { pricePlan, nextPricePlan } = await updateAccount(ledger.prisma, { accountId: customer.accountId, ...change });
  return [pricePlan, nextPricePlan];
}

test('a price plan from a time on waits beside the present one, and a later change replaces it', async () => {
  expect(await plansAfter({ pricePlan: 'gold' })).toEqual(['gold', null]);
  expect(await plansAfter({ pricePlan: 'silver', pricePlanFrom: AHEAD })).toEqual(['gold', { pricePlan: 'silver', from: AHEAD }]);
  expect(await plansAfter({ pricePlan: null, pricePlanFrom: AHEAD })).toEqual(['gold', { pricePlan: null, from: AHEAD }]);
  expect(await plansAfter({ pricePlan: 'silver' })).toEqual(['silver', null]);
});

test('the plan whose time has come is the present one when another is to follow it', async () => {
  await ledger.sql.query(
    `UPDATE billing.account SET price_plan = 'gold', next_price_plan = 'silver', next_price_plan_from = now() - interval '1 s' WHERE id = $1`,
    [customer.accountId],
  );
  expect(await plansAfter({ pricePlan: null, pricePlanFrom: AHEAD })).toEqual(['silver', { pricePlan: null, from: AHEAD }]);
});

test.each([
  ['a time that has passed', { pricePlan: 'gold', pricePlanFrom: '2020-01-01' }],
  ['a time without a plan', { pricePlanFrom: AHEAD }],
])('%s is refused', async (_, change) => {
  await expect(updateAccount(ledger.prisma, { accountId: customer.accountId, ...change })).rejects.toMatchObject({
    code: 'invalid_request',
    param: 'pricePlanFrom',
  });
});
