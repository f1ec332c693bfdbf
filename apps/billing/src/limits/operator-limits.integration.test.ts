import type { BudgetSetRequest } from '#contracts/billing/budgets.js';
import type { Author } from '#database/audit-journal.js';
import { type Customer, LedgerFixture } from '../../test/ledger-fixture.js';
import { createAccount, listAccounts, updateAccount } from '../accounts/accounts.js';
import { createProject, updateProject } from '../accounts/projects.js';
import { removeBudget, setBudget } from '../budgets/budgets.js';
import { createKey, rotateKey, updateKey } from '../keys/keys.js';

/** A customer lowers what the operator has set, and never lifts it. */
let customer: Customer;
const ledger = await LedgerFixture.open({ guarded: true });
beforeEach(async () => {
  customer = await ledger.customer({ requestsPerMinuteMax: 5, concurrencyMax: 2 });
});
afterAll(() => ledger.close());

const CUSTOMER: Author = {
  caller: { actor: 'user/dev', actorName: 'dev@acme', via: 'panel', ip: null, requestId: null, level: 'customer' },
};
const DEFAULTS = { requestsPerMinute: 600, concurrency: 100 };
const addProject = (name: string, author?: Author) =>
  createProject(ledger.prisma, { accountId: customer.accountId, name }, DEFAULTS, author);
const account = async () => (await listAccounts(ledger.prisma, { accountId: customer.accountId })).accounts[0];
const DENIED = (param: string) => ({ code: 'permission_denied', param });

test('projects that a customer adds share what the operator has allowed the account so far [sec-operator-limits]', async () => {
  const models = [{ model: 'gpt-*', requestsPerMinuteMax: 3 }];
  await updateProject(ledger.prisma, { projectId: customer.projectId, tokensPerMinuteMax: 700, modelLimits: models });
  await Promise.all(Array.from({ length: 5 }, (_, at) => addProject(`project ${at}`, CUSTOMER)));
  expect(await account()).toMatchObject({
    ...{ requestsPerMinuteMax: 5, concurrencyMax: 2, tokensPerMinuteMax: 700, modelLimits: models },
  });
  const { rows } = await ledger.sql.query(
    `SELECT actor, after, reason FROM billing.audit WHERE target = $1 AND action = 'account.update'`,
    [`account/${customer.accountId}`],
  );
  expect(rows).toEqual([
    {
      ...{ actor: 'user/dev', reason: 'the customer added a project' },
      after: { requestsPerMinuteMax: 5, concurrencyMax: 2, tokensPerMinuteMax: 700, modelLimits: models },
    },
  ]);
});

test('limits that not all projects have are not shared, nor those that a customer has set', async () => {
  await addProject('second');
  await updateProject(ledger.prisma, { projectId: customer.projectId, tokensPerMinuteMax: 700 });
  await addProject('third', CUSTOMER);
  expect(await account()).toMatchObject({ requestsPerMinuteMax: 605, concurrencyMax: 102, tokensPerMinuteMax: null });
});

test('an account with limits keeps them, and one without a project gets those of a new one', async () => {
  await updateAccount(ledger.prisma, { accountId: customer.accountId, requestsPerMinuteMax: 900, concurrencyMax: 90 });
  await addProject('second', CUSTOMER);
  expect(await account()).toMatchObject({ requestsPerMinuteMax: 900, concurrencyMax: 90 });
  const { accountId } = await createAccount(ledger.prisma, { name: 'empty' });
  await createProject(ledger.prisma, { accountId, name: 'first' }, DEFAULTS, CUSTOMER);
  expect((await listAccounts(ledger.prisma, { accountId })).accounts).toMatchObject([{ requestsPerMinuteMax: 600, concurrencyMax: 100 }]);
});

test('a project that the operator adds leaves the account without limits', async () => {
  await addProject('second');
  expect(await account()).toMatchObject({ requestsPerMinuteMax: null, concurrencyMax: null });
});

