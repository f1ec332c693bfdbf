import { createHash, randomUUID } from 'node:crypto';
import { digestApiKey } from '#contracts/api-key.js';
import type { ProjectPolicy } from '#contracts/billing/project-policy.js';
import type { AccountPlan, NewTenantKey, TenantAccount, TenantBudget } from '#contracts/billing/tenants.js';
import { TenantAccount as TenantAccountClass } from '#contracts/billing/tenants.js';
import { makeApiKey } from '#contracts/make-api-key.js';
import { createPrismaClient, type Prisma, type PrismaClient } from '#database/prisma-client.js';
import { longOr } from '#testing/long-run.js';
import { validatePayload } from '#validation/validate-payload.js';
import { LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import { createAccount, listAccounts } from '../accounts/accounts.js';
import { listProjects } from '../accounts/projects.js';
import { listBudgets, setBudget } from '../budgets/budgets.js';
import { listWebhooks } from '../events/webhooks.js';
import { listKeys, revokeKey, rotateKey, updateKey } from '../keys/keys.js';
import { exportTenants } from './export-tenants.js';
import { applyTenant, planTenants } from './tenants.js';

/** Tenants as code: one account is compared, applied in one transaction, and exported. */
const ledger = await LedgerFixture.open({ guarded: true });
afterAll(() => ledger.close());

const DEFAULTS = {
  maxima: { projectsMax: 100, keysMax: 1_000 },
  limits: { requestsPerMinute: 600, concurrency: 100 },
  keyPepper: 'p'.repeat(32),
};
const AUTHOR = { caller: { actor: 'cli/test@host', actorName: null, via: 'cli', ip: null, requestId: null } };
const CUSTOMER = { caller: { ...AUTHOR.caller, level: 'customer' as const } };
const FILE = { fileName: 'tenants.yaml', fileDigest: createHash('sha256').update('text').digest('hex') };

const makeKey = (project: string, name: string): NewTenantKey => {
  const key = makeApiKey();
  return { project, name, keyId: randomUUID(), keyDigest: digestApiKey(key), lastFour: key.slice(-4) };
};
const plan = async (account: TenantAccount, prune = false): Promise<AccountPlan> =>
  (await planTenants(ledger.prisma, { accounts: [account], prune }))[0] as AccountPlan;
const apply = async (account: TenantAccount, { prune = false, newKeys = [] as NewTenantKey[] } = {}) =>
  applyTenant(ledger.prisma, { account: validatePayload(TenantAccountClass, account), prune, newKeys, ...FILE }, DEFAULTS, AUTHOR);
const summary = ({ changes }: Pick<AccountPlan, 'changes'>): string[] =>
  changes.map(({ action, kind, project, key, name, fields }) =>
    [action, kind, project, key, name, ...fields.map(({ field }) => field)].filter((part) => part !== undefined).join(' '),
  );
const audit = async (accountId: string) =>
  (await ledger.sql.query('SELECT action, reason, actor FROM billing.audit WHERE account_id = $1 ORDER BY id', [accountId])).rows as {
    action: string;
    reason: string | null;
    actor: string;
  }[];

let name: string;
let wanted: TenantAccount;
let newKeys: NewTenantKey[];
beforeEach(() => {
  name = `acme ${randomUUID()}`;
  newKeys = [makeKey('web', 'ci'), makeKey('web', 'app')];
  wanted = {
    name,
    lowBalanceUsd: '5',
    creditLineUsd: '100.00',
    pricePlan: 'gold',
    requestsPerMinuteMax: 1_200,
    projectsMax: 10,
    credit: { usd: '20', period: 'month', timeZone: 'Europe/Berlin' },
    budgets: [{ period: 'month', limitUsd: '500', timeZone: 'Europe/Berlin' }],
    projects: [
      {
        name: 'web',
        requestsPerMinuteMax: 60,
        tokensPerMinuteMax: 20_000,
        modelLimits: [{ model: 'gpt-*', requestsPerMinuteMax: 5 }],
        tags: ['team', 'env'],
        budgets: [
          { period: 'day', limitUsd: '5' },
          { period: 'day', limitUsd: '1', dimension: 'user' },
        ],
        keys: [
          {
            name: 'ci',
            note: 'of the build',
            models: ['gpt-*', 'o3'],
            expiresAt: '2099-01-01',
            budgets: [{ period: 'total', limitTokens: 1_000 }],
          },
          { name: 'app', disabled: true, requestsPerMinuteMax: 9 },
        ],
      },
    ],
    webhooks: [{ url: 'https://hooks.example.com/secret-path', muted: true }],
  };
});

test('a new account is made in one transaction, with a row for each change that names the file', async () => {
  const before = await plan(wanted);
  expect([before.accountId, before.faults, before.kept, before.notes]).toEqual([null, [], [], []]);
  const { reply } = await apply(wanted, { newKeys });
  expect(reply.changes).toEqual(before.changes);
  expect(reply.remaining).toBe(0);
  expect(summary(reply)).toEqual([
    'create account status lowBalanceUsd creditLineUsd pricePlan requestsPerMinuteMax projectsMax'.replace('status ', ''),
    'create credit usd period timeZone',
    'create project web requestsPerMinuteMax tokensPerMinuteMax modelLimits tags',
    'create key web ci note expiresAt models',
    'create budget web ci total tokens limitTokens',
    'create key web app disabled requestsPerMinuteMax',
    'create budget web day usd limitUsd',
    'create budget web day usd of each user limitUsd',
    'create budget month usd limitUsd timeZone',
    'create webhook https://hooks.example.com muted',
  ]);
  const rows = await audit(reply.accountId);
  expect(rows.map(({ action }) => action)).toEqual([
    ...['account.create', 'account.update', 'plan.subscribe', 'project.create', 'project.update', 'key.create', 'budget.create'],
    ...['key.create', 'key.update', 'budget.create', 'budget.create', 'budget.create', 'webhook.create', 'webhook.update'],
  ]);
  expect([...new Set(rows.map(({ reason, actor }) => `${actor}: ${reason}`))]).toEqual([
    `cli/test@host: tenants.yaml sha256:${FILE.fileDigest}`,
  ]);
});

test('a second apply changes nothing, and writes no row', async () => {
  const { accountId } = (await apply(wanted, { newKeys })).reply;
  const rows = await audit(accountId);
  expect(await plan(wanted)).toEqual({ accountId, name, faults: [], changes: [], kept: [], notes: [] });
  expect((await apply(wanted, { newKeys })).reply).toEqual({ accountId, changes: [], remaining: 0 });
  expect(await audit(accountId)).toEqual(rows);
});

test('a plan names each field that differs, with both values', async () => {
  await apply(wanted, { newKeys });
  const project = wanted.projects?.[0] as NonNullable<TenantAccount['projects']>[number];
  const changed: TenantAccount = {
    ...wanted,
    creditLineUsd: '0',
    pricePlan: null,
    budgets: [{ period: 'month', limitUsd: '600' }],
    projects: [
      {
        ...project,
        tokensPerMinuteMax: null,
        keys: [
          { name: 'ci', models: [] },
          { name: 'app', disabled: false },
        ],
      },
    ],
  };
  const { changes } = await plan(changed);
  expect(changes).toEqual([
    {
      action: 'change',
      kind: 'account',
      fields: [
        { field: 'creditLineUsd', before: '100.00', after: '0.00' },
        { field: 'pricePlan', before: 'gold', after: null },
      ],
    },
    { action: 'change', kind: 'project', project: 'web', fields: [{ field: 'tokensPerMinuteMax', before: 20_000, after: null }] },
    { action: 'change', kind: 'key', project: 'web', key: 'ci', fields: [{ field: 'models', before: ['gpt-*', 'o3'], after: [] }] },
    { action: 'change', kind: 'key', project: 'web', key: 'app', fields: [{ field: 'disabled', before: true, after: false }] },
    { action: 'change', kind: 'budget', name: 'month usd', fields: [{ field: 'limitUsd', before: '500.00', after: '600.00' }] },
  ]);
  expect((await apply(changed)).reply.changes).toEqual(changes);
  expect((await plan(changed)).changes).toEqual([]);
});

test('what the file does not name is kept, and removed with prune; lists that are absent are not compared', async () => {
  await apply(wanted, { newKeys });
  const less: TenantAccount = { name, budgets: [], projects: [{ name: 'web', keys: [{ name: 'app' }] }] };
  const kept = await plan(less);
  expect(kept.changes).toEqual([]);
  expect(summary({ changes: kept.kept })).toEqual([
    'remove key web ci revoked',
    'remove budget month usd limitUsd timeZone startDay thresholds setBy',
  ]);
  expect((await apply(less)).reply.changes).toEqual([]);
  expect((await apply(less, { prune: true })).reply.changes).toEqual(kept.kept);
  expect(await plan(less, true)).toMatchObject({ changes: [], kept: [] });
  const none: TenantAccount = { name, projects: [] };
  expect(summary((await apply(none, { prune: true })).reply)).toEqual(['remove project web enabled']);
  expect(await plan(none, true)).toMatchObject({ changes: [], kept: [] });
});

test('a key that was revoked is made again under its name, with another id', async () => {
  await apply(wanted, { newKeys });
  const [ci] = newKeys as [NewTenantKey];
  await revokeKey(ledger.prisma, ci.keyId);
  expect(summary(await plan(wanted))).toEqual(['create key web ci note expiresAt models', 'create budget web ci total tokens limitTokens']);
  await expect(apply(wanted, { newKeys })).rejects.toMatchObject({ code: 'conflict' });
  await apply(wanted, { newKeys: [makeKey('web', 'ci')] });
  expect((await plan(wanted)).changes).toEqual([]);
});

test('a new key whose digest is missing changes nothing', async () => {
  await expect(apply(wanted, { newKeys: newKeys.slice(1) })).rejects.toMatchObject({ code: 'invalid_request', param: 'newKeys' });
  expect(await plan(wanted)).toMatchObject({ accountId: null });
});

test('a refusal of the last change takes back all others', async () => {
  const { accountId } = (await apply(wanted, { newKeys })).reply;
  const rows = await audit(accountId);
  const project = { name: 'web', keys: [{ name: 'one' }, { name: 'two' }] };
  const changed = { ...wanted, activeKeysMax: 3, projects: [project] };
  await expect(apply(changed, { newKeys: [makeKey('web', 'one'), makeKey('web', 'two')] })).rejects.toMatchObject({ code: 'conflict' });
  expect(await audit(accountId)).toEqual(rows);
  expect((await plan(wanted)).changes).toEqual([]);
});

test('requests at once for one new account make one', async () => {
  const bare = { name, projects: [{ name: 'web' }], budgets: [{ period: 'day' as const, limitUsd: '1' }] };
  const replies = await Promise.all(Array.from({ length: 4 }, () => apply(bare)));
  expect(new Set(replies.map(({ reply }) => reply.accountId)).size).toBe(1);
  expect(replies.map(({ reply }) => reply.changes.length).sort()).toEqual([0, 0, 0, 3]);
});

test('what a customer has lowered is no difference, and what a customer has set for itself is not pruned', async () => {
  const { accountId } = (await apply(wanted, { newKeys })).reply;
  const app = newKeys[1] as NewTenantKey;
  await updateKey(ledger.prisma, { keyId: app.keyId, requestsPerMinuteMax: 3, tokensPerMinuteMax: 5 }, CUSTOMER);
  await setBudget(ledger.prisma, { accountId, period: 'month', limitPicoUsd: '1' }, CUSTOMER);
  await setBudget(ledger.prisma, { accountId, period: 'week', limitPicoUsd: '1' }, CUSTOMER);
  expect(await plan(wanted, true)).toMatchObject({ changes: [], kept: [] });
  const own = { ...wanted, budgets: [...(wanted.budgets ?? []), { period: 'week' as const, limitUsd: '0.000000000001' }] };
  expect((await plan(own)).changes).toEqual([
    { action: 'change', kind: 'budget', name: 'week usd', fields: [{ field: 'setBy', before: 'customer', after: 'operator' }] },
  ]);
});

test('every fault has its path, and a plan with one is never applied', async () => {
  const faulty = {
    name,
    colour: 'red',
    credit: { usd: '0', period: 'month' },
    budgets: [
      { period: 'month', limitUsd: '1', limitTokens: 1 },
      { period: 'year', limitUsd: 5 },
    ],
    projects: [{ name: 'web', requestsPerMinuteMax: 0, keys: ['ci', { name: 'a', networks: null }] }, {}],
  } as unknown as TenantAccount;
  expect((await plan(faulty)).faults).toEqual([
    { path: ['colour'], problem: 'is not a field' },
    { path: ['projects', 0, 'keys', 0], problem: 'must be a group of fields' },
    { path: ['projects', 0, 'keys', 1, 'networks'], problem: 'must not be empty: leave the field out, or write [] for none' },
    { path: ['budgets', 1, 'period'], problem: 'must be one of the following values: day, week, month, total' },
    { path: ['budgets', 1, 'limitUsd'], problem: 'is no amount. Send it as a string such as "2.50".' },
    { path: ['projects', 0, 'requestsPerMinuteMax'], problem: 'must not be less than 1' },
    { path: ['projects', 1, 'name'], problem: 'is missing' },
  ]);
  const contradicting: TenantAccount = {
    name,
    statusReason: 'unpaid',
    credit: { usd: '0', period: 'month', timeZone: 'Berlin' },
    budgets: [
      { period: 'month', limitUsd: '1', limitTokens: 1 },
      { period: 'week', limitUsd: '1', startDay: 9 },
      { period: 'day', limitUsd: '1' },
      { period: 'day', limitUsd: '2' },
    ],
    projects: [{ name: 'web', keys: [{ name: 'ci' }, { name: 'ci' }] }, { name: 'web' }],
    webhooks: [{ url: 'http://hooks.example.com' }],
  };
  expect((await plan(contradicting)).faults).toEqual([
    { path: ['statusReason'], problem: 'needs the status frozen' },
    { path: ['credit', 'usd'], problem: 'must not be zero' },
    { path: ['credit', 'timeZone'], problem: 'must be the name of a time zone such as Europe/Berlin' },
    { path: ['projects', 1, 'name'], problem: 'is there twice' },
    { path: ['projects', 0, 'keys', 1, 'name'], problem: 'is there twice' },
    { path: ['budgets', 3, 'period'], problem: 'is there twice' },
    { path: ['budgets', 0, 'limitUsd'], problem: 'give either limitUsd or limitTokens' },
    { path: ['budgets', 1, 'startDay'], problem: 'startDay of a week must be from 1 to 7' },
    { path: ['webhooks', 0, 'url'], problem: 'url must be a URL with https and without a user; http needs allowPrivateNetwork.' },
  ]);
  await expect(apply(contradicting)).rejects.toMatchObject({ code: 'invalid_request', param: 'account.statusReason' });
  expect(await plan({ name })).toMatchObject({ accountId: null });
});

test('accounts of one name go by their id', async () => {
  const { accountId } = (await apply({ name })).reply;
  await createAccount(ledger.prisma, { name });
  expect((await plan({ name })).faults).toEqual([{ path: ['name'], problem: 'is the name of 2 accounts: add the accountId of one' }]);
  expect((await plan({ accountId, name: 'renamed' })).changes).toEqual([
    { action: 'change', kind: 'account', fields: [{ field: 'name', before: name, after: 'renamed' }] },
  ]);
  expect((await plan({ accountId: randomUUID(), name })).faults).toEqual([{ path: ['accountId'], problem: 'is that of no account' }]);
});

test('an export is a wanted state in which nothing differs', async () => {
  const { accountId } = (await apply(wanted, { newKeys })).reply;
  await setBudget(ledger.prisma, { accountId, period: 'week', limitPicoUsd: '7' }, CUSTOMER);
  const { accounts } = await exportTenants(ledger.prisma, { accountId });
  const [exported] = accounts;
  expect(exported?.leftOut).toEqual([expect.stringMatching(/^budget week usd \(.*\): the customer has set it$/)]);
  expect(exported?.account).toEqual({
    ...wanted,
    lowBalanceUsd: '5.00',
    activeKeysMax: 1_000,
    credit: { usd: '20.00', period: 'month', timeZone: 'Europe/Berlin' },
    budgets: [{ period: 'month', limitUsd: '500.00', timeZone: 'Europe/Berlin', startDay: 1, thresholds: [50, 80, 100] }],
    projects: [
      {
        ...wanted.projects?.[0],
        concurrencyMax: 100,
        tags: ['env', 'team'],
        budgets: [
          { period: 'day', limitUsd: '5.00', timeZone: 'UTC', startDay: 1, thresholds: [50, 80, 100] },
          { period: 'day', limitUsd: '1.00', timeZone: 'UTC', startDay: 1, dimension: 'user' },
        ],
        keys: [
          {
            name: 'ci',
            note: 'of the build',
            expiresAt: '2099-01-01T00:00:00.000Z',
            models: ['gpt-*', 'o3'],
            budgets: [{ period: 'total', limitTokens: 1_000, timeZone: 'UTC', startDay: 1, thresholds: [50, 80, 100] }],
          },
          { name: 'app', disabled: true, requestsPerMinuteMax: 9, budgets: [] },
        ],
      },
    ],
    webhooks: [{ url: 'https://hooks.example.com/secret-path', format: 'json', muted: true }],
  });
  expect(await plan(exported?.account as TenantAccount, true)).toMatchObject({ changes: [], kept: [], faults: [] });
});

test('a policy of a project is made, changed whole, exported and removed; an absent one stays', async () => {
  const policy = { name: 'secrets', deadlineMs: 300, fail: 'closed', sendText: true } as const;
  const withPolicy = (value?: ProjectPolicy | null): TenantAccount => ({
    name,
    projects: [{ name: 'web', policy: value as ProjectPolicy }],
  });
  const change = (before: unknown, after: unknown) => ({
    ...{ action: 'change', kind: 'project', project: 'web' },
    fields: [{ field: 'policy', before, after }],
  });
  const { accountId, changes } = (await apply(withPolicy(policy))).reply;
  expect(changes.at(-1)).toEqual({
    ...{ action: 'create', kind: 'project', project: 'web' },
    fields: [{ field: 'policy', before: null, after: policy }],
  });
  const stored = async () => (await listProjects(ledger.prisma, { accountId })).projects[0]?.policy;
  expect([await stored(), (await apply(withPolicy(policy))).reply.changes, (await apply(withPolicy())).reply.changes]).toEqual([
    policy,
    [],
    [],
  ]);
  const [exported] = (await exportTenants(ledger.prisma, { accountId })).accounts;
  expect(exported?.account.projects?.[0]?.policy).toEqual(policy);
  expect((await plan(exported?.account as TenantAccount, true)).changes).toEqual([]);
  const opened = { ...policy, fail: 'open', sendText: false } as const;
  expect([(await apply(withPolicy(opened))).reply.changes, await stored()]).toEqual([[change(policy, opened)], opened]);
  expect([(await apply(withPolicy(null))).reply.changes, await stored()]).toEqual([[change(opened, null)], undefined]);
  expect((await exportTenants(ledger.prisma, { accountId })).accounts[0]?.account.projects?.[0]).not.toHaveProperty('policy');
  const faulty = { name: 'Secrets', deadlineMs: 0, fail: 'closed', text: true } as unknown as ProjectPolicy;
  const path = ['projects', 0, 'policy'];
  expect((await plan(withPolicy(faulty))).faults).toEqual([
    { path: [...path, 'text'], problem: 'is not a field' },
    { path: [...path, 'name'], problem: 'must have 1 to 63 lower case letters, digits and hyphens' },
    { path: [...path, 'deadlineMs'], problem: 'must not be less than 1' },
    { path: [...path, 'sendText'], problem: 'is missing' },
  ]);
});

test('a budget of each child key of an account, a project and a key is made, and differs in nothing afterwards', async () => {
  const each = (limitUsd: string): TenantBudget => ({ period: 'total', limitUsd, dimension: 'child' });
  const account: TenantAccount = {
    name,
    budgets: [each('3.00')],
    projects: [{ name: 'web', budgets: [each('2.00')], keys: [{ name: 'ci', budgets: [each('1.00')] }] }],
  };
  const { accountId, changes } = (await apply(account, { newKeys: [makeKey('web', 'ci')] })).reply;
  expect(summary({ changes: changes.filter(({ kind }) => kind === 'budget') })).toEqual([
    'create budget web ci total usd of each child limitUsd',
    'create budget web total usd of each child limitUsd',
    'create budget total usd of each child limitUsd',
  ]);
  const [exported] = (await exportTenants(ledger.prisma, { accountId })).accounts;
  const made = (limitUsd: string) => [{ ...each(limitUsd), timeZone: 'UTC', startDay: 1 }];
  expect(exported?.account).toMatchObject({
    budgets: made('3.00'),
    projects: [{ budgets: made('2.00'), keys: [{ budgets: made('1.00') }] }],
  });
  expect([(await plan(account, true)).changes, (await plan(exported?.account as TenantAccount, true)).changes]).toEqual([[], []]);
  const wrong: TenantAccount = {
    name,
    budgets: [
      { ...each('1'), period: 'day' },
      { ...each('1'), value: 'one' },
    ],
  };
  expect((await plan(wrong)).faults).toEqual([
    { path: ['budgets', 0, 'period'], problem: 'a budget of child keys is a total: each child key has a life of its own' },
    { path: ['budgets', 1, 'value'], problem: 'a child key has its own limit, which it was made with' },
  ]);
});

/** Owners by kind, as the lists show them. */
const owners = async (accountId: string): Promise<Record<string, (string | undefined)[]>> => {
  const of = async (rows: Promise<{ managedBy?: string }[]>) => (await rows).map(({ managedBy }) => managedBy);
  return {
    account: await of(listAccounts(ledger.prisma, { accountId }).then(({ accounts }) => accounts)),
    projects: await of(listProjects(ledger.prisma, { accountId }).then(({ projects }) => projects)),
    keys: await of(listKeys(ledger.prisma, { accountId }).then(({ keys }) => keys)),
    budgets: await of(listBudgets(ledger.prisma, { accountId }).then(({ budgets }) => budgets)),
    webhooks: await of(listWebhooks(ledger.prisma, { accountId }, AUTHOR).then(({ webhooks }) => webhooks)),
  };
};
const applyFrom = async (
  source: string,
  account: TenantAccount,
  more: { newKeys?: NewTenantKey[]; prune?: boolean; release?: boolean } = {},
) =>
  (await applyTenant(ledger.prisma, { account: validatePayload(TenantAccountClass, account), source, ...FILE, ...more }, DEFAULTS, AUTHOR))
    .reply;
const planFrom = async (source: string, account: TenantAccount, release = false) =>
  (await planTenants(ledger.prisma, { accounts: [account], source, release }))[0] as AccountPlan;
const marked = (source: string, before: number, after: number) => ({
  ...{ action: 'change', kind: 'mark', name: source },
  fields: [{ field: 'parts', before, after }],
});

test('what a file makes is marked without a change of its own; a second apply writes nothing', async () => {
  const { accountId, changes } = await applyFrom('platform', wanted, { newKeys });
  expect(changes.filter(({ kind }) => kind === 'mark')).toEqual([]);
  const all = { account: ['platform'], projects: ['platform'], keys: ['platform', 'platform'], webhooks: ['platform'] };
  expect(await owners(accountId)).toEqual({ ...all, budgets: Array.from({ length: 4 }, () => 'platform') });
  const rows = await audit(accountId);
  expect((await applyFrom('platform', wanted)).changes).toEqual([]);
  expect(await audit(accountId)).toEqual(rows);
  await setBudget(ledger.prisma, { accountId, period: 'week', limitPicoUsd: '7' });
  expect((await owners(accountId)).budgets?.filter((owner) => owner === undefined)).toHaveLength(1);
  expect((await exportTenants(ledger.prisma, { accountId })).accounts[0]?.managedBy).toBe('platform');
  expect((await listAccounts(ledger.prisma, { managedBy: 'platform', search: name })).accounts.map((one) => one.accountId)).toEqual([
    accountId,
  ]);
  expect((await listAccounts(ledger.prisma, { managedBy: 'other', search: name })).accounts).toEqual([]);
});

test('what was there is taken over, and what leaves the file is released, each as one change with its row', async () => {
  const { accountId } = (await apply(wanted, { newKeys })).reply;
  const before = (await audit(accountId)).length;
  expect((await planFrom('a.yaml', wanted)).changes).toEqual([marked('a.yaml', 0, 9)]);
  expect((await applyFrom('a.yaml', wanted)).changes).toEqual([marked('a.yaml', 0, 9)]);
  expect((await audit(accountId)).slice(before).map(({ action }) => action)).toEqual(['account.update']);
  const taken = await planFrom('b.yaml', { name, budgets: wanted.budgets as never });
  expect([taken.changes, taken.notes]).toEqual([[marked('b.yaml', 0, 2)], ['2 of its parts are taken over from a.yaml']]);
  const [project] = wanted.projects as [NonNullable<TenantAccount['projects']>[number]];
  const less = { ...wanted, projects: [{ ...project, keys: [{ name: 'app' }] }] };
  const left = await planFrom('a.yaml', less);
  expect([left.changes, left.kept.map(({ key }) => key)]).toEqual([[marked('a.yaml', 9, 7)], ['ci']]);
  await applyFrom('a.yaml', less);
  expect((await owners(accountId)).keys).toEqual([undefined, 'a.yaml']);
  expect((await planFrom('a.yaml', less)).changes).toEqual([]);
});

test('a mark follows a key through its rotation, and a release removes all marks of its source alone', async () => {
  const { accountId } = await applyFrom('a.yaml', wanted, { newKeys });
  await applyFrom('b.yaml', { name, budgets: [{ period: 'week', limitUsd: '1' }] });
  await rotateKey(ledger.prisma, { keyId: (newKeys[0] as NewTenantKey).keyId, graceSeconds: 60 }, DEFAULTS.keyPepper);
  expect((await owners(accountId)).keys).toEqual(['a.yaml', 'a.yaml', 'a.yaml']);
  expect((await planFrom('a.yaml', { name }, true)).changes).toEqual([marked('a.yaml', 8, 0)]);
  expect((await applyFrom('a.yaml', { name }, { release: true })).changes).toEqual([marked('a.yaml', 8, 0)]);
  expect(await owners(accountId)).toEqual({
    account: ['b.yaml'],
    projects: [undefined],
    keys: [undefined, undefined, undefined],
    budgets: expect.arrayContaining(['b.yaml', undefined]),
    webhooks: [undefined],
  });
  expect((await applyFrom('a.yaml', { name }, { release: true })).changes).toEqual([]);
});

test('new budgets count what was spent before, in the one connection of their transaction', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const lanes = ledger.newLanes();
  const spend = async (tokens: number): Promise<void> => {
    const reserve = makeReserve(customer, 100n);
    await lanes.reserve(reserve);
    await lanes.settle({ holdId: reserve.holdId, accountId: customer.accountId, reason: 'completed', usage: makeUsage(tokens) });
  };
  await spend(7);
  await ledger.closeUsage();
  await spend(5);
  const only = createPrismaClient({ url: ledger.url, applicationName: 'one', connectionsMax: 1, connectTimeoutMs: 2_000 });
  try {
    const account = validatePayload(TenantAccountClass, {
      accountId: customer.accountId,
      name,
      budgets: [
        { period: 'total', limitUsd: '1' },
        { period: 'day', limitTokens: 100 },
      ],
    });
    await applyTenant(only, { account, ...FILE }, DEFAULTS, AUTHOR);
  } finally {
    await only.$disconnect();
  }
  const { budgets } = await listBudgets(ledger.prisma, { accountId: customer.accountId });
  expect(budgets.map(({ period, spentPicoUsd, spentTokens }) => ({ period, spentPicoUsd, spentTokens }))).toEqual([
    { period: 'total', spentPicoUsd: '12' },
    { period: 'day', spentTokens: 12 },
  ]);
});

