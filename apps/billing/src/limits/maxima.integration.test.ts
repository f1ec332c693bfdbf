import { setTimeout as delay } from 'node:timers/promises';
import { LedgerFixture } from '../../test/ledger-fixture.js';
import { updateAccount } from '../accounts/accounts.js';
import { createProject } from '../accounts/projects.js';
import { createKey, revokeKey, rotateKey, updateKey } from '../keys/keys.js';

/** The most projects and active keys of an account. */
let accountId: string;
let projectId: string;
/** The key that the account begins with. */
let keyId: string;
const ledger = await LedgerFixture.open({ guarded: true });
beforeEach(async () => {
  ({ accountId, projectId, keyId } = await ledger.customer());
});
afterAll(() => ledger.close());

const TOO_MANY = { code: 'conflict', param: 'accountId' };
const newProject = (name = 'another') => createProject(ledger.prisma, { accountId, name }, { requestsPerMinute: 600, concurrency: 100 });
const newKey = (fields: object = {}) => createKey(ledger.prisma, { projectId, ...fields }, '');
const allow = (maxima: { projectsMax?: number; activeKeysMax?: number }) => updateAccount(ledger.prisma, { accountId, ...maxima });
const count = async (table: string) =>
  (
    await ledger.sql.query(
      table === 'project'
        ? 'SELECT count(*)::int FROM billing.project WHERE account_id = $1'
        : 'SELECT count(*)::int FROM billing.api_key k JOIN billing.project p ON p.id = k.project_id WHERE p.account_id = $1',
      [accountId],
    )
  ).rows[0].count;
/** Makes things at once: the rows that each of them refers to stay locked until several wait for them. */
async function atOnce(times: number, make: (at: number) => Promise<unknown>): Promise<PromiseSettledResult<unknown>[]> {
  const holder = await ledger.connect();
  await holder.query('BEGIN');
  await holder.query('SELECT FROM billing.account WHERE id = $1 FOR UPDATE', [accountId]);
  await holder.query('SELECT FROM billing.project WHERE account_id = $1 FOR UPDATE', [accountId]);
  const making = Promise.allSettled(Array.from({ length: times }, (_, at) => make(at)));
  const waiting = `SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  while ((await ledger.sql.query(waiting)).rows[0].count < 3) await delay(10);
  await holder.query('COMMIT');
  return making;
}
const fulfilled = (outcomes: PromiseSettledResult<unknown>[]) => outcomes.filter(({ status }) => status === 'fulfilled').length;
const reasons = (outcomes: PromiseSettledResult<unknown>[]) =>
  outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [[outcome.reason.code, outcome.reason.param]] : []));

test('an account gets no project beyond the most, and more when the operator allows them [sec-operator-limits]', async () => {
  await allow({ projectsMax: 1 });
  await expect(newProject()).rejects.toMatchObject(TOO_MANY);
  await allow({ projectsMax: 2 });
  expect(await newProject()).toMatchObject({ name: 'another' });
});

test('of projects at once, as many are made as the account may have [sec-operator-limits]', async () => {
  await allow({ projectsMax: 3 });
  const outcomes = await atOnce(8, (at) => newProject(`project ${at}`));
  expect([fulfilled(outcomes), reasons(outcomes), await count('project')]).toEqual([2, Array(6).fill(['conflict', 'accountId']), 3]);
});

test('of keys at once, as many are made as the account may have, over all its projects [sec-operator-limits]', async () => {
  const other = await newProject();
  await allow({ activeKeysMax: 3 });
  const outcomes = await atOnce(8, (at) => newKey({ projectId: at % 2 === 0 ? projectId : other.projectId }));
  expect([fulfilled(outcomes), reasons(outcomes), await count('key')]).toEqual([2, Array(6).fill(['conflict', 'projectId']), 3]);
});

test('a key that is revoked or has expired makes room for another; a disabled one does not', async () => {
  await allow({ activeKeysMax: 1 });
  await updateKey(ledger.prisma, { keyId, disabled: true });
  await expect(newKey()).rejects.toMatchObject({ code: 'conflict' });
  await revokeKey(ledger.prisma, keyId);
  const { keyId: second } = await newKey();
  await ledger.sql.query(
    `WITH u AS (UPDATE billing.api_key SET expires_at = now() WHERE id = $1 RETURNING id)
    SELECT billing.record_audit('{"actor": "test"}', 'test', NULL, 'key/' || id, NULL, NULL, NULL) FROM u`,
    [second],
  );
  expect(await newKey()).toMatchObject({ projectId });
  await expect(updateKey(ledger.prisma, { keyId: second, expiresAt: '2099-01-01T00:00:00Z' })).rejects.toMatchObject({
    code: 'conflict',
    param: 'expiresAt',
  });
  expect(await updateKey(ledger.prisma, { keyId: second, name: 'old' })).toMatchObject({ name: 'old' });
});

test('at the most, and above it, a key is replaced without a grace, and not with one', async () => {
  await newKey();
  await allow({ activeKeysMax: 1 });
  await expect(rotateKey(ledger.prisma, { keyId, graceSeconds: 60 }, '')).rejects.toMatchObject({
    code: 'conflict',
    param: 'graceSeconds',
  });
  expect(await rotateKey(ledger.prisma, { keyId, graceSeconds: 0 }, '')).toMatchObject({ rootKeyId: keyId });
});

test('of rotations with a grace at once, as many are made as there is room for', async () => {
  const { keyId: second } = await newKey();
  await allow({ activeKeysMax: 3 });
  const outcomes = await Promise.allSettled([keyId, second].map((keyId) => rotateKey(ledger.prisma, { keyId, graceSeconds: 60 }, '')));
  expect([fulfilled(outcomes), reasons(outcomes), await count('key')]).toEqual([1, [['conflict', 'graceSeconds']], 3]);
});