test('no project or key takes the id of an account, a project or a key, whose limits it would change [sec-operator-limits]', async () => {
  const other = await ledger.customer();
  await updateAccount(ledger.prisma, { accountId: other.accountId, requestsPerMinuteMax: 900 });
  const ids = [other.accountId, other.keyId, customer.accountId, customer.keyId];
  for (const projectId of ids) {
    const project = createProject(ledger.prisma, { accountId: customer.accountId, projectId, name: 'mine' }, DEFAULTS, CUSTOMER);
    await expect(project).rejects.toMatchObject({ code: 'conflict', param: 'projectId' });
  }
  for (const keyId of [other.accountId, other.projectId, customer.accountId, customer.projectId]) {
    const key = createKey(ledger.prisma, { projectId: customer.projectId, keyId, tokensPerMinuteMax: 1 }, '', CUSTOMER);
    await expect(key).rejects.toMatchObject({ code: 'conflict' });
  }
  expect((await listAccounts(ledger.prisma, { accountId: other.accountId })).accounts).toMatchObject([{ requestsPerMinuteMax: 900 }]);
});

test('a customer sets limits of tokens and models no higher than the operator, and undoes what it lowered [sec-operator-limits]', async () => {
  const { projectId } = customer;
  const modelLimits = [{ model: 'gpt-*', requestsPerMinuteMax: 5, tokensPerMinuteMax: 900 }];
  const set = (changes: object) => updateProject(ledger.prisma, { projectId, ...changes }, CUSTOMER);
  await updateProject(ledger.prisma, { projectId, tokensPerMinuteMax: 700, modelLimits });
  for (const tokensPerMinuteMax of [null, 701]) {
    await expect(set({ tokensPerMinuteMax })).rejects.toMatchObject(DENIED('tokensPerMinuteMax'));
  }
  for (const raised of [[], [{ model: 'gpt-*', requestsPerMinuteMax: 5 }], [{ ...modelLimits[0], requestsPerMinuteMax: 6 }]]) {
    await expect(set({ modelLimits: raised })).rejects.toMatchObject(DENIED('modelLimits'));
  }
  const operatorLimits = { tokensPerMinuteMax: 700, modelLimits };
  const lowered = [
    { model: 'o3', requestsPerMinuteMax: 1 },
    { ...modelLimits[0], tokensPerMinuteMax: 100 },
  ];
  expect(await set({ tokensPerMinuteMax: 10, modelLimits: lowered })).toMatchObject({
    ...{ tokensPerMinuteMax: 10, modelLimits: lowered, operatorLimits },
  });
  await expect(set({ tokensPerMinuteMax: 701 })).rejects.toMatchObject(DENIED('tokensPerMinuteMax'));
  const undone = await set({ tokensPerMinuteMax: 700, modelLimits });
  expect(undone).toMatchObject({ tokensPerMinuteMax: 700, modelLimits });
  expect(undone).not.toHaveProperty('operatorLimits');
});

test('what the operator sets replaces the limit of the customer, also when it removes its own', async () => {
  const { projectId } = customer;
  const set = (tokensPerMinuteMax: number | null, author?: Author) =>
    updateProject(ledger.prisma, { projectId, tokensPerMinuteMax }, author);
  expect(await set(10, CUSTOMER)).toMatchObject({ tokensPerMinuteMax: 10, operatorLimits: {} });
  expect(await set(20)).not.toHaveProperty('operatorLimits');
  await expect(set(21, CUSTOMER)).rejects.toMatchObject(DENIED('tokensPerMinuteMax'));
  await set(null);
  expect(await set(30, CUSTOMER)).toMatchObject({ tokensPerMinuteMax: 30, operatorLimits: {} });
  expect(await set(null, CUSTOMER)).toMatchObject({ tokensPerMinuteMax: null });
});

test('a customer lifts no limit of the operator by a rotation of the key, and sets its own on its own keys [sec-operator-limits]', async () => {
  const { keyId, projectId } = customer;
  await updateKey(ledger.prisma, { keyId, requestsPerMinuteMax: 5 });
  const rotated = await rotateKey(ledger.prisma, { keyId, graceSeconds: 0 }, '', CUSTOMER);
  const set = (id: string, changes: object) => updateKey(ledger.prisma, { keyId: id, ...changes }, CUSTOMER);
  for (const requestsPerMinuteMax of [null, 6]) {
    await expect(set(rotated.keyId, { requestsPerMinuteMax })).rejects.toMatchObject(DENIED('requestsPerMinuteMax'));
  }
  expect(await set(rotated.keyId, { concurrencyMax: 3 })).toMatchObject({ operatorLimits: { requestsPerMinuteMax: 5 } });
  expect(await set(rotated.keyId, { concurrencyMax: null })).toMatchObject({ requestsPerMinuteMax: 5, concurrencyMax: null });
  const own = await createKey(ledger.prisma, { projectId, requestsPerMinuteMax: 3 }, '', CUSTOMER);
  expect(own).toMatchObject({ operatorLimits: {} });
  expect(await set(own.keyId, { requestsPerMinuteMax: null })).toMatchObject({ requestsPerMinuteMax: null });
});

