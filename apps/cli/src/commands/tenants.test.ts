import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { digestApiKey } from '#contracts/api-key.js';
import type { AccountApplyRequest, AccountPlan, AccountPlanRequest } from '#contracts/billing/tenants.js';
import { answering, collectRun } from '../../test/collect-run.js';
import { readSecrets } from '../tenants/secrets-file.js';

const TEXT = `accounts:
  - name: acme
    projects:
      - name: web
        keys:
          - name: ci
`;
const NONE: AccountPlan = { accountId: null, name: 'acme', faults: [], changes: [], kept: [], notes: [] };
const NEW_KEY: AccountPlan = {
  ...NONE,
  changes: [
    { action: 'create', kind: 'account', fields: [] },
    { action: 'create', kind: 'project', project: 'web', fields: [{ field: 'tags', before: null, after: ['team'] }] },
    { action: 'create', kind: 'key', project: 'web', key: 'ci', fields: [] },
  ],
};

let folder: string;
let file: string;
let secrets: string;
let asked: { subject: string; payload: object }[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tollgate-tenants-'));
  file = join(folder, 'tenants.yaml');
  secrets = join(folder, 'keys.yaml');
  await writeFile(file, TEXT);
  asked = [];
});
afterEach(() => rm(folder, { recursive: true }));

/** Runs against a billing with a plan, in which the keys of `keyIds` exist. */
async function run(args: string[], plan: AccountPlan, { keyIds = [] as string[], apply = () => plan.changes as unknown } = {}) {
  const connect = answering((subject, payload) => {
    asked.push({ subject, payload });
    if (subject === 'billing.v1.account.plan') return { plans: (payload as AccountPlanRequest).accounts.map(() => plan) };
    if (subject === 'billing.v1.key.list')
      return { keys: keyIds.filter((id) => id === (payload as { keyId: string }).keyId), nextCursor: null };
    return { accountId: 'id', changes: apply(), remaining: 0 };
  });
  return collectRun(args, connect);
}
const applied = () =>
  asked.filter(({ subject }) => subject === 'billing.v1.account.apply').map(({ payload }) => payload as AccountApplyRequest);

test('a plan is shown, and nothing is asked but the comparison', async () => {
  expect(
    await run(['apply', '-f', file, '--plan'], {
      ...NEW_KEY,
      kept: [{ action: 'remove', kind: 'key', project: 'web', key: 'old', fields: [] }],
    }),
  ).toEqual({
    code: 0,
    err: '',
    out: `account acme (new)
  + settings
  + project web: tags ["team"]
  + key ci of project web
  = key old of project web: not in the file, and kept

1 account: 3 to make, 0 to change, 0 to remove; 1 not in the file and kept (--prune removes them)
`,
  });
  expect(asked.map(({ subject }) => subject)).toEqual(['billing.v1.account.plan']);
});

test('changes show both values; a removal says what becomes of it', async () => {
  const changes: AccountPlan['changes'] = [
    { action: 'change', kind: 'account', fields: [{ field: 'pricePlan', before: 'gold', after: null }] },
    {
      action: 'change',
      kind: 'budget',
      project: 'web',
      key: 'ci',
      name: 'day usd',
      fields: [{ field: 'limitUsd', before: '1.00', after: '2.00' }],
    },
    { action: 'remove', kind: 'key', project: 'web', key: 'old', fields: [] },
    { action: 'remove', kind: 'project', project: 'test', fields: [] },
  ];
  const { out } = await run(['apply', '--file', file, '--plan', '--prune'], {
    ...NONE,
    accountId: 'id',
    changes,
    notes: ['project web is disabled, and stays so'],
  });
  expect(out).toBe(`account acme
  ~ settings: pricePlan gold -> none
  ~ budget day usd of key ci of project web: limitUsd 1.00 -> 2.00
  - key old of project web: revoked
  - project test: disabled
  ! project web is disabled, and stays so

1 account: 0 to make, 2 to change, 2 to remove
`);
});

test('a new key without a file for its secret changes nothing', async () => {
  expect(await run(['apply', '-f', file], NEW_KEY)).toEqual({
    code: 2,
    out: '',
    err: 'error: a key is new: name a file for the secrets, such as --secrets keys.yaml\n',
  });
  expect(applied()).toEqual([]);
});

