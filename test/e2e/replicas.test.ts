import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { budgetList, budgetSet } from '#contracts/billing/budgets.js';
import { holdList } from '#contracts/billing/holds.js';
import { computeCost, type Price } from '#money/price.js';
import { longOr } from '#testing/long-run.js';
import { createTenant, readBalance, type Tenant, untilNoHolds } from '#testing/tenant.js';
import { type Answer, ManyReplicas } from '../chaos/many-replicas.js';
import { SteadyTraffic } from '../chaos/steady-traffic.js';

/** Limits and money hold over all replicas: 4 gateways and 3 billing services, or 2 replicas of all in one process, are as exact as one. */
const WINDOW_MS = 60_000;
const ANSWERED_MS = 30_000;
const KEY_CHANGE_MS = 1_000;
/** Price of `sim-fast` in config/catalog.yaml. */
const PRICE: Price = { inputPicoUsd: 150_000n, cachedInputPicoUsd: 15_000n, outputPicoUsd: 600_000n };

let system: ManyReplicas;
beforeAll(async () => {
  system = await ManyReplicas.start();
});
afterAll(() => system?.stop());

interface Burst {
  answered: Answer[];
  all: Promise<Answer[]>;
}

/** Sends requests at once, to each gateway in turn. */
function burst(tenant: Tenant, count: number): Burst {
  const answered: Answer[] = [];
  const all = Array.from({ length: count }, async (_, index) => {
    const answer = await system.ask(tenant.apiKey, index, 'tokens=10');
    answered.push(answer);
    return answer;
  });
  const whole = { answered, all: Promise.all(all) };
  whole.all.catch(() => undefined); // a test that fails earlier reports its own failure
  return whole;
}

async function untilAnswered({ answered }: Burst, least: number): Promise<void> {
  for (const deadline = performance.now() + ANSWERED_MS; answered.length < least; await delay(20)) {
    if (performance.now() > deadline) throw new Error(`${answered.length} of ${least} were answered: ${JSON.stringify(count(answered))}`);
  }
}

function count(answers: Answer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, body } of answers) {
    const outcome = `${status} ${body.error?.code ?? 'completed'}`;
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  }
  return counts;
}

async function heldNow({ accountId }: Tenant): Promise<number> {
  return (await system.administrator.request(holdList, { accountId })).holds.length;
}

function computeAnswerCost({ body: { usage } }: Answer): bigint {
  const { prompt_tokens: promptTokens = 0, completion_tokens: outputTokens = 0 } = usage ?? {};
  return computeCost({ promptTokens, cachedTokens: 0, outputTokens }, PRICE);
}

test('of 500 requests at once on money for ten, over 4 gateways and 3 billing services, ten run and pay their cost [hold-covered]', async () => {
  const poor = await createTenant(system.administrator, { usd: '0' });
  const refusal = await system.ask(poor.apiKey, 0, 'tokens=10');
  const hold = BigInt(Math.round(Number(/\$(\d+\.\d+)/.exec(refusal.body.error?.message ?? '')?.[1]) * 1e12));
  const money = hold * 11n - 1n; // enough for ten, and one pico-dollar short of eleven
  const tenant = await createTenant(system.administrator, { usd: `0.${money.toString().padStart(12, '0')}` });

  let requests: Burst | undefined;
  await system.whileUpstreamStandsStill(async () => {
    requests = burst(tenant, 500);
    await untilAnswered(requests, 490);
    expect(await heldNow(tenant)).toBe(10);
    const { available_pico_usd, reserved_pico_usd } = await readBalance(system.gatewayUrl(1), tenant.apiKey);
    expect({ available_pico_usd, reserved_pico_usd }).toEqual({
      available_pico_usd: `${hold - 1n}`,
      reserved_pico_usd: `${hold * 10n}`,
    });
  });
  const answers = await requests?.all;
  expect(count(answers ?? [])).toEqual({ '200 completed': 10, '402 insufficient_balance': 490 });
  const cost = answers?.filter(({ status }) => status === 200).reduce((sum, answer) => sum + computeAnswerCost(answer), 0n) ?? 0n;
  const { balance_pico_usd, reserved_pico_usd } = await readBalance(system.gatewayUrl(2), tenant.apiKey);
  expect({ balance_pico_usd, reserved_pico_usd }).toEqual({ balance_pico_usd: `${money - cost}`, reserved_pico_usd: '0' });
});

test('500 requests that start as others end spend exactly the cost of the completed ones, and never more than the balance', async () => {
  const tenant = await createTenant(system.administrator, { usd: '0.0008' });
  const answers = await burst(tenant, 500).all;
  const completed = answers.filter(({ status }) => status === 200);
  expect(Object.keys(count(answers)).sort()).toEqual(['200 completed', '402 insufficient_balance']);
  const cost = completed.reduce((sum, answer) => sum + computeAnswerCost(answer), 0n);
  expect(cost).toBeLessThanOrEqual(800_000_000n);
  const { balance_pico_usd, reserved_pico_usd } = await readBalance(system.gatewayUrl(3), tenant.apiKey);
  expect({ balance_pico_usd, reserved_pico_usd }).toEqual({ balance_pico_usd: `${800_000_000n - cost}`, reserved_pico_usd: '0' });
});

