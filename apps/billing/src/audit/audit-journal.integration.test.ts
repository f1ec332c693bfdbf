import { randomUUID } from 'node:crypto';
import { type AuditEntry, billingAuditList } from '#contracts/audit.js';
import { accountCreate, accountUpdate } from '#contracts/billing/accounts.js';
import { keyCreate, keyRevoke, keyRotate, keyUpdate } from '#contracts/billing/keys.js';
import { adjustmentCreate, planGrant, refundCreate, topupCreate } from '#contracts/billing/money.js';
import { movementList } from '#contracts/billing/movements.js';
import { projectCreate, projectUpdate } from '#contracts/billing/projects.js';
import type { Messaging } from '#messaging/messaging.js';
import { startBillingService } from '../../test/billing-service.js';

/** Every administrative operation over NATS, and the audit row that it leaves. */
const service = await startBillingService();
const cli = await service.connect('cli');
afterAll(() => service.stop());

const ACTOR = { actor: 'user/7', actorName: 'Zoë Müller', ip: '192.0.2.7', requestId: 'req_1' };
const AUTHOR = { ...ACTOR, via: 'cli' };
const DAY_MS = 86_400_000;

const ask: Messaging['request'] = (endpoint, payload) => cli.request(endpoint, payload, { actor: ACTOR });
const readEntries = async (accountId: string): Promise<AuditEntry[]> => (await cli.request(billingAuditList, { accountId })).entries;
const newAccount = () => ask(accountCreate, { name: 'acme' });

/** Returns the newest entry of the account. Its id and time are checked here. */
async function lastEntry(accountId: string): Promise<Omit<AuditEntry, 'id' | 'at'> | undefined> {
  const [entry] = await readEntries(accountId);
  if (!entry) return undefined;
  const { id, at, ...rest } = entry;
  const idAt = Number.parseInt(id.replace('-', '').slice(0, 12), 16);
  expect({ version: id[14], idAt }).toEqual({ version: '7', idAt: Date.parse(at) });
  return rest;
}

/** Returns the target of the newest movement of the account. */
async function newestMovement(accountId: string): Promise<string> {
  const { movements } = await cli.request(movementList, { accountId, kinds: ['topup', 'grant', 'refund', 'credit', 'debit'] });
  return `movement/${movements[0]?.movementId}`;
}

