import { randomUUID } from 'node:crypto';
import { type Customer, LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import { listAccounts, updateAccount } from '../accounts/accounts.js';
import { createProject } from '../accounts/projects.js';
import type { HoldLanes } from '../batch/hold-lanes.js';
import { createKey } from '../keys/keys.js';

/** Limits that all projects of an account share. */
const ledger = await LedgerFixture.open({ guarded: true });
afterEach(async () => expect(await ledger.violations()).toEqual([]));
afterAll(() => ledger.close());

const ROOMY = { requestsPerMinute: 100_000, concurrency: 100_000 };

/** Returns one account with two projects, each with a key. */
async function twoProjects(): Promise<[Customer, Customer]> {
  const first = await ledger.customer({ topup: 1_000_000n });
  const { projectId } = await createProject(ledger.prisma, { accountId: first.accountId, name: 'second' }, ROOMY);
  const { keyId } = await createKey(ledger.prisma, { projectId }, '');
  return [first, { ...first, projectId, keyId }];
}
const ask = (lanes: HoldLanes, customer: Customer, holdId: string = randomUUID()) =>
  lanes.reserve({ ...makeReserve(customer, 1n, holdId), tokensMax: 10 });
const end = (lanes: HoldLanes, { accountId }: Customer, holdId: string) =>
  lanes.settle({ holdId, accountId, reason: 'completed', usage: makeUsage(3, 1) });

test('limits of an account are set, changed and removed; a removed one leaves no row, and each change is audited', async () => {
  const { accountId } = await ledger.customer();
  const modelLimits = [{ model: 'gpt-*', requestsPerMinuteMax: 5 }];
  const none = { requestsPerMinuteMax: null, concurrencyMax: null, tokensPerMinuteMax: null };
  const rows = async () => {
    const { rows: found } = await ledger.sql.query(
      `SELECT limit_count, (SELECT count(*)::int FROM billing.rate_limit WHERE account_id = a.id) AS rows FROM billing.account a WHERE id = $1`,
      [accountId],
    );
    return found[0];
  };
  const set = (change: object) => updateAccount(ledger.prisma, { accountId, ...change });
  expect([await set({ requestsPerMinuteMax: 7, modelLimits, projectsMax: 3 }), await rows()]).toMatchObject([
    { ...none, requestsPerMinuteMax: 7, modelLimits, projectsMax: 3, activeKeysMax: 1_000 },
    { limit_count: 1, rows: 1 },
  ]);
  expect((await listAccounts(ledger.prisma, { accountId })).accounts).toMatchObject([{ requestsPerMinuteMax: 7, modelLimits }]);
  expect(await set({ concurrencyMax: 2 })).toMatchObject({ requestsPerMinuteMax: 7, concurrencyMax: 2, modelLimits });
  const removed = await set({ ...none, modelLimits: [] });
  expect([removed, await rows()]).toMatchObject([none, { limit_count: 0, rows: 0 }]);
  expect(removed).not.toHaveProperty('modelLimits');
  const audit = await ledger.sql.query(
    `SELECT before, after FROM billing.audit WHERE target = $1 AND action = 'account.update' ORDER BY id`,
    [`account/${accountId}`],
  );
  expect(audit.rows).toEqual([
    { before: { requestsPerMinuteMax: null, projectsMax: 100 }, after: { modelLimits, requestsPerMinuteMax: 7, projectsMax: 3 } },
    { before: { concurrencyMax: null }, after: { concurrencyMax: 2 } },
    { before: { modelLimits, requestsPerMinuteMax: 7, concurrencyMax: 2 }, after: { requestsPerMinuteMax: null, concurrencyMax: null } },
  ]);
});

test('a limit of an account without an audit row is refused by the database', async () => {
  const { accountId } = await ledger.customer();
  const insert = 'INSERT INTO billing.rate_limit (id, account_id, concurrency_max, open_holds) VALUES ($1, $1, 1, 0)';
  await expect(ledger.sql.query(insert, [accountId])).rejects.toMatchObject({ constraint: 'rate_limit_of_project_is_added_audited' });
});

test.each([
  ['requests per minute', { requestsPerMinuteMax: 12 }, { code: 'rate_limit_exceeded', limit: 12, retryAfterSeconds: expect.any(Number) }],
  ['requests at once', { concurrencyMax: 12 }, { code: 'concurrency_limit', limit: 12, retryAfterSeconds: 1 }],
  [
    'tokens per minute',
    { tokensPerMinuteMax: 127 },
    { code: 'rate_limit_exceeded', limit: 127, retryAfterSeconds: expect.any(Number), requestedTokens: 10 },
  ],
  [
    'requests per minute of a model',
    { modelLimits: [{ model: 'sim-*', requestsPerMinuteMax: 12 }] },
    { code: 'rate_limit_exceeded', limit: 12, model: 'sim-*', retryAfterSeconds: expect.any(Number) },
  ],
])(
  'of a hundred requests of two projects at once over three replicas, twelve fit in the %s of the account [sec-operator-limits]',
  async (_, limits, refusal) => {
    const projects = await twoProjects();
    const [{ accountId }] = projects;
    const replicas = [1, 2, 3].map(() => ledger.newLanes());
    await updateAccount(ledger.prisma, { accountId, ...limits });
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, (_, count) => ask(replicas[count % 3] as HoldLanes, projects[count % 2] as Customer)),
    );
    const refused = outcomes.filter(({ status }) => status === 'refused');
    expect([outcomes.filter(({ status }) => status === 'held').length, refused.length]).toEqual([12, 88]);
    for (const outcome of refused) {
      expect(outcome).toMatchObject({ ...refusal, accountId });
      expect(outcome).not.toHaveProperty('keyId');
    }
  },
);

test('open requests count towards a new limit at once, an ended one frees its place, and a settlement gives tokens back', async () => {
  const [first, second] = await twoProjects();
  const { accountId } = first;
  const lanes = ledger.newLanes();
  const holdId = randomUUID();
  expect(await ask(lanes, first, holdId)).toMatchObject({ status: 'held' });
  await updateAccount(ledger.prisma, { accountId, concurrencyMax: 1, tokensPerMinuteMax: 15 });
  expect(await ask(lanes, second)).toMatchObject({ status: 'refused', code: 'concurrency_limit', limit: 1, accountId });
  await end(lanes, first, holdId);
  const next = randomUUID();
  expect(await ask(lanes, second, next)).toMatchObject({ status: 'held', tokens: { limit: 15, remaining: 5 } });
  await end(lanes, second, next);
  expect(await ask(lanes, first)).toMatchObject({ status: 'held', tokens: { limit: 15, remaining: 1 } });
});
