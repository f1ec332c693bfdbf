import { randomUUID } from 'node:crypto';
import type { KeyUpdateRequest } from '#contracts/billing/keys.js';
import type { ModelLimit } from '#contracts/billing/model-limits.js';
import { type Customer, LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import { listProjects, updateProject } from '../accounts/projects.js';
import type { HoldLanes } from '../batch/hold-lanes.js';
import { createKey, listKeys, rotateKey, updateKey } from '../keys/keys.js';

/** Limits of keys beside those of their project, and tokens per minute. */
const ledger = await LedgerFixture.open({ guarded: true });
afterEach(async () => expect(await ledger.violations()).toEqual([]));
afterAll(() => ledger.close());

const NONE = { requestsPerMinuteMax: null, concurrencyMax: null, tokensPerMinuteMax: null };
const TOPUP = 1_000_000n;

const limitKey = ({ keyId }: Pick<Customer, 'keyId'>, limits: Partial<KeyUpdateRequest>) => updateKey(ledger.prisma, { keyId, ...limits });
const limitProject = ({ projectId }: Customer, tokensPerMinuteMax: number | null) =>
  updateProject(ledger.prisma, { projectId, tokensPerMinuteMax });
const ask = (lanes: HoldLanes, customer: Customer, tokensMax?: number, holdId: string = randomUUID()) =>
  lanes.reserve({ ...makeReserve(customer, 1n, holdId), ...(tokensMax !== undefined && { tokensMax }) });
const end = (lanes: HoldLanes, { accountId }: Customer, holdId: string, tokens: number) =>
  lanes.settle({ holdId, accountId, reason: 'completed', usage: makeUsage(tokens - 1, 1) });

test('limits of a key are set, changed and removed; a removed limit leaves no row, and each change is audited', async () => {
  const { accountId, keyId } = await ledger.customer();
  const limits = { requestsPerMinuteMax: 5, tokensPerMinuteMax: 700 };
  const rows = async () => {
    const { rows: found } = await ledger.sql.query(
      `SELECT limit_count, (SELECT count(*)::int FROM billing.rate_limit WHERE account_id = a.id) AS rows FROM billing.account a WHERE id = $1`,
      [accountId],
    );
    return found[0];
  };
  expect([await limitKey({ keyId }, limits), await rows()]).toMatchObject([
    { ...NONE, ...limits },
    { limit_count: 1, rows: 1 },
  ]);
  expect(await limitKey({ keyId }, { concurrencyMax: 2, requestsPerMinuteMax: null })).toMatchObject({
    ...{ requestsPerMinuteMax: null, concurrencyMax: 2, tokensPerMinuteMax: 700 },
  });
  expect((await listKeys(ledger.prisma, { keyId })).keys).toMatchObject([{ concurrencyMax: 2, tokensPerMinuteMax: 700 }]);
  expect([await limitKey({ keyId }, NONE), await rows()]).toMatchObject([NONE, { limit_count: 0, rows: 0 }]);
  const audit = await ledger.sql.query(`SELECT before, after FROM billing.audit WHERE target = $1 AND action = 'key.update' ORDER BY id`, [
    `key/${keyId}`,
  ]);
  expect(audit.rows).toEqual([
    { before: { requestsPerMinuteMax: null, tokensPerMinuteMax: null }, after: limits },
    { before: { requestsPerMinuteMax: 5, concurrencyMax: null }, after: { requestsPerMinuteMax: null, concurrencyMax: 2 } },
    { before: { concurrencyMax: 2, tokensPerMinuteMax: 700 }, after: { concurrencyMax: null, tokensPerMinuteMax: null } },
  ]);
});

test('a new key has the limits of its creation, and the key that replaces it has the same ones', async () => {
  const { projectId } = await ledger.customer();
  const limits = { requestsPerMinuteMax: 5, concurrencyMax: 3, tokensPerMinuteMax: 700 };
  const made = await createKey(ledger.prisma, { projectId, ...limits }, '');
  const rotated = await rotateKey(ledger.prisma, { keyId: made.keyId, graceSeconds: 60 }, '');
  expect([made, rotated, rotated.replaced]).toMatchObject([limits, limits, limits]);
});

test('tokens per minute of a project are set and removed', async () => {
  const customer = await ledger.customer();
  expect(await limitProject(customer, 700)).toMatchObject({ tokensPerMinuteMax: 700 });
  expect((await listProjects(ledger.prisma, { projectId: customer.projectId })).projects).toMatchObject([{ tokensPerMinuteMax: 700 }]);
  expect(await limitProject(customer, null)).toMatchObject({ tokensPerMinuteMax: null });
});

test('a limit without an audit row is refused by the database', async () => {
  const { accountId, projectId, keyId } = await ledger.customer();
  const insert = `INSERT INTO billing.rate_limit (id, account_id, project_id, key_id, concurrency_max, open_holds) VALUES ($1, $2, $3, $1, 1, 0)`;
  await expect(ledger.sql.query(insert, [keyId, accountId, projectId])).rejects.toMatchObject({
    constraint: 'rate_limit_of_key_is_added_audited',
  });
});

test.each([
  ['requests per minute', { requestsPerMinuteMax: 12 }, { code: 'rate_limit_exceeded', limit: 12, retryAfterSeconds: expect.any(Number) }],
  ['requests at once', { concurrencyMax: 12 }, { code: 'concurrency_limit', limit: 12, retryAfterSeconds: 1 }],
  [
    'tokens per minute',
    { tokensPerMinuteMax: 127 },
    { code: 'rate_limit_exceeded', limit: 127, retryAfterSeconds: expect.any(Number), requestedTokens: 10 },
  ],
])('of a hundred requests of a key at once over three replicas, twelve fit in its %s', async (_, limits, refusal) => {
  const customer = await ledger.customer({ topup: TOPUP });
  const replicas = [1, 2, 3].map(() => ledger.newLanes());
  await limitKey(customer, limits);
  const outcomes = await Promise.all(Array.from({ length: 100 }, (_, count) => ask(replicas[count % 3] as HoldLanes, customer, 10)));
  const refused = outcomes.filter(({ status }) => status === 'refused');
  expect([outcomes.filter(({ status }) => status === 'held').length, refused.length]).toEqual([12, 88]);
  for (const outcome of refused) expect(outcome).toMatchObject({ ...refusal, keyId: customer.keyId });
});

describe('limits by model', () => {
  const MODEL_LIMITS = [
    { model: 'gpt-*', requestsPerMinuteMax: 12, tokensPerMinuteMax: 1_000 },
    { model: '*-mini', tokensPerMinuteMax: 300 },
  ];
  const limitModels = ({ projectId }: Customer, modelLimits: ModelLimit[]) => updateProject(ledger.prisma, { projectId, modelLimits });
  const askModel = (lanes: HoldLanes, customer: Customer, model: string, tokensMax: number, holdId: string = randomUUID()) =>
    lanes.reserve({ ...makeReserve(customer, 1n, holdId), model, tokensMax });

  test('are set together, replaced and removed; each change is audited, and a rotated key has those of the old key', async () => {
    const { projectId, keyId } = await ledger.customer();
    const limited = await updateKey(ledger.prisma, { keyId, modelLimits: MODEL_LIMITS });
    const rotated = await rotateKey(ledger.prisma, { keyId, graceSeconds: 60 }, '');
    expect([limited, rotated, rotated.replaced].map(({ modelLimits }) => modelLimits)).toEqual([MODEL_LIMITS, MODEL_LIMITS, MODEL_LIMITS]);
    const [first] = MODEL_LIMITS as [ModelLimit];
    const limits = { tokensPerMinuteMax: 9 };
    expect(await updateProject(ledger.prisma, { projectId, modelLimits: MODEL_LIMITS, ...limits })).toMatchObject({
      modelLimits: MODEL_LIMITS,
    });
    expect(await updateProject(ledger.prisma, { projectId, modelLimits: [first] })).toMatchObject({ modelLimits: [first], ...limits });
    const removed = await updateProject(ledger.prisma, { projectId, modelLimits: [] });
    expect([removed, removed.modelLimits]).toEqual([expect.objectContaining(limits), undefined]);
    const { rows } = await ledger.sql.query(
      `SELECT before, after FROM billing.audit WHERE target = $1 AND action = 'project.update' ORDER BY id`,
      [`project/${projectId}`],
    );
    expect(rows.map(({ before, after }) => [before.modelLimits, after.modelLimits])).toEqual([
      [undefined, MODEL_LIMITS],
      [MODEL_LIMITS, [first]],
      [[first], undefined],
    ]);
  });

  test.each<[string, ModelLimit[]]>([
    ['without a limit', [{ model: 'gpt-*' }]],
    ['twice', [...MODEL_LIMITS, { model: 'gpt-*', requestsPerMinuteMax: 1 }]],
  ])('a pattern %s is refused', async (_, modelLimits) => {
    const customer = await ledger.customer();
    await expect(limitModels(customer, modelLimits)).rejects.toMatchObject({ code: 'invalid_request', param: 'modelLimits' });
  });

  test('of a hundred requests at once over three replicas, twelve fit; other models are not limited', async () => {
    const customer = await ledger.customer({ topup: TOPUP });
    const replicas = [1, 2, 3].map(() => ledger.newLanes());
    await limitModels(customer, MODEL_LIMITS);
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, (_, count) => askModel(replicas[count % 3] as HoldLanes, customer, `gpt-${count % 7}`, 10)),
    );
    const refused = outcomes.filter(({ status }) => status === 'refused');
    expect([outcomes.filter(({ status }) => status === 'held').length, refused.length]).toEqual([12, 88]);
    const refusal = { code: 'rate_limit_exceeded', limit: 12, model: 'gpt-*', retryAfterSeconds: expect.any(Number) };
    for (const outcome of refused) expect(outcome).toMatchObject(refusal);
    expect(await askModel(replicas[0] as HoldLanes, customer, 'o3', 5_000)).toMatchObject({ status: 'held' });
  });

  test('a change keeps what the patterns that stay have counted', async () => {
    const customer = await ledger.customer({ topup: TOPUP });
    const lanes = ledger.newLanes();
    await limitModels(customer, MODEL_LIMITS);
    await askModel(lanes, customer, 'gpt-mini', 250);
    await limitModels(customer, [{ model: 'gpt-*', tokensPerMinuteMax: 400 }]);
    expect(await askModel(lanes, customer, 'gpt-mini', 151)).toMatchObject({ limit: 400, model: 'gpt-*', tokens: { remaining: 150 } });
    await limitModels(customer, [...MODEL_LIMITS].reverse());
    expect(await askModel(lanes, customer, 'o4-mini', 300)).toMatchObject({ status: 'held' });
  });
});