describe('one entry for each change', () => {
  test('an account is created and updated', async () => {
    const account = await newAccount();
    const { accountId } = account;
    const target = `account/${accountId}`;
    const entry = { ...AUTHOR, action: 'account.create', accountId, target, reason: null, before: null, after: account };
    expect(await lastEntry(accountId)).toEqual(entry);

    const settings = { lowBalanceUsd: '5', creditLineUsd: '7', pricePlan: 'gold' };
    await ask(accountUpdate, { accountId, status: 'frozen', statusReason: 'payment disputed', ...settings });
    expect(await lastEntry(accountId)).toEqual({
      ...AUTHOR,
      ...{ action: 'account.update', accountId, target, reason: 'payment disputed' },
      before: { status: 'active', statusReason: null, lowBalancePicoUsd: null, creditLinePicoUsd: null, pricePlan: null },
      after: {
        ...{ status: 'frozen', statusReason: 'payment disputed' },
        ...{ lowBalancePicoUsd: '5000000000000', creditLinePicoUsd: '7000000000000', pricePlan: 'gold' },
      },
    });
    expect(await readEntries(accountId)).toHaveLength(2);
  });

  test('a project is created and updated', async () => {
    const { accountId } = await newAccount();
    const project = await ask(projectCreate, { accountId, name: 'web' });
    const target = `project/${project.projectId}`;
    const entry = { ...AUTHOR, action: 'project.create', accountId, target, reason: null, before: null, after: project };
    expect(await lastEntry(accountId)).toEqual(entry);

    await ask(projectUpdate, { projectId: project.projectId, enabled: false, concurrencyMax: 7 });
    expect(await lastEntry(accountId)).toEqual({
      ...AUTHOR,
      ...{ action: 'project.update', accountId, target, reason: null },
      before: { enabled: true, concurrencyMax: 100 },
      after: { enabled: false, concurrencyMax: 7 },
    });
  });

  test('a key is created and revoked; no entry has the key', async () => {
    const { accountId } = await newAccount();
    const { projectId } = await ask(projectCreate, { accountId, name: 'web' });
    const { key, ...made } = await ask(keyCreate, { projectId, name: 'ci' });
    const target = `key/${made.keyId}`;
    const entry = { ...AUTHOR, action: 'key.create', accountId, target, reason: null, before: null, after: made };
    expect(await lastEntry(accountId)).toEqual(entry);

    const { revokedAt } = await ask(keyRevoke, { keyId: made.keyId });
    expect(await lastEntry(accountId)).toEqual({
      ...AUTHOR,
      ...{ action: 'key.revoke', accountId, target, reason: null, before: { revokedAt: null }, after: { revokedAt } },
    });
    // The last four characters are shown on purpose.
    expect(JSON.stringify(await readEntries(accountId))).not.toContain(key.slice(0, -4).slice(-12));
  });

  test('a key is updated', async () => {
    const { accountId } = await newAccount();
    const { projectId } = await ask(projectCreate, { accountId, name: 'web' });
    const { keyId } = await ask(keyCreate, { projectId, name: 'ci' });
    const expiresAt = new Date(Date.now() + DAY_MS).toISOString();
    await ask(keyUpdate, { keyId, name: null, expiresAt, disabled: true });
    expect(await lastEntry(accountId)).toEqual({
      ...AUTHOR,
      ...{ action: 'key.update', accountId, target: `key/${keyId}`, reason: null },
      before: { name: 'ci', expiresAt: null, disabled: false },
      after: { name: null, expiresAt, disabled: true },
    });
  });

  test('a key is rotated: an entry for each of the two keys, neither with a key', async () => {
    const { accountId } = await newAccount();
    const { projectId } = await ask(projectCreate, { accountId, name: 'web' });
    const old = await ask(keyCreate, { projectId, name: 'ci' });
    const { key, replaced, ...made } = await ask(keyRotate, { keyId: old.keyId, graceSeconds: 60 });
    const newest = (await readEntries(accountId)).slice(0, 2).map(({ id: _, at: __, ...entry }) => entry);
    const entry = { ...AUTHOR, accountId, reason: null };
    expect(newest.toSorted((one, other) => (one.action < other.action ? -1 : 1))).toEqual([
      { ...entry, action: 'key.create', target: `key/${made.keyId}`, before: null, after: made },
      {
        ...{ ...entry, action: 'key.rotate', target: `key/${old.keyId}`, before: { expiresAt: null, replacedBy: null } },
        after: { expiresAt: replaced.expiresAt, replacedBy: made.keyId },
      },
    ]);
    expect(JSON.stringify(await readEntries(accountId))).not.toContain(key.slice(0, -4).slice(-12));
  });

  test('money is topped up, refunded and adjusted', async () => {
    const { accountId } = await newAccount();
    const paymentId = `inv-${accountId}`;
    const expectEntry = async (action: string, reason: string | null, [before, after]: [string, string], rest: object) =>
      expect(await lastEntry(accountId)).toEqual({
        ...AUTHOR,
        ...{ action, accountId, target: await newestMovement(accountId), reason },
        before: { topupBalancePicoUsd: before },
        after: { topupBalancePicoUsd: after, ...rest },
      });

    await ask(topupCreate, { accountId, usd: '25', paymentId });
    await expectEntry('topup.create', null, ['0', '25000000000000'], { amountPicoUsd: '25000000000000', reference: paymentId });
    await ask(refundCreate, { accountId, refundId: `ref-${accountId}`, paymentId, usd: '5', reason: 'half a month' });
    await expectEntry('refund.create', 'half a month', ['25000000000000', '20000000000000'], {
      amountPicoUsd: '5000000000000',
      reference: `ref-${accountId}`,
    });
    await ask(adjustmentCreate, { accountId, adjustmentId: `a:${accountId}`, usd: '2', reason: 'goodwill' });
    await expectEntry('adjustment.create', 'goodwill', ['20000000000000', '22000000000000'], {
      amountPicoUsd: '2000000000000',
      reference: `a:${accountId}`,
    });
    await ask(adjustmentCreate, { accountId, adjustmentId: `b:${accountId}`, usd: '-1', reason: 'credited twice' });
    await expectEntry('adjustment.create', 'credited twice', ['22000000000000', '21000000000000'], {
      amountPicoUsd: '1000000000000',
      reference: `b:${accountId}`,
    });
    expect(await readEntries(accountId)).toHaveLength(5);
  });

  test('a plan is granted, and granted again', async () => {
    const { accountId } = await newAccount();
    const expiresAt = new Date(Date.now() + DAY_MS).toISOString();
    const first = await ask(planGrant, { accountId, usd: '10', expiresAt, grantKey: 'november' });
    const after = { grantId: first.grantId, planBalancePicoUsd: '10000000000000', expiresAt, reference: 'november' };
    const entry = { ...AUTHOR, action: 'plan.grant', accountId, reason: null };
    expect(await lastEntry(accountId)).toEqual({ ...entry, target: await newestMovement(accountId), before: null, after });

    const later = new Date(Date.now() + 2 * DAY_MS).toISOString();
    const second = await ask(planGrant, { accountId, usd: '20', expiresAt: later });
    expect(await lastEntry(accountId)).toEqual({
      ...entry,
      target: await newestMovement(accountId),
      before: { grantId: first.grantId, planBalancePicoUsd: '10000000000000', expiresAt, forfeitedPicoUsd: '10000000000000' },
      after: { grantId: second.grantId, planBalancePicoUsd: '20000000000000', expiresAt: later, reference: null },
    });
    expect(await readEntries(accountId)).toHaveLength(3);
  });
});

