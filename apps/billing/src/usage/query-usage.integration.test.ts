import { randomUUID } from 'node:crypto';
import type { Attribution } from '#contracts/billing/attribution.js';
import { ATTRIBUTION_GROUPS, type UsageGroup, type UsageQueryRequest, type UsageRow } from '#contracts/billing/usage.js';
import type { OutputSource, PromptSource } from '#inference/usage.js';
import { picoUsd } from '#money/pico-usd.js';
import { type Customer, LedgerFixture, makeReserve, makeUsage, PRICE } from '../../test/ledger-fixture.js';
import { readBalance } from '../balance/read-balance.js';
import { grantPlan } from '../ledger/grant-plan.js';
import { listMovements } from '../ledger/list-movements.js';
import { queryUsage } from './query-usage.js';

const ledger = await LedgerFixture.open();
afterAll(() => ledger.close());

const MONDAY = '2026-03-02T00:00:00.000Z';
const HOUR_MS = 3_600_000;

/** A settled request. */
interface Used {
  at: number;
  projectId: string;
  keyId: string;
  model: string;
  prompt: number;
  cached: number;
  output: number;
  promptSource: PromptSource;
  outputSource: OutputSource;
  attribution?: Attribution;
}

async function use(customer: Customer, used: Used[]): Promise<void> {
  let clock = 0;
  const lanes = ledger.newLanes({ now: () => clock });
  for (const { at, projectId, keyId, model, prompt, cached, output, promptSource, outputSource, attribution } of used) {
    clock = at;
    const reserve = { ...makeReserve({ ...customer, projectId, keyId }, 10_000n), model, attribution };
    expect(await lanes.reserve(reserve)).toMatchObject({ status: 'held' });
    const usage = { ...makeUsage(prompt, output, cached), promptSource, outputSource };
    await lanes.settle({ holdId: reserve.holdId, accountId: customer.accountId, reason: 'completed', usage });
  }
}

function makeAttribution(n: number): Attribution {
  return {
    user: `user-${n % 4}`,
    client: n % 2 === 0 ? 'OpenAI/Python' : 'curl',
    ...(n % 3 > 0 && { session: `s-${n % 5}` }),
    ...(n % 4 > 0 && { agent: `a-${n % 4}` }),
    ...(n % 4 > 1 && { 'parent-agent': `a-${(n % 4) - 1}` }),
    ...(n % 5 > 0 && { 'tag:team': n % 5 === 1 ? 'search' : 'ärzte' }),
  };
}

/** Adds a second project and key to an account. */
async function another({ accountId }: Customer): Promise<Customer> {
  const { projectId, keyId } = await ledger.customer();
  await ledger.sql.query('UPDATE billing.project SET account_id = $1 WHERE id = $2', [accountId, projectId]);
  return { accountId, projectId, keyId };
}