test('open requests count towards a concurrency that is set later, and a lowered limit disturbs none', async () => {
  const customer = await ledger.customer({ topup: TOPUP });
  const lanes = ledger.newLanes();
  const holds = [randomUUID(), randomUUID()] as const;
  for (const holdId of holds) await ask(lanes, customer, 1, holdId);
  await limitKey(customer, { concurrencyMax: 2 });
  expect(await ask(lanes, customer, 1)).toMatchObject({ status: 'refused', code: 'concurrency_limit', limit: 2, keyId: customer.keyId });
  await limitKey(customer, { concurrencyMax: 1 });
  for (const holdId of holds) expect(await end(lanes, customer, holdId, 10)).toMatchObject({ status: 'settled' });
  expect(await ask(lanes, customer, 1)).toMatchObject({ status: 'held' });
});

test('limits that change while requests run deadlock with none of them', async () => {
  const customer = await ledger.customer({ topup: TOPUP });
  const lanes = ledger.newLanes();
  const requests = Array.from({ length: 60 }, async () => {
    const holdId = randomUUID();
    await ask(lanes, customer, 1, holdId);
    await end(lanes, customer, holdId, 10);
  });
  const changes = Array.from({ length: 12 }, (_, count) =>
    count % 2 ? limitProject(customer, 1_000 + count) : limitKey(customer, { requestsPerMinuteMax: 1_000 + count, note: String(count) }),
  );
  await Promise.all([...requests, ...changes]);
});
