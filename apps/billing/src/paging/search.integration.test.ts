import { LedgerFixture } from '../../test/ledger-fixture.js';
import { createAccount, listAccounts } from '../accounts/accounts.js';
import { createProject, listProjects } from '../accounts/projects.js';
import { createKey, listKeys } from '../keys/keys.js';

const ledger = await LedgerFixture.open();
afterAll(() => ledger.close());

const DEFAULTS = { requestsPerMinute: 10, concurrency: 10 };
const PEPPER = 'pepper';
const { prisma } = ledger;
const { accountId } = await createAccount(prisma, { name: 'Acme 100%' });
const { projectId } = await createProject(prisma, { accountId, name: 'Web_shop' }, DEFAULTS);
const other = await createAccount(prisma, { name: 'Acme 1000' });
const otherProject = await createProject(
  prisma,
  {
    accountId: other.accountId,
    name: 'webshop',
    requestsPerMinuteMax: 1,
    concurrencyMax: 1,
  },
  DEFAULTS,
);
const key = await createKey(prisma, { projectId, name: 'Nightly', note: 'for CI' }, PEPPER);
const second = await createKey(prisma, { projectId, name: 'nightly two' }, PEPPER);
await createKey(prisma, { projectId: otherProject.projectId, name: 'nightly' }, PEPPER);

const accounts = async (search: string) => (await listAccounts(prisma, { search })).accounts.map(({ name }) => name);
const projects = async (search: string) => (await listProjects(prisma, { search })).projects.map(({ name }) => name);
const keys = async (search: string) => (await listKeys(prisma, { accountId, search })).keys.map(({ keyId }) => keyId);

test('a part of the name in any case, in which no sign stands for others', async () => {
  expect(await accounts('acme')).toEqual(['Acme 100%', 'Acme 1000']);
  expect(await accounts('0%')).toEqual(['Acme 100%']);
  expect(await projects('B_S')).toEqual(['Web_shop']);
  expect(await projects('webshop')).toEqual(['webshop']);
});

test('keys of one account by name, note, last four characters or id', async () => {
  expect(await keys('NIGHT')).toEqual([key.keyId, second.keyId]);
  expect(await keys(' ci ')).toEqual([key.keyId]);
  expect(await keys(key.lastFour)).toContain(key.keyId);
  expect(await keys(second.keyId.toUpperCase())).toEqual([second.keyId]);
});

test('pages of a search go on, and its cursor is of no other search', async () => {
  const first = await listKeys(prisma, { accountId, search: 'nightly', limit: 1 });
  const cursor = first.nextCursor as string;
  const next = await listKeys(prisma, { accountId, search: 'nightly', limit: 1, cursor });
  expect([first, next].map((page) => page.keys.map(({ keyId }) => keyId))).toEqual([[key.keyId], [second.keyId]]);
  expect(next.nextCursor).toBeNull();
  await expect(listKeys(prisma, { accountId, search: 'two', cursor })).rejects.toMatchObject({ code: 'invalid_request', param: 'cursor' });
});
