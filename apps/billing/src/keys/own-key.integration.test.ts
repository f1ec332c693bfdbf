import { type Customer, LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import { updateAccount } from '../accounts/accounts.js';
import { createProject, updateProject } from '../accounts/projects.js';
import { setBudget } from '../budgets/budgets.js';
import { showRequest } from '../holds/show-request.js';
import { createKey, updateKey } from './keys.js';
import { queryOwnUsage, showOwnKey, showOwnRequest } from './own-key.js';

let customer: Customer;
let otherKey: string;
const ledger = await LedgerFixture.open();
beforeEach(async () => {
  customer = await ledger.customer({ topup: 1_000n });
  otherKey = await addKey(customer.projectId);
});
afterAll(() => ledger.close());

async function addKey(projectId: string): Promise<string> {
  return (await createKey(ledger.prisma, { projectId }, 'pepper')).keyId;
}

/** Bills a request of a key. Returns its id. */
async function bill(keyId: string, cost: number): Promise<string> {
  const lanes = ledger.newLanes();
  const reserve = { ...makeReserve(customer, 100n), keyId };
  await lanes.reserve(reserve);
  await lanes.settle({ holdId: reserve.holdId, accountId: customer.accountId, reason: 'completed', usage: makeUsage(cost) });
  return reserve.requestId;
}

test('a key shows the tightest of its limits and those of its project and account, and the budgets that its requests count against', async () => {
  const { accountId, projectId, keyId } = customer;
  const { projectId: otherProject } = await createProject(
    ledger.prisma,
    { accountId, name: 'other' },
    { requestsPerMinute: 9, concurrency: 9 },
  );
  const set = (target: { projectId?: string; keyId?: string }) =>
    setBudget(ledger.prisma, { accountId, ...target, period: 'total', limitPicoUsd: '500' });
  const own = [await set({}), await set({ projectId }), await set({ keyId })];
  await set({ keyId: otherKey });
  await set({ projectId: otherProject });
  await bill(keyId, 7);
  const modelLimits = [{ model: 'gpt-*', requestsPerMinuteMax: 5 }];
  await updateKey(ledger.prisma, { keyId, concurrencyMax: 3, tokensPerMinuteMax: 500 });
  const ofAccount = [{ model: 'o3', tokensPerMinuteMax: 9 }];
  await updateAccount(ledger.prisma, { accountId, requestsPerMinuteMax: 15, tokensPerMinuteMax: 450, modelLimits: ofAccount });
  await updateProject(ledger.prisma, { projectId, requestsPerMinuteMax: 20, concurrencyMax: 30, tokensPerMinuteMax: 400, modelLimits });
  const { budgets, ...key } = await showOwnKey(ledger.prisma, { keyId });
  const tightest = { requestsPerMinuteMax: 15, tokensPerMinuteMax: 400, concurrencyMax: 3 };
  const limits = { tightest, projectModelLimits: modelLimits, accountModelLimits: ofAccount };
  expect(key).toMatchObject({ keyId, projectId, accountId, status: 'active', ...limits });
  expect(budgets).toEqual(own.map((budget) => ({ ...budget, spentPicoUsd: '7' })));
});

test('with an attribution a key shows the budgets of its user and tags, with what these have used and hold', async () => {
  const { accountId, projectId, keyId } = customer;
  const set = (target: { dimension: string; value?: string; projectId?: string }) =>
    setBudget(ledger.prisma, { accountId, ...target, period: 'total', limitPicoUsd: '500' });
  const each = await set({ dimension: 'user' });
  const one = await set({ dimension: 'user', value: 'alice', projectId });
  await set({ dimension: 'user', value: 'bob' });
  await set({ dimension: 'tag:team' });
  const lanes = ledger.newLanes();
  for (const user of ['alice', 'alice', 'bob']) {
    const reserve = { ...makeReserve(customer, 100n), attribution: { user } };
    await lanes.reserve(reserve);
    if (user === 'bob') continue;
    await lanes.settle({ holdId: reserve.holdId, accountId, reason: 'completed', usage: makeUsage(7) });
  }
  const read = async (attribution: Record<string, string>) =>
    (await showOwnKey(ledger.prisma, { keyId, attribution })).budgets.map(({ budgetId, value, spentPicoUsd, heldPicoUsd }) => ({
      ...{ budgetId, value, spentPicoUsd, heldPicoUsd },
    }));
  expect(await read({ user: 'alice', client: 'x' })).toEqual([
    { budgetId: each.budgetId, value: 'alice', spentPicoUsd: '14', heldPicoUsd: '0' },
    { budgetId: one.budgetId, value: 'alice', spentPicoUsd: '14', heldPicoUsd: '0' },
  ]);
  expect(await read({ user: 'new' })).toEqual([{ budgetId: each.budgetId, value: 'new', spentPicoUsd: '0', heldPicoUsd: '0' }]);
  expect(await read({ 'tag:constructor': 'x' })).toEqual([]);
});

test('the usage of a key is that of its own requests', async () => {
  const { keyId } = customer;
  await bill(keyId, 7);
  await bill(keyId, 8);
  await bill(otherKey, 100);
  const { rows } = await queryOwnUsage(ledger.prisma, { keyId, from: new Date(Date.now() - 60_000).toISOString(), groupBy: ['ending'] });
  expect(rows).toEqual([expect.objectContaining({ ending: 'completed', requests: 2, costPicoUsd: '15' })]);
});

test('a key shows its own requests; that of another is as unknown as none', async () => {
  const requestId = await bill(customer.keyId, 7);
  expect(await showOwnRequest(ledger.prisma, { keyId: customer.keyId, requestId })).toEqual(await showRequest(ledger.prisma, requestId));
  const refusal = { code: 'not_found', message: 'No request with this id has held money.' };
  await expect(showOwnRequest(ledger.prisma, { keyId: otherKey, requestId })).rejects.toMatchObject(refusal);
  await expect(showOwnRequest(ledger.prisma, { keyId: otherKey, requestId: 'req_none' })).rejects.toMatchObject(refusal);
});

test('an unknown key has nothing to show', async () => {
  const keyId = '0190a6f0-7c1e-7000-8000-0000000000ff';
  await expect(showOwnKey(ledger.prisma, { keyId })).rejects.toMatchObject({ code: 'not_found' });
  await expect(queryOwnUsage(ledger.prisma, { keyId, from: '2026-01-01' })).rejects.toMatchObject({ code: 'not_found' });
});
