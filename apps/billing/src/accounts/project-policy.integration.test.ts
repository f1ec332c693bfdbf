import { digestApiKey } from '#contracts/api-key.js';
import type { ProjectPolicy } from '#contracts/billing/project-policy.js';
import type { Author } from '#database/audit-journal.js';
import { type Customer, LedgerFixture } from '../../test/ledger-fixture.js';
import { KeyLookups } from '../keys/key-lookups.js';
import { createKey } from '../keys/keys.js';
import { listProjects, updateProject } from './projects.js';

const POLICY: ProjectPolicy = { name: 'secrets', deadlineMs: 300, fail: 'closed', sendText: true };
const CUSTOMER: Author = {
  caller: { actor: 'user/dev', actorName: 'dev@acme', via: 'panel', ip: null, requestId: null, level: 'customer' },
};
const PEPPER = 'p'.repeat(32);

let customer: Customer;
const ledger = await LedgerFixture.open({ guarded: true });
beforeEach(async () => {
  customer = await ledger.customer();
});
afterAll(() => ledger.close());

const change = (policy: ProjectPolicy | null, author?: Author) =>
  updateProject(ledger.prisma, { projectId: customer.projectId, policy }, author);
const stored = async () => (await listProjects(ledger.prisma, { projectId: customer.projectId })).projects[0]?.policy;
const written = async () => {
  const { rows } = await ledger.sql.query(
    'SELECT action, before, after FROM billing.audit WHERE target = $1 AND action LIKE $2 ORDER BY id',
    [`project/${customer.projectId}`, 'project.%'],
  );
  return rows as unknown[];
};

test('a policy is set, kept by other changes, replaced and removed, each with a row of the journal', async () => {
  expect((await change(POLICY)).policy).toEqual(POLICY);
  await updateProject(ledger.prisma, { projectId: customer.projectId, tags: [] });
  expect(await stored()).toEqual(POLICY);
  await change({ ...POLICY, fail: 'open' });
  expect((await change(null)).policy).toBeUndefined();
  expect(await stored()).toBeUndefined();
  const row = (before: ProjectPolicy | undefined, after: ProjectPolicy | undefined) => ({
    action: 'project.update',
    before: before ? { policy: before } : {},
    after: after ? { policy: after } : {},
  });
  expect(await written()).toEqual([
    row(undefined, POLICY),
    row(POLICY, { ...POLICY, fail: 'open' }),
    row({ ...POLICY, fail: 'open' }, undefined),
  ]);
});

test('a customer neither chooses nor removes a policy, and may repeat the one that is there', async () => {
  const refused = { code: 'permission_denied', param: 'policy' };
  await expect(change(POLICY, CUSTOMER)).rejects.toMatchObject(refused);
  await change(null, CUSTOMER);
  await change(POLICY);
  await expect(change(null, CUSTOMER)).rejects.toMatchObject(refused);
  await expect(change({ ...POLICY, sendText: false }, CUSTOMER)).rejects.toMatchObject(refused);
  expect((await change(POLICY, CUSTOMER)).policy).toEqual(POLICY);
});

test('the gateway gets the policy with a key', async () => {
  const { key } = await createKey(ledger.prisma, { projectId: customer.projectId }, PEPPER);
  await change(POLICY);
  const options = { connect: () => ledger.connect(), batchMax: 10, queueMax: 10, deadlineMs: 30_000, logger: ledger.logger };
  const lookups = new KeyLookups(PEPPER, options);
  expect((await lookups.resolve(digestApiKey(key))).policy).toEqual(POLICY);
  await lookups.close();
});