test('a new key and a new person ask for both files at once', async () => {
  const invite = { action: 'create', kind: 'member', name: 'a@b.c', fields: [{ field: 'invite', before: null, after: 'owner' }] } as const;
  const { err } = await run(['apply', '-f', file], {
    ...NEW_KEY,
    changes: [...NEW_KEY.changes, { ...invite, fields: [...invite.fields] }],
  });
  expect(err).toBe(
    'error: a key is new: name a file for the secrets, such as --secrets keys.yaml\na person is new: name a file for their links, such as --invites links.yaml\n',
  );
  expect(applied()).toEqual([]);
});

test('accounts that left a file with a source are released, and with --release those that it names', async () => {
  const asks: { subject: string; payload: Record<string, unknown> }[] = [];
  const marks = (before: number): AccountPlan['changes'] => [
    { action: 'change', kind: 'mark', name: 'platform', fields: [{ field: 'parts', before, after: 0 }] },
  ];
  const connect = answering((subject, payload) => {
    asks.push({ subject, payload: payload as Record<string, unknown> });
    const { release, accounts } = payload as AccountPlanRequest;
    if (subject === 'billing.v1.account.list')
      return { accounts: [{ accountId: 'acme-id' }, { accountId: 'beta-id', name: 'beta' }], nextCursor: null };
    if (subject === 'billing.v1.account.plan') {
      return { plans: accounts.map(({ name }) => ({ ...NONE, name, accountId: `${name}-id`, changes: release ? marks(3) : [] })) };
    }
    return { accountId: 'id', changes: marks(3), remaining: 0 };
  });
  await writeFile(file, `source: platform\n${TEXT}`);
  expect((await collectRun(['apply', '-f', file], connect)).out).toBe(
    'account beta\n  ~ managed by platform: 3 -> 0 parts\n\n2 accounts: 0 made, 1 changed, 0 removed\n',
  );
  expect(
    asks.map(({ subject, payload: { managedBy, release, account, source } }) => ({ subject, managedBy, release, account, source })),
  ).toEqual([
    { subject: 'billing.v1.account.plan', release: false, source: 'platform' },
    { subject: 'billing.v1.account.list', managedBy: 'platform' },
    { subject: 'billing.v1.account.plan', release: true, source: 'platform' },
    { subject: 'billing.v1.account.apply', release: true, source: 'platform', account: { accountId: 'beta-id', name: 'beta' } },
  ]);
  expect((await collectRun(['apply', '-f', file, '--release'], connect)).out).toMatch(
    /^account acme\n {2}~ managed by platform: 3 -> 0 parts\n\naccount beta/,
  );
});

test('the secret of a new key is in its file before billing gets the digest, and nowhere else', async () => {
  let early: Awaited<ReturnType<typeof readSecrets>> = [];
  const { out, err, code } = await run(['apply', '-f', file, '--secrets', secrets], NEW_KEY, {
    apply: () => NEW_KEY.changes,
  });
  early = await readSecrets(secrets);
  const [secret] = early;
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toMatch(/^1 account: 3 made, 0 changed, 0 removed$/m);
  expect(applied()).toEqual([
    {
      account: { name: 'acme', projects: [{ name: 'web', keys: [{ name: 'ci' }] }] },
      ...{ release: false, prune: false, source: 'tenants.yaml' },
      fileName: 'tenants.yaml',
      fileDigest: expect.stringMatching(/^[0-9a-f]{64}$/),
      newKeys: [
        { project: 'web', name: 'ci', keyId: secret?.keyId, keyDigest: digestApiKey(secret?.key ?? ''), lastFour: secret?.key.slice(-4) },
      ],
    },
  ]);
  expect(JSON.stringify(asked) + out + (await readFile(file, 'utf8'))).not.toContain(secret?.key);
});

test('a run that was killed before the key was made goes on with its secret; a key that is there gets another', async () => {
  const fails = () => {
    throw new Error('killed');
  };
  expect((await run(['apply', '-f', file, '--secrets', secrets], NEW_KEY, { apply: fails })).code).toBe(1);
  const [first] = await readSecrets(secrets);
  await run(['apply', '-f', file, '--secrets', secrets], NEW_KEY);
  expect(await readSecrets(secrets)).toEqual([first]);
  await run(['apply', '-f', file, '--secrets', secrets], NEW_KEY, { keyIds: [first?.keyId ?? ''] });
  const [second] = await readSecrets(secrets);
  expect(second?.keyId).not.toBe(first?.keyId);
  expect(second?.key).not.toBe(first?.key);
});