test.each([
  ['of all requests', {}],
  ['of each user', { dimension: 'user' }],
])(
  'a budget of the operator %s is lowered by a customer, and neither raised, replaced nor removed [sec-operator-limits]',
  async (_, of) => {
    const { accountId } = customer;
    const set = (limitPicoUsd: string, changes: Partial<BudgetSetRequest> = {}, author: Author | undefined = CUSTOMER) =>
      setBudget(ledger.prisma, { accountId, ...of, period: 'month', limitPicoUsd, ...changes }, author);
    const { budgetId } = await setBudget(ledger.prisma, { accountId, ...of, period: 'month', limitPicoUsd: '100' });
    await expect(set('101')).rejects.toMatchObject(DENIED('period'));
    await expect(set('50', { timeZone: 'Asia/Tokyo' })).rejects.toMatchObject(DENIED('timeZone'));
    await expect(set('50', { startDay: 2 })).rejects.toMatchObject(DENIED('startDay'));
    await expect(removeBudget(ledger.prisma, { budgetId }, CUSTOMER)).rejects.toMatchObject(DENIED('budgetId'));
    expect(await set('50')).toMatchObject({ limitPicoUsd: '50', operatorLimitPicoUsd: '100' });
    await expect(set('101')).rejects.toMatchObject(DENIED('period'));
    expect(await set('60')).toMatchObject({ limitPicoUsd: '60', operatorLimitPicoUsd: '100' });
    expect(await set('100')).not.toHaveProperty('operatorLimitPicoUsd');
    await set('70');
    const raised = await setBudget(ledger.prisma, { accountId, ...of, period: 'month', limitPicoUsd: '300' });
    expect(raised).toMatchObject({ limitPicoUsd: '300' });
    expect(raised).not.toHaveProperty('operatorLimitPicoUsd');
    expect(await removeBudget(ledger.prisma, { budgetId })).toMatchObject({ budgetId });
  },
);

test('thresholds of a budget of the operator stay', async () => {
  const { accountId } = customer;
  const budget = { accountId, period: 'day', limitPicoUsd: '100' } as const;
  await setBudget(ledger.prisma, budget);
  await expect(setBudget(ledger.prisma, { ...budget, thresholds: [] }, CUSTOMER)).rejects.toMatchObject(DENIED('thresholds'));
});

test('a budget of a customer is its own until the operator sets it', async () => {
  const { accountId } = customer;
  const set = (limitTokens: number, author?: Author, timeZone?: string) =>
    setBudget(ledger.prisma, { accountId, period: 'day', limitTokens, ...(timeZone && { timeZone }) }, author);
  expect(await set(10, CUSTOMER)).toMatchObject({ setBy: 'customer' });
  expect(await set(20, CUSTOMER, 'Asia/Tokyo')).toMatchObject({ setBy: 'customer', limitTokens: 20 });
  const { budgetId, ...budget } = await set(15);
  expect(budget).not.toHaveProperty('setBy');
  await expect(removeBudget(ledger.prisma, { budgetId }, CUSTOMER)).rejects.toMatchObject(DENIED('budgetId'));
  expect(await set(5, CUSTOMER)).toMatchObject({ limitTokens: 5, operatorLimitTokens: 15 });
  const { rows } = await ledger.sql.query(`SELECT before, after FROM billing.audit WHERE target = $1 ORDER BY id DESC LIMIT 2`, [
    `budget/${budgetId}`,
  ]);
  const named = { period: 'day', projectId: null, keyId: null };
  expect(rows).toEqual([
    { before: { ...named, limitTokens: 15 }, after: { ...named, limitTokens: 5, operatorLimitTokens: 15 } },
    { before: { ...named, setBy: 'customer', limitTokens: 20 }, after: { ...named, limitTokens: 15 } },
  ]);
});