test('a repeated request and an update that changes nothing leave no entry', async () => {
  const [accountId, projectId, keyId] = [randomUUID(), randomUUID(), randomUUID()];
  const expiresAt = new Date(Date.now() + DAY_MS).toISOString();
  const twice = async (request: () => Promise<unknown>): Promise<void> => {
    await request();
    await request().catch((error: { code: string }) => expect(error.code).toBe('conflict'));
  };
  await twice(() => ask(accountCreate, { accountId, name: 'acme' }));
  await twice(() => ask(accountUpdate, { accountId, name: 'other', status: 'active' }));
  await twice(() => ask(projectCreate, { accountId, projectId, name: 'web' }));
  await twice(() => ask(projectUpdate, { projectId, requestsPerMinuteMax: 7 }));
  await twice(() => ask(keyCreate, { projectId, keyId }));
  await twice(() => ask(keyUpdate, { keyId, name: 'ci' }));
  await twice(() => ask(keyRevoke, { keyId }));
  await twice(() => ask(topupCreate, { accountId, usd: '5', paymentId: accountId }));
  await twice(() => ask(refundCreate, { accountId, usd: '1', refundId: accountId }));
  await twice(() => ask(adjustmentCreate, { accountId, usd: '1', adjustmentId: accountId, reason: 'why' }));
  await twice(() => ask(planGrant, { accountId, usd: '1', expiresAt, grantKey: accountId }));
  expect((await readEntries(accountId)).map(({ action }) => action)).toEqual([
    ...['plan.grant', 'adjustment.create', 'refund.create', 'topup.create', 'key.revoke', 'key.update', 'key.create'],
    ...['project.update', 'project.create', 'account.update', 'account.create'],
  ]);
});

test('a refused change leaves no entry', async () => {
  const { accountId } = await newAccount();
  const unknown = randomUUID();
  const count = async (): Promise<number> => (await cli.request(billingAuditList, { actor: 'user/refused' })).entries.length;
  const refused: Messaging['request'] = (endpoint, payload) =>
    cli.request(endpoint, payload, { actor: { actor: 'user/refused' } }).catch((error: { code: string }) => error.code as never);
  expect([
    await refused(accountCreate, { accountId, name: 'taken' }),
    await refused(accountUpdate, { accountId: unknown, name: 'x' }),
    await refused(projectCreate, { accountId: unknown, name: 'x' }),
    await refused(projectUpdate, { projectId: unknown, name: 'x' }),
    await refused(keyCreate, { projectId: unknown }),
    await refused(keyUpdate, { keyId: unknown }),
    await refused(keyRotate, { keyId: unknown, graceSeconds: 0 }),
    await refused(keyRevoke, { keyId: unknown }),
    await refused(topupCreate, { accountId: unknown, usd: '1', paymentId: unknown }),
    await refused(refundCreate, { accountId, usd: '1', refundId: unknown }),
    await refused(adjustmentCreate, { accountId, usd: '-1', adjustmentId: unknown, reason: 'why' }),
    await refused(planGrant, { accountId, usd: '1', expiresAt: '2020-01-01' }),
  ]).toEqual([
    ...['conflict', 'not_found', 'not_found', 'not_found', 'not_found', 'not_found', 'not_found', 'not_found', 'not_found'],
    ...['insufficient_balance', 'insufficient_balance', 'invalid_request'],
  ]);
  expect(await count()).toBe(0);
});

test('a caller that names no actor is recorded as its NATS user', async () => {
  const { accountId } = await cli.request(accountCreate, { name: 'acme' });
  expect(await lastEntry(accountId)).toMatchObject({ actor: 'nats/cli', actorName: null, via: 'cli', ip: null, requestId: null });
});

test('the list is filtered by account, actor, action and time, and paged', async () => {
  const { accountId } = await newAccount();
  const { projectId } = await ask(projectCreate, { accountId, name: 'web' });
  for (let limit = 1; limit <= 3; limit++) await ask(projectUpdate, { projectId, requestsPerMinuteMax: limit });
  const all = await readEntries(accountId);
  const ids = async (filter: object): Promise<string[]> =>
    (await cli.request(billingAuditList, { accountId, ...filter })).entries.map(({ id }) => id);
  const expected = (test: (entry: AuditEntry) => boolean): string[] => all.filter(test).map(({ id }) => id);
  const [third] = all.slice(2);
  const at = (third as AuditEntry).at;

  expect(await ids({ action: 'project.update' })).toEqual(expected(({ action }) => action === 'project.update'));
  expect([await ids({ actor: ACTOR.actor }), await ids({ actor: 'user/8' })]).toEqual([expected(() => true), []]);
  expect(await ids({ from: at })).toEqual(expected((entry) => entry.at >= at));
  expect(await ids({ to: at })).toEqual(expected((entry) => entry.at < at));

  const first = await cli.request(billingAuditList, { accountId, limit: 3 });
  const second = await cli.request(billingAuditList, { accountId, limit: 3, cursor: first.nextCursor as string });
  expect([...first.entries, ...second.entries]).toEqual(all);
  expect([first.nextCursor, second.nextCursor]).toEqual([all[2]?.id, null]);
});
