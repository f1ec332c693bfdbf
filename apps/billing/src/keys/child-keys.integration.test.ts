import type { ReserveRequest } from '#contracts/billing/holds.js';
import { type ChildLevel, parseChildKey, proveSignature, type SentChildKey } from '#contracts/child-keys/child-key.js';
import { mintChild } from '#contracts/child-keys/narrow-child.js';
import { type Customer, LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import { removeBudget, setBudget } from '../budgets/budgets.js';
import { listBudgetValues } from '../budgets/list-values.js';
import { sweepBudgetValues } from '../budgets/sweep-budget-values.js';
import { renewHolds } from '../holds/renew.js';
import { mintChildKey, revokeChildKey } from './child-keys.js';
import { KeyLookups } from './key-lookups.js';
import { createKey, updateKey } from './keys.js';
import { listChildKeys } from './list-child-keys.js';
import { queryOwnUsage, showOwnKey, showOwnRequest } from './own-key.js';

const PEPPER = 'pepper';
const ledger = await LedgerFixture.open({ guarded: true });
const lookups = new KeyLookups(PEPPER, {
  connect: ledger.connect,
  logger: ledger.logger,
  batchMax: 256,
  queueMax: 100,
  deadlineMs: 30_000,
});
let customer: Customer;
beforeAll(() => lookups.open());
beforeEach(async () => {
  customer = await ledger.customer({ topup: 10_000n });
});
afterEach(async () => expect(await ledger.violations()).toEqual([]));
afterAll(async () => {
  await lookups.close();
  await ledger.close();
});

const delegate = (limitPicoUsd = '1000') => {
  const { accountId, keyId } = customer;
  return setBudget(ledger.prisma, { accountId, keyId, dimension: 'child', period: 'total', limitPicoUsd });
};
const mint = (wanted: { limitPicoUsd?: string; seconds?: number } = {}) =>
  mintChildKey(ledger.prisma, { keyId: customer.keyId, seconds: 600, ...wanted }, PEPPER);

/** Asks for the key of a child key, as a gateway does. */
const resolve = (key: string) => {
  const { signed, signature } = parseChildKey(key) as SentChildKey;
  return lookups.resolveChild({ signed, proof: proveSignature(signature) });
};

/** Makes the chain of child keys with these limits. */
async function mintChain(...limits: number[]): Promise<ChildLevel[]> {
  const { key } = await mint({ limitPicoUsd: String(limits[0]) });
  const { delegation } = await resolve(key);
  let levels = (parseChildKey(key) as SentChildKey).levels;
  for (const limit of limits.slice(1)) {
    const signingKey = Buffer.from(delegation?.signingKey ?? '', 'base64');
    const parent = { keyId: customer.keyId, signingKey, levels, limit: 1_000n, endsAt: Number.POSITIVE_INFINITY };
    levels = [...mintChild(parent, { limitPicoUsd: String(limit) }).levels];
  }
  return levels;
}

const reserveBy = (levels: readonly ChildLevel[], amount: bigint): ReserveRequest => ({
  ...makeReserve(customer, amount),
  attribution: { child: levels.at(-1)?.path ?? '' },
  childLimitsPicoUsd: levels.map(({ limitPicoUsd }) => limitPicoUsd),
});

test('a key without a budget of child keys makes none', async () => {
  await expect(mint()).rejects.toMatchObject({ code: 'conflict', param: 'keyId' });
});

test.each([
  ['a day', { period: 'day' as const }],
  ['one value', { value: '1798761600-9f86d081884c7d65' }],
])('a budget of child keys is no budget of %s', async (_, fields) => {
  const { accountId } = customer;
  const request = { accountId, dimension: 'child', period: 'total' as const, limitPicoUsd: '5', ...fields };
  await expect(setBudget(ledger.prisma, request)).rejects.toMatchObject({ code: 'invalid_request' });
});

test('billing answers about the key of a child key that it has signed, and of no other', async () => {
  await delegate();
  const { key } = await mint({ limitPicoUsd: '70' });
  const { keyId, projectId, accountId } = customer;
  expect(await resolve(key)).toEqual({
    ...{ keyId, projectId, accountId },
    delegation: { signingKey: expect.stringMatching(/^[\w+/]{43}=$/), limitPicoUsd: '1000' },
  });
  const parent = { keyId, signingKey: Buffer.alloc(32), levels: [], limit: 1_000n, endsAt: Number.POSITIVE_INFINITY };
  await expect(resolve(mintChild(parent, { seconds: 60 }).key)).rejects.toMatchObject({ code: 'invalid_api_key' });
});

test('child keys end with the budget that was set first, and with their key', async () => {
  const { budgetId } = await delegate();
  const { key } = await mint();
  await removeBudget(ledger.prisma, { budgetId });
  await expect(resolve(key)).rejects.toMatchObject({ code: 'invalid_api_key' });
  await delegate();
  await expect(resolve(key)).rejects.toMatchObject({ code: 'invalid_api_key' });
  const other = await mint();
  await updateKey(ledger.prisma, { keyId: customer.keyId, disabled: true });
  await expect(resolve(other.key)).rejects.toMatchObject({ code: 'invalid_api_key' });
});

test.each(['lock', 'memory'])('what a child key spends is spent by each above it, by a batch from %s', async (how) => {
  const { budgetId } = await delegate();
  const chain = await mintChain(500, 300, 100);
  const lanes = ledger.newLanes();
  for (let count = 0; count < (how === 'memory' ? 4 : 0); count++) await lanes.reserve(makeReserve(customer, 0n));
  const first = reserveBy(chain, 60n);
  const answers = [await lanes.reserve(first), await lanes.reserve(reserveBy(chain, 41n))];
  await lanes.settle({ holdId: first.holdId, accountId: customer.accountId, reason: 'completed', usage: makeUsage(50) });
  answers.push(await lanes.reserve(reserveBy(chain.slice(0, 2), 251n)), await lanes.reserve(reserveBy(chain.slice(0, 2), 250n)));
  answers.push(await lanes.reserve(reserveBy(chain.slice(0, 1), 201n)), await lanes.reserve(reserveBy(chain, 1n)));
  const [one, two, three] = chain.map(({ path }) => path);
  const refused = (value: string | undefined, limitPicoUsd: string, leftPicoUsd: string) =>
    expect.objectContaining({ budget: expect.objectContaining({ dimension: 'child', value, limitPicoUsd, leftPicoUsd }) });
  expect(answers).toEqual([
    expect.objectContaining({ status: 'held' }),
    refused(three, '100', '40'),
    refused(two, '300', '250'),
    expect.objectContaining({ status: 'held' }),
    refused(one, '500', '200'),
    refused(two, '300', '0'),
  ]);
  const { values } = await listBudgetValues(ledger.prisma, { accountId: customer.accountId, budgetId });
  expect(values).toEqual([
    { value: one, limitPicoUsd: '500', spentPicoUsd: '50', heldPicoUsd: '250' },
    { value: two, limitPicoUsd: '300', spentPicoUsd: '50', heldPicoUsd: '250' },
    { value: three, limitPicoUsd: '100', spentPicoUsd: '50', heldPicoUsd: '0' },
  ]);
});

test('a revoked child key ends with all below it, also its running requests, and no other does', async () => {
  await delegate();
  const [chain, other] = [await mintChain(500, 300), await mintChain(500)];
  const lanes = ledger.newLanes();
  for (let count = 0; count < 4; count++) await lanes.reserve(makeReserve(customer, 0n));
  const running = reserveBy(chain, 1n);
  await lanes.reserve(running);
  const childId = chain[0]?.path ?? '';
  expect(await revokeChildKey(ledger.prisma, { keyId: customer.keyId, childId })).toMatchObject({ revoked: [childId] });
  const answers = [await lanes.reserve(reserveBy(chain, 1n)), await lanes.reserve(reserveBy(other, 1n))];
  expect(answers).toMatchObject([{ status: 'refused', code: 'invalid_api_key' }, { status: 'held' }]);
  const { mayCall } = await renewHolds(ledger.sql, [{ holdId: running.holdId, sequence: 1, usage: makeUsage(1) }], 60_000);
  expect([...mayCall.values()]).toEqual([false]);
});

test('a child key that is below a revoked one is not listed, and one above it takes its place', async () => {
  await delegate();
  const [one, two] = (await mintChain(500, 300)).map(({ path }) => path) as [string, string];
  const { keyId } = customer;
  const lists = [];
  for (const childId of [two, two, one, two]) lists.push((await revokeChildKey(ledger.prisma, { keyId, childId })).revoked);
  expect(lists).toEqual([[two], [two], [one], [one]]);
  const { rows } = await ledger.sql.query("SELECT after FROM billing.audit WHERE action = 'child-key.revoke' AND target = $1", [
    `key/${keyId}`,
  ]);
  expect(rows).toEqual([{ after: { childId: two } }, { after: { childId: one } }]);
});

test('an expired child key, and one without a budget, are refused by the reserve itself', async () => {
  const { budgetId } = await delegate();
  const chain = await mintChain(500);
  const ended = [{ path: `${Math.floor(Date.now() / 1_000)}-${'0'.repeat(16)}`, limitPicoUsd: '500' }];
  const lanes = ledger.newLanes();
  expect(await lanes.reserve(reserveBy(ended, 1n))).toMatchObject({ code: 'invalid_api_key' });
  await removeBudget(ledger.prisma, { budgetId });
  expect(await lanes.reserve(reserveBy(chain, 1n))).toMatchObject({ code: 'invalid_api_key' });
});

test('parallel requests of a chain on many replicas stay within its lowest budget', async () => {
  const { budgetId } = await delegate();
  const chain = await mintChain(500, 300, 100);
  const all = Array.from({ length: 3 }, () => ledger.newLanes());
  const outcomes = await Promise.all(Array.from({ length: 60 }, async (_, at) => all[at % 3]?.reserve(reserveBy(chain, 10n))));
  expect(outcomes.filter((outcome) => outcome?.status === 'held')).toHaveLength(10);
  const { values } = await listBudgetValues(ledger.prisma, { accountId: customer.accountId, budgetId });
  expect(values.map(({ heldPicoUsd }) => heldPicoUsd)).toEqual(['100', '100', '100']);
});

test('sums of child keys that ended an hour ago are swept, those of others stay', async () => {
  const { budgetId } = await delegate();
  const chain = await mintChain(500, 300);
  await ledger.newLanes().reserve(reserveBy(chain, 5n));
  const { accountId } = customer;
  const windowEnd = new Date(Date.now() - 3_700_000);
  const value = `${Math.floor(windowEnd.getTime() / 1_000)}-${'0'.repeat(16)}`;
  await ledger.prisma.budgetValue.create({ data: { budgetId, accountId, windowEnd, value, spent: 7, held: 0 } });
  await sweepBudgetValues(ledger.sql);
  const rows = await ledger.prisma.budgetValue.findMany({ where: { budgetId }, orderBy: { value: 'asc' } });
  expect(rows.map((row) => row.value)).toEqual(chain.map(({ path }) => path));
});

test('a child key sees its budgets, and the usage and requests of itself and those below it', async () => {
  await delegate();
  const chain = await mintChain(500, 300);
  const lanes = ledger.newLanes();
  const { accountId, keyId } = customer;
  const requests: ReserveRequest[] = [];
  for (const [levels, cost] of [
    [[], 1],
    [chain.slice(0, 1), 10],
    [chain, 100],
  ] as const) {
    const reserve = levels.length > 0 ? reserveBy(levels, 200n) : makeReserve(customer, 200n);
    requests.push(reserve);
    await lanes.reserve(reserve);
    await lanes.settle({ holdId: reserve.holdId, accountId, reason: 'completed', usage: makeUsage(cost) });
  }
  const [one, two] = chain.map(({ path }) => path) as [string, string];
  const from = new Date(Date.now() - 3_600_000).toISOString();
  const costs = async (child?: string) => {
    const { rows } = await queryOwnUsage(ledger.prisma, { keyId, from, groupBy: ['child'], ...(child && { child }) });
    return rows.map((row) => [row.child, row.costPicoUsd]);
  };
  expect([await costs(), await costs(one), await costs(two)]).toEqual([
    [
      [null, '1'],
      [one, '10'],
      [two, '100'],
    ],
    [
      [one, '10'],
      [two, '100'],
    ],
    [[two, '100']],
  ]);
  const seen = await Promise.all(
    requests.map(({ requestId }) =>
      showOwnRequest(ledger.prisma, { keyId, child: one, requestId }).then(
        () => true,
        () => false,
      ),
    ),
  );
  expect(seen).toEqual([false, true, true]);
  const { budgets } = await showOwnKey(ledger.prisma, { keyId, attribution: { child: two }, childLimitsPicoUsd: ['500', '300'] });
  expect(budgets.map(({ value, limitPicoUsd, spentPicoUsd }) => [value, limitPicoUsd, spentPicoUsd])).toEqual([
    [one, '500', '110'],
    [two, '300', '100'],
  ]);
});

test.each(['key', 'account'])(
  'the child keys of a key are listed with what each used of its limit, by a budget of the %s',
  async (target) => {
    const { accountId, keyId, projectId } = customer;
    const wanted = { accountId, dimension: 'child', period: 'total', limitPicoUsd: '1000' } as const;
    await setBudget(ledger.prisma, target === 'key' ? { ...wanted, keyId } : wanted);
    const chain = await mintChain(500, 300);
    const unused = await mint({ limitPicoUsd: '70', seconds: 900 });
    const short = await mint({ seconds: 1 });
    const other = await createKey(ledger.prisma, { projectId }, PEPPER);
    if (target === 'account') await mintChildKey(ledger.prisma, { keyId: other.keyId, seconds: 600 }, PEPPER);
    const lanes = ledger.newLanes();
    const first = reserveBy(chain, 60n);
    await lanes.reserve(first);
    await lanes.settle({ holdId: first.holdId, accountId, reason: 'completed', usage: makeUsage(50) });
    await lanes.reserve(reserveBy(chain.slice(0, 1), 7n));
    if (target === 'account') {
      const { key } = await mintChildKey(ledger.prisma, { keyId: other.keyId, seconds: 600 }, PEPPER);
      await lanes.reserve({ ...reserveBy((parseChildKey(key) as SentChildKey).levels, 5n), keyId: other.keyId });
    }
    const [one, two] = chain.map(({ path }) => path) as [string, string];
    await revokeChildKey(ledger.prisma, { keyId, childId: two });
    while (Date.parse(short.expiresAt) > Date.now()) await new Promise((resolve) => setTimeout(resolve, 50));
    const { childKeys } = await listChildKeys(ledger.prisma, { keyId });
    const used = childKeys.map(({ childId, limitPicoUsd, spentPicoUsd, heldPicoUsd, isRevoked }) => [
      ...[childId, limitPicoUsd, spentPicoUsd, heldPicoUsd],
      isRevoked,
    ]);
    expect(used).toEqual([
      [one, '500', '50', '7', false],
      [two, '300', '50', '0', true],
      // Made over NATS: the audit journal has it.
      [unused.childId, '70', '0', '0', false],
    ]);
    const pages = [await listChildKeys(ledger.prisma, { keyId, limit: 2 })];
    pages.push(await listChildKeys(ledger.prisma, { keyId, limit: 2, cursor: pages[0]?.nextCursor ?? '' }));
    expect(pages.map((page) => page.childKeys.length)).toEqual([2, 1]);
    expect(pages.map(({ nextCursor }) => nextCursor === null)).toEqual([false, true]);
  },
);

test('a key without a budget of child keys lists none, and an unknown one is not found', async () => {
  const { budgetId } = await delegate();
  await mint();
  await removeBudget(ledger.prisma, { budgetId });
  expect(await listChildKeys(ledger.prisma, { keyId: customer.keyId })).toEqual({ childKeys: [], nextCursor: null });
  await delegate();
  expect((await listChildKeys(ledger.prisma, { keyId: customer.keyId })).childKeys).toEqual([]);
  await expect(listChildKeys(ledger.prisma, { keyId: customer.accountId })).rejects.toMatchObject({ code: 'not_found' });
});