test('faults that billing finds have line and column, and nothing is applied', async () => {
  const faults = [{ path: ['projects', 0, 'keys', 0, 'name'], problem: 'is missing' }];
  expect(await run(['apply', '-f', file, '--secrets', secrets], { ...NEW_KEY, faults })).toEqual({
    code: 2,
    out: '',
    err: `error: the file has faults, and nothing was changed\n${file}:6:13: accounts[0].projects[0].keys[0].name: is missing\n`,
  });
  expect(applied()).toEqual([]);
});

test('members are compared and applied by the panel, after the account; links of new people go to their file', async () => {
  await writeFile(file, 'accounts: [{ name: acme, members: [{ email: ada@example.com, role: owner }] }]');
  const change = { action: 'create', kind: 'member', name: 'ada@example.com', fields: [{ field: 'invite', before: null, after: 'owner' }] };
  const links = join(folder, 'links.yaml');
  const subjects: string[] = [];
  const connect = answering((subject, payload) => {
    subjects.push(`${subject} ${'members' in payload || JSON.stringify(payload).includes('"members"')}`);
    if (subject === 'billing.v1.account.plan')
      return { plans: [{ ...NONE, changes: [{ action: 'create', kind: 'account', fields: [] }] }] };
    if (subject === 'panel.v1.member.plan') return { plans: [{ faults: [], changes: [change], removals: [], notes: [] }] };
    if (subject === 'billing.v1.account.apply') return { accountId: 'id', changes: [], remaining: 0 };
    return { accountId: 'id', changes: [change], invites: [{ email: 'ada@example.com', link: 'https://link', expiresAt: 'then' }] };
  });
  expect(await collectRun(['apply', '-f', file], connect)).toEqual({
    code: 2,
    out: '',
    err: 'error: a person is new: name a file for their links, such as --invites links.yaml\n',
  });
  subjects.length = 0;
  expect((await collectRun(['apply', '-f', file, '--invites', links], connect)).out).toContain(
    '  + member ada@example.com: invite owner\n',
  );
  expect(subjects).toEqual([
    'billing.v1.account.plan false',
    'panel.v1.member.plan true',
    'billing.v1.account.apply false',
    'panel.v1.member.apply true',
  ]);
  expect(await readFile(links, 'utf8')).toBe('- account: acme\n  email: ada@example.com\n  link: https://link\n  expiresAt: then\n');
});

test('what is equal is not applied', async () => {
  expect(await run(['apply', '-f', file], { ...NONE, accountId: 'id' })).toEqual({
    code: 0,
    err: '',
    out: 'nothing to change in 1 account\n',
  });
  expect(applied()).toEqual([]);
});

test('with --json the plan is one document', async () => {
  const { out } = await run(['apply', '-f', file, '--plan', '--json'], NEW_KEY);
  expect(JSON.parse(out)).toEqual({
    ...{ file: 'tenants.yaml', source: 'tenants.yaml', digest: expect.any(String) },
    ...{ applied: false, accounts: [NEW_KEY] },
  });
});

test('an export is a file, with remarks on what it cannot name', async () => {
  const account = { name: 'acme', projects: [{ name: 'web', keys: [{ name: 'ci' }] }] };
  const { out } = await collectRun(
    ['export'],
    answering((subject, payload) => {
      const role = { field: 'role', before: 'owner', after: null };
      const removals = [{ action: 'remove', kind: 'member', name: 'ada@example.com', fields: [role] }];
      if (subject === 'panel.v1.member.plan') return { plans: [{ faults: [], changes: [], removals, notes: [] }] };
      const isLast = 'cursor' in payload && payload.cursor;
      const leftOut = ['key …abcd of project web: it has no name'];
      return { accounts: isLast ? [] : [{ accountId: 'id', account, leftOut }], nextCursor: isLast ? null : 'next' };
    }),
  );
  expect(out).toMatch(/^# yaml-language-server: \$schema=/);
  expect(out.split('\n').slice(1).join('\n')).toBe(
    `# not in this file: account acme: key …abcd of project web: it has no name\n${TEXT}    members:\n      - email: ada@example.com\n        role: owner\n`,
  );
});