/** A client whose transaction ends at one of its statements, as by a kill: Postgres then rolls it back. */
function endingAt(at: number): PrismaClient {
  let count = 0;
  const counted =
    <Owner extends object>(owner: Owner, call: (...args: never[]) => unknown) =>
    (...args: never[]): unknown => {
      if (++count === at) throw new Error('killed');
      return call.apply(owner, args);
    };
  const countMethods = <Owner extends object>(owner: Owner, isStatement: (name: string) => boolean): Owner =>
    new Proxy(owner, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value === 'function') return isStatement(String(name)) ? counted(target, value as never) : value.bind(target);
        const isModel = typeof value === 'object' && value !== null && 'findMany' in value;
        return isModel ? countMethods(value, () => true) : value;
      },
    });
  return new Proxy(ledger.prisma, {
    get: (target, name) =>
      name === '$transaction'
        ? (work: (tx: Prisma.TransactionClient) => Promise<unknown>, options: object) =>
            target.$transaction((tx) => work(countMethods(tx, (method) => /^\$(query|execute)Raw/.test(method))), options)
        : Reflect.get(target, name),
  });
}

test('ended at any statement, nothing is changed, and the next apply makes all', async () => {
  const account = validatePayload(TenantAccountClass, wanted);
  let ended = 0;
  for (let at = 1; ; at += longOr(9, 1)) {
    const result = await applyTenant(endingAt(at), { account, newKeys, source: 'platform', ...FILE }, DEFAULTS, AUTHOR).catch(
      (error: Error) => error,
    );
    if (!(result instanceof Error)) break;
    expect(result.message).toBe('killed');
    expect(await planFrom('platform', wanted)).toMatchObject({ accountId: null });
    ended += 1;
  }
  expect(ended).toBeGreaterThan(5);
  expect(await planFrom('platform', wanted)).toMatchObject({ accountId: expect.any(String), changes: [], kept: [], notes: [] });
});