/** Computes the same sums without SQL. */
function model(used: Used[], request: UsageQueryRequest): UsageRow[] {
  const { step, groupBy = [] } = request;
  const groups = new Map<string, UsageRow>();
  for (const one of used) {
    if (one.at < Date.parse(request.from) || one.at >= Date.parse(request.to as string)) continue;
    if (request.projectId && request.projectId !== one.projectId) continue;
    if (request.keyId && request.keyId !== one.keyId) continue;
    if (request.model && request.model !== one.model) continue;
    const start = new Date(
      Math.floor(one.at / (step === 'day' ? 24 * HOUR_MS : HOUR_MS)) * (step === 'day' ? 24 * HOUR_MS : HOUR_MS),
    ).toISOString();
    const key = {
      ...(step && { start }),
      ...(groupBy.includes('project') && { projectId: one.projectId }),
      ...(groupBy.includes('key') && { keyId: one.keyId }),
      ...(groupBy.includes('model') && { model: one.model }),
      ...(groupBy.includes('user') && { user: one.attribution?.user ?? null }),
      ...(groupBy.includes('tag') && { tag: one.attribution?.[`tag:${request.tag}`] ?? null }),
      ...(groupBy.includes('client') && { client: one.attribution?.client ?? null }),
      ...(groupBy.includes('session') && { session: one.attribution?.session ?? null }),
      ...(groupBy.includes('agent') && { agent: one.attribution?.agent ?? null }),
      ...(groupBy.includes('child') && { child: one.attribution?.child ?? null }),
    };
    const id = JSON.stringify(Object.values(key).map((value) => value ?? ''));
    const zero = {
      requests: 0,
      estimatedRequests: 0,
      promptTokens: 0,
      cachedTokens: 0,
      outputTokens: 0,
      reasoningTokens: 0,
      costPicoUsd: '0',
      forfeitedPicoUsd: '0',
    };
    const parentAgent = groupBy.includes('agent') ? one.attribution?.['parent-agent'] : undefined;
    const row = groups.get(id) ?? { ...key, ...(parentAgent && { parentAgent }), ...zero };
    row.requests += 1;
    row.estimatedRequests += one.promptSource === 'reported' && one.outputSource === 'reported' ? 0 : 1;
    row.promptTokens += one.prompt;
    row.cachedTokens += one.cached;
    row.outputTokens += one.output;
    const { inputPicoUsd, outputPicoUsd } = PRICE;
    row.costPicoUsd = String(
      BigInt(row.costPicoUsd) + BigInt(one.prompt - one.cached) * BigInt(inputPicoUsd) + BigInt(one.output) * BigInt(outputPicoUsd),
    );
    groups.set(id, row);
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}

async function everyPage(request: UsageQueryRequest, limit: number): Promise<UsageRow[]> {
  const rows: UsageRow[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await queryUsage(ledger.prisma, { ...request, limit, ...(cursor && { cursor }) });
    expect(page.rows.length).toBeLessThanOrEqual(limit);
    rows.push(...page.rows);
    cursor = page.nextCursor;
  }
  return rows;
}

describe('every grouping of a week of usage equals a plain sum, at once and page by page', () => {
  let customer: Customer;
  let used: Used[];
  beforeAll(async () => {
    customer = await ledger.customer({ topup: 10n ** 12n });
    const who = [customer, await another(customer)];
    const models = ['sim-fast', 'Sim-large', 'ähnlich'];
    used = Array.from({ length: 120 }, (_, n) => ({
      at: Date.parse(MONDAY) + ((n * 7_919) % (7 * 24 * 60)) * 60_000,
      projectId: who[n % 2]?.projectId as string,
      keyId: who[n % 2]?.keyId as string,
      model: models[n % 3] as string,
      prompt: 10 + n,
      cached: n % 11,
      output: n % 5,
      promptSource: n % 4 === 0 ? ('estimated' as const) : ('reported' as const),
      ...(n % 7 > 0 && { attribution: makeAttribution(n) }),
      outputSource: (['reported', 'counted', 'reported', 'reported', 'floor', 'reported'] as const)[n % 6] ?? 'reported',
    }));
    await use(customer, used);
    const stranger = await ledger.customer({ topup: 10n ** 12n });
    await use(stranger, [{ ...(used[0] as Used), ...stranger }]);
  });

  const groupings: UsageGroup[][] = [[], ['model'], ['key', 'project'], ['project', 'key', 'model']];
  test.each([undefined, 'hour', 'day'].flatMap((step) => groupings.map((groupBy) => [step, groupBy] as const)))(
    '%s by %j',
    async (step, groupBy) => {
      const request = {
        accountId: customer.accountId,
        from: MONDAY,
        to: '2026-03-09',
        groupBy,
        ...(step && { step }),
      } as UsageQueryRequest;
      const expected = model(used, request);
      expect((await queryUsage(ledger.prisma, { ...request, limit: 1_000 })).rows).toEqual(expected);
      expect(await everyPage(request, 7)).toEqual(expected);
    },
  );

  test('any two of key, model, user, tag, client, session, agent and child key sum up to the total', async () => {
    const request = { accountId: customer.accountId, from: MONDAY, to: '2026-03-09', tag: 'team' };
    const groups = ['key', 'model', ...ATTRIBUTION_GROUPS] as const;
    const pairs = groups.flatMap((one, at) => groups.slice(at + 1).map((other) => [one, other]));
    const total = model(used, request).map(({ costPicoUsd }) => BigInt(costPicoUsd));
    for (const groupBy of pairs) {
      const rows = await everyPage({ ...request, groupBy }, 9);
      expect(rows).toEqual(model(used, { ...request, groupBy }));
      expect([rows.reduce((sum, { costPicoUsd }) => sum + BigInt(costPicoUsd), 0n)]).toEqual(total);
    }
  });

  test.each([
    ['of all accounts', { accountId: undefined }, 'accountId'],
    ['of 32 days', { from: '2026-02-05' }, 'from'],
    ['by a tag without its name', { tag: undefined }, 'tag'],
    ['by a tag whose name is none', { tag: "team'" }, 'tag'],
  ])('usage by tag %s is refused', async (_, change, param) => {
    const request = { accountId: customer.accountId, from: MONDAY, to: '2026-03-09', groupBy: ['tag' as const], tag: 'team', ...change };
    await expect(queryUsage(ledger.prisma, request)).rejects.toMatchObject({ code: 'invalid_request', param });
  });

  test('filters by project, key or model; from is included, to is not', async () => {
    const [first] = used as [Used];
    const at = new Date(first.at).toISOString();
    const { accountId } = customer;
    const oneHour = { accountId, from: at, to: new Date(first.at + HOUR_MS).toISOString() };
    expect((await queryUsage(ledger.prisma, oneHour)).rows).toEqual(model(used, oneHour));
    expect((await queryUsage(ledger.prisma, { ...oneHour, from: '2026-03-01', to: at })).rows).toEqual([]);
    const week = { accountId, from: MONDAY, to: '2026-03-09' };
    for (const filter of [{ projectId: first.projectId }, { keyId: first.keyId }, { model: first.model }]) {
      expect((await queryUsage(ledger.prisma, { ...week, ...filter })).rows).toEqual(model(used, { ...week, ...filter }));
    }
  });
});

test('the first page fixes the end: later usage is in none of the pages', async () => {
  const customer = await ledger.customer({ topup: 1_000_000n });
  const { accountId, projectId, keyId } = customer;
  const one = {
    at: Date.now() - HOUR_MS,
    projectId,
    keyId,
    prompt: 1,
    cached: 0,
    output: 0,
    promptSource: 'reported' as const,
    outputSource: 'reported' as const,
  };
  await use(
    customer,
    ['a', 'b', 'c'].map((model) => ({ ...one, model })),
  );
  const request: UsageQueryRequest = { accountId, from: new Date(Date.now() - 2 * HOUR_MS).toISOString(), groupBy: ['model'], limit: 2 };
  const first = await queryUsage(ledger.prisma, request);
  await use(
    customer,
    ['c', 'd'].map((model) => ({ ...one, model, at: Date.now() })),
  );
  const second = await queryUsage(ledger.prisma, { ...request, cursor: first.nextCursor as string }, new Date(Date.now() + HOUR_MS));
  expect([...first.rows, ...second.rows].map(({ model, requests }) => [model, requests])).toEqual([
    ['a', 1],
    ['b', 1],
    ['c', 1],
  ]);
  expect({ to: second.to, nextCursor: second.nextCursor }).toEqual({ to: first.to, nextCursor: null });
});

test.each([
  ['above', makeUsage(10, 7), { promptTokens: 0, outputTokens: 7, costPicoUsd: '14' }],
  ['below', makeUsage(4), { promptTokens: -6, outputTokens: 0, costPicoUsd: '-6' }],
])('a late settlement %s the bill counts at its own time, as the difference; past sums stay', async (_, usage, difference) => {
  const customer = await ledger.customer({ topup: 1_000_000n });
  const { accountId } = customer;
  let clock = Date.parse(MONDAY);
  const lanes = ledger.newLanes({ now: () => clock });
  const reserve = makeReserve(customer, 100n);
  await lanes.reserve(reserve);
  await ledger.sql.query(`UPDATE billing.hold SET meter_prompt_tokens = 10, meter_sequence = 1 WHERE id = $1`, [reserve.holdId]);
  clock += HOUR_MS;
  await lanes.settle({ holdId: reserve.holdId, accountId, reason: 'lease-expired' });
  const request: UsageQueryRequest = { accountId, from: MONDAY, to: '2026-03-03', step: 'hour' };
  const reaped = await queryUsage(ledger.prisma, request);
  clock += HOUR_MS;
  await lanes.settle({ holdId: reserve.holdId, accountId, reason: 'completed', usage });
  const row = {
    requests: 1,
    estimatedRequests: 1,
    promptTokens: 10,
    cachedTokens: 0,
    outputTokens: 0,
    reasoningTokens: 0,
    costPicoUsd: '10',
    forfeitedPicoUsd: '0',
  };
  expect(reaped.rows).toEqual([{ start: '2026-03-02T01:00:00.000Z', ...row }]);
  expect((await queryUsage(ledger.prisma, request)).rows).toEqual([
    ...reaped.rows,
    { ...row, start: '2026-03-02T02:00:00.000Z', requests: 0, estimatedRequests: 0, ...difference },
  ]);
});

test('movements less usage and forfeits equal the balance plus ended-plan money of open holds', async () => {
  const customer = await ledger.customer({ topup: 1_000n });
  const { accountId } = customer;
  const lanes = ledger.newLanes({ times: { leaseMs: 60_000, reaperGraceMs: -120_000 } });
  const [settled, late, open] = [makeReserve(customer, 100n), makeReserve(customer, 50n), makeReserve(customer, 30n)];
  const endsAt = new Date(Date.now() + HOUR_MS);
  const grant = (amount: bigint) => grantPlan(ledger.sql, { grantId: randomUUID(), accountId, amount: picoUsd(amount), endsAt });
  await grant(500n);
  for (const reserve of [settled, late, open]) await lanes.reserve(reserve);
  await ledger.sql.query('UPDATE billing.hold SET meter_sequence = 1, meter_prompt_tokens = 40 WHERE id = $1', [late.holdId]);
  await lanes.settle({ holdId: late.holdId, accountId, reason: 'lease-expired' });
  await grant(7n);
  await lanes.settle({ holdId: settled.holdId, accountId, reason: 'completed', usage: makeUsage(60) });
  await lanes.settle({ holdId: late.holdId, accountId, reason: 'completed', usage: makeUsage(25) });

  const { movements } = await listMovements(ledger.prisma, { accountId });
  const moved = movements.reduce((sum, { amountPicoUsd }) => sum + BigInt(amountPicoUsd), 0n);
  const from = new Date(Date.now() - HOUR_MS).toISOString();
  const { rows } = await queryUsage(ledger.prisma, { accountId, from }, new Date(Date.now() + HOUR_MS));
  const balance = await readBalance(ledger.prisma, accountId);
  expect(rows).toMatchObject([{ requests: 2, costPicoUsd: '85', forfeitedPicoUsd: '55' }]);
  expect(balance).toMatchObject({ topup_balance_pico_usd: '1000', plan_balance_pico_usd: '7', expiredHeld: '30' });
  expect(moved - 85n - 55n).toBe(BigInt(balance.balance_pico_usd) + BigInt(balance.expiredHeld));
});

test('sums are exact beyond what a float can count', async () => {
  const customer = await ledger.customer({ topup: 10n ** 30n });
  const { accountId } = customer;
  const lanes = ledger.newLanes();
  const price = { version: 1, inputPicoUsd: '999999999', cachedInputPicoUsd: '0', outputPicoUsd: '0' };
  for (let count = 0; count < 20; count++) {
    const reserve = { ...makeReserve(customer, 10n ** 18n), price };
    await lanes.reserve(reserve);
    await lanes.settle({ holdId: reserve.holdId, accountId, reason: 'completed', usage: makeUsage(999_999_999) });
  }
  const { rows } = await queryUsage(
    ledger.prisma,
    { accountId, from: new Date(Date.now() - HOUR_MS).toISOString() },
    new Date(Date.now() + HOUR_MS),
  );
  expect(rows).toMatchObject([{ requests: 20, promptTokens: 19_999_999_980, costPicoUsd: String(20n * 999_999_999n ** 2n) }]);
});

test('an account without usage has no rows; tombstones have no usage', async () => {
  const customer = await ledger.customer({ topup: 1n });
  const { accountId } = customer;
  await ledger.newLanes().settle({ holdId: randomUUID(), accountId, reason: 'released' });
  const from = new Date(Date.now() - HOUR_MS).toISOString();
  const to = new Date(Date.now() + HOUR_MS).toISOString();
  expect(await queryUsage(ledger.prisma, { accountId, from, to, groupBy: ['model'] })).toEqual({ from, to, rows: [], nextCursor: null });
  expect((await queryUsage(ledger.prisma, { accountId, from, to })).rows).toEqual([]);
});

test('an invalid query is refused, naming the field', async () => {
  const { accountId } = await ledger.customer();
  const asking = (request: Partial<UsageQueryRequest>) =>
    expect(queryUsage(ledger.prisma, { accountId, from: MONDAY, to: '2026-03-09', ...request })).rejects;
  await asking({ from: '2026-03-09' }).toMatchObject({ code: 'invalid_request', param: 'to' });
  await asking({ from: '2025-03-01' }).toMatchObject({ code: 'invalid_request', param: 'from' });
  await asking({ cursor: 'x' }).toMatchObject({ code: 'invalid_request', param: 'cursor' });
  await asking({ accountId: randomUUID() }).toMatchObject({ code: 'not_found', param: 'accountId' });
  const future = { accountId, from: '2999-01-01' };
  await expect(queryUsage(ledger.prisma, future)).rejects.toMatchObject({ code: 'invalid_request', param: 'from' });
});

test('the query of one account uses its index', async () => {
  await ledger.sql.query('BEGIN');
  await ledger.sql.query('SET LOCAL enable_seqscan = off');
  const plan = await ledger.sql.query<{ 'QUERY PLAN': string }>(
    `EXPLAIN SELECT sum(cost) FROM billing.settlement
     WHERE account_id = '${randomUUID()}' AND project_id IS NOT NULL AND settled_at >= '2026-03-02' AND settled_at < '2026-03-09'`,
  );
  await ledger.sql.query('ROLLBACK');
  const text = plan.rows.map((row) => row['QUERY PLAN']).join('\n');
  expect(text).toMatch(/settlement_\w+_account_id_settled_at_idx[\s\S]*Index Cond: .*account_id = .*settled_at >= .*settled_at </);
});