/** The tests of billing have each; here one shows that it holds over all replicas. */
const BUDGETED = longOr(['project'], ['account', 'project', 'key']) as ('account' | 'project' | 'key')[];

test.each(BUDGETED)(
  '500 requests that start as others end never spend more than the budget of the %s, which counts exactly what they cost',
  async (target) => {
    const { administrator } = system;
    const tenant = await createTenant(system.administrator);
    const { accountId, projectId, keyId } = tenant;
    const scope = { account: {}, project: { projectId }, key: { keyId } }[target];
    await administrator.request(budgetSet, { accountId, ...scope, period: 'total', limitPicoUsd: '800000000' });
    const answers = await burst(tenant, 500).all;
    expect(Object.keys(count(answers)).sort()).toEqual(['200 completed', '402 insufficient_balance']);
    const cost = answers.filter(({ status }) => status === 200).reduce((sum, answer) => sum + computeAnswerCost(answer), 0n);
    expect(cost).toBeLessThanOrEqual(800_000_000n);
    const { budgets } = await administrator.request(budgetList, { accountId });
    expect(budgets.map(({ spentPicoUsd, heldPicoUsd }) => ({ spentPicoUsd, heldPicoUsd }))).toEqual([
      { spentPicoUsd: `${cost}`, heldPicoUsd: '0' },
    ]);
  },
);

test('concurrency is limited over all replicas: eight of eighty run, and eight more when those have ended', async () => {
  const tenant = await createTenant(system.administrator, { concurrencyMax: 8 });
  for (const _round of [1, 2]) {
    let requests: Burst | undefined;
    await system.whileUpstreamStandsStill(async () => {
      requests = burst(tenant, 80);
      await untilAnswered(requests, 72);
      expect(await heldNow(tenant)).toBe(8);
    });
    const answers = (await requests?.all) ?? [];
    expect(count(answers)).toEqual({ '200 completed': 8, '429 concurrency_limit': 72 });
    expect(answers.filter(({ status, retryAfter }) => status === 429 && retryAfter < 1)).toEqual([]);
  }
});

test('requests per minute are limited over all replicas, and every refusal has the time at which the first is a minute old', async () => {
  const tenant = await createTenant(system.administrator, { requestsPerMinuteMax: 20 });
  const answers = await burst(tenant, 200).all;
  expect(count(answers)).toEqual({ '200 completed': 20, '429 rate_limit_exceeded': 180 });
  const admitted = answers.filter(({ status }) => status === 200);
  // The first was admitted between its request and the first answer.
  const [noSooner, noLater] = [
    Math.min(...admitted.map(({ sentAt }) => sentAt)),
    Math.min(...admitted.map(({ receivedAt }) => receivedAt)),
  ];
  const seconds = (ms: number): number => Math.ceil(ms / 1_000);
  const wrong = answers
    .filter(({ status }) => status === 429)
    .filter(({ sentAt, receivedAt, retryAfter }) => {
      const [least, most] = [seconds(noSooner + WINDOW_MS - receivedAt), seconds(noLater + WINDOW_MS - sentAt)];
      return retryAfter < least || retryAfter > most;
    });
  expect(wrong).toEqual([]);
});

test('a change of a key whose announcement is lost is in force on every gateway within a second', async () => {
  const tenant = await createTenant(system.administrator);
  const urls = Object.values(system.gatewayUrls);
  const modelsAt = async (url: string): Promise<string[]> => {
    const response = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${tenant.apiKey}` } });
    const { data } = (await response.json()) as { data: { id: string }[] };
    return data.map(({ id }) => id);
  };
  const database = new pg.Client({ connectionString: system.stack.databaseUrl });
  await database.connect();
  for (const models of [['sim-fast'], ['sim-tiny']]) {
    // From here on each gateway knows the key and decides alone.
    await Promise.all(urls.map(modelsAt));
    // As from a billing service that dies between the commit and the announcement.
    const record = `billing.record_audit('{"actor": "test"}', 'key.update', NULL, 'key/' || id, NULL, NULL, NULL)`;
    await database.query(
      `WITH changed AS (UPDATE billing.api_key SET models = $2 WHERE id = $1 RETURNING id) SELECT ${record} FROM changed`,
      [tenant.keyId, models],
    );
    const changedAt = Date.now();
    const untilInForce = async (url: string): Promise<boolean> => {
      for (;;) {
        const sentAt = Date.now();
        const listed = await modelsAt(url);
        if (listed.join() === models.join()) return true;
        if (sentAt > changedAt + KEY_CHANGE_MS) return false;
        await delay(20);
      }
    };
    expect(await Promise.all(urls.map(untilInForce))).toEqual(urls.map(() => true));
  }
  await database.end();
});

test('replicas of every service are replaced under traffic, and no request in any format fails', async () => {
  const tenant = await createTenant(system.administrator);
  const traffic = new SteadyTraffic(system.gatewayUrls, tenant);
  for (const name of system.names.filter((one) => /-[12]$/.test(one))) await traffic.without(name, () => system.replace(name));
  const stories = await traffic.stop();
  const failures = stories.filter(({ outcome }) => outcome.kind !== 'completed');
  expect(failures.map(({ name, ask, outcome }) => ({ name, stream: ask.stream, outcome }))).toEqual([]);
  expect(stories.length).toBeGreaterThan(40);
  await untilNoHolds(system.administrator, tenant.accountId, 10_000);
});
