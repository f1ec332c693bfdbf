import { budgetSet, budgetValues } from '#contracts/billing/budgets.js';
import { projectUpdate } from '#contracts/billing/projects.js';
import { requestShow } from '#contracts/billing/requests.js';
import { usageQuery } from '#contracts/billing/usage.js';
import { stack } from '#testing/stack.js';
import { connectAdministrator, createTenant, type Tenant } from '#testing/tenant.js';

/** End users and tags in each format: how a request names them, where they are shown, and budgets of each. */

const { gatewayUrl } = stack();
const MESSAGES = [{ role: 'user', content: 'Hello' }];
const FORMATS: [path: string, body: (user: string) => object][] = [
  ['/v1/chat/completions', (user) => ({ messages: MESSAGES, max_tokens: 50, user, metadata: { team: 'search' } })],
  ['/v1/responses', (user) => ({ input: 'Hello', max_output_tokens: 50, safety_identifier: user, metadata: { team: 'search' } })],
  ['/v1/messages', (user) => ({ messages: MESSAGES, max_tokens: 50, metadata: { user_id: user, team: 'search' } })],
];

let tenant: Tenant;
const administrator = await connectAdministrator(stack());
beforeEach(async () => {
  tenant = await createTenant(administrator);
});
afterAll(() => administrator.close());

const GROUPS = ['user', 'tag', 'client', 'session', 'agent'] as const;
/** Both requests of a test differ in user, tag, session and agent. */
const PAIRS = GROUPS.flatMap((one, at) => GROUPS.slice(at + 1).map((other) => [one, other] as const));

interface UsageReply {
  data: ({ requests: number; cost_pico_usd: string } & Record<string, unknown>)[];
}

async function get(path: string): Promise<UsageReply> {
  const response = await fetch(gatewayUrl + path, { headers: { authorization: `Bearer ${tenant.apiKey}` } });
  return (await response.json()) as UsageReply;
}

async function send(path: string, body: object, headers: Record<string, string> = {}) {
  const response = await fetch(`${gatewayUrl}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/json', 'user-agent': 'tests/1.0', ...headers },
    body: JSON.stringify({ model: 'sim-fast', ...body }),
  });
  const reply = (await response.json()) as { error?: object };
  return { status: response.status, error: reply.error, requestId: response.headers.get('x-request-id') ?? '' };
}

test.each(FORMATS)('%s: user, session, agent, client and tags are on the request and in usage', async (path, body) => {
  const { accountId, projectId } = tenant;
  await administrator.request(projectUpdate, { projectId, tags: ['team'] });
  const { status, requestId } = await send(path, body('alice'), {
    ...{ 'x-session-id': 's-1', 'x-tollgate-tags': 'env=prod' },
    ...{ 'x-agent-id': 'a-1', 'x-parent-agent-id': 'a-0' },
  });
  const shown = await administrator.request(requestShow, { requestId });
  expect([status, shown.attribution]).toEqual([
    200,
    { user: 'alice', session: 's-1', agent: 'a-1', 'parent-agent': 'a-0', client: 'tests', 'tag:env': 'prod', 'tag:team': 'search' },
  ]);
  await send(path, body('bob'));
  const from = new Date(Date.now() - 60_000).toISOString();
  const { rows } = await administrator.request(usageQuery, { accountId, from, groupBy: ['user', 'tag'], tag: 'env' });
  expect(rows.map(({ user, tag, requests }) => [user, tag, requests])).toEqual([
    ['alice', 'prod', 1],
    ['bob', null, 1],
  ]);
  expect(await get(`/v1/requests/${requestId}`)).toMatchObject({
    ...{ user: 'alice', client: 'tests', session: 's-1', agent: 'a-1', parent_agent: 'a-0', tags: { env: 'prod', team: 'search' } },
    ...{ price: { price_plan: null }, credit_notes: [] },
  });
  const { data: total } = await get('/v1/usage');
  for (const [one, other] of PAIRS) {
    const { data } = await get(`/v1/usage?group_by=${one},${other}&tag=env`);
    expect(data.map((row) => [row[one], row[other], row.requests])).toHaveLength(2);
    expect(data.reduce((sum, { cost_pico_usd: cost }) => sum + BigInt(cost), 0n)).toBe(BigInt(total[0]?.cost_pico_usd ?? 0));
  }
});

/** Headers of an agent and a subagent of it, as its client sends them, and what usage has of each. */
const AGENTS: [client: string, path: string, sent: Record<string, string>[], shown: object[]][] = [
  [
    'Claude Code',
    '/v1/messages',
    [
      { 'x-claude-code-session-id': 's', 'x-claude-code-agent-id': 'b', 'x-claude-code-parent-agent-id': 'a' },
      { 'x-claude-code-session-id': 's', 'x-claude-code-agent-id': 'a' },
      { 'x-claude-code-session-id': 's' },
    ],
    [
      { session: 's', agent: null, parent_agent: null, requests: 1 },
      { session: 's', agent: 'a', parent_agent: null, requests: 1 },
      { session: 's', agent: 'b', parent_agent: 'a', requests: 1 },
    ],
  ],
  [
    'Codex',
    '/v1/responses',
    [
      { 'session-id': 't-0', 'thread-id': 't-0' },
      { 'session-id': 't-0', 'thread-id': 't-1', 'x-codex-parent-thread-id': 't-0', 'x-openai-subagent': 'collab_spawn' },
    ],
    [
      { session: 't-0', agent: 't-0', parent_agent: null, requests: 1 },
      { session: 't-0', agent: 't-1', parent_agent: 't-0', requests: 1 },
    ],
  ],
];

test.each(AGENTS)('usage has the agents of %s, each with the agent that started it', async (_client, path, sent, shown) => {
  const [, body] = FORMATS.find(([of]) => of === path) as (typeof FORMATS)[number];
  for (const headers of sent) expect(await send(path, body('alice'), headers)).toMatchObject({ status: 200 });
  const { data } = await get('/v1/usage?group_by=session,agent');
  expect(data).toEqual(shown.map((row) => expect.objectContaining(row)));
});

test.each(FORMATS)('%s: each agent has a budget of its own [limit-budget]', async (path, body) => {
  const { accountId, projectId } = tenant;
  const limitPicoUsd = '40000000';
  await administrator.request(budgetSet, { accountId, projectId, dimension: 'agent', period: 'day', limitPicoUsd });
  expect(await sendUntilRefused(path, body('alice'), { 'x-agent-id': 'a-1' })).toMatchObject({
    status: 402,
    error: { message: expect.stringMatching(`^The daily budget of agent a-1 in project ${projectId} is `) },
  });
  expect((await send(path, body('alice'), { 'x-agent-id': 'a-2', 'x-parent-agent-id': 'a-1' })).status).toBe(200);
});

test.each(FORMATS)('%s: each user has a budget of its own [limit-budget]', async (path, body) => {
  const { accountId, projectId } = tenant;
  const limitPicoUsd = '40000000';
  const budget = await administrator.request(budgetSet, { accountId, projectId, dimension: 'user', period: 'day', limitPicoUsd });
  const refused = await sendUntilRefused(path, body('alice'));
  expect(refused).toEqual({
    status: 402,
    error: expect.objectContaining({
      type: path === '/v1/messages' ? 'billing_error' : 'insufficient_balance_error',
      message: expect.stringMatching(
        new RegExp(
          `^The daily budget of user alice in project ${projectId} is \\$0\\.00004: \\$0\\.0000\\d+ spent, \\$0\\.00 held by running requests, \\$0\\.0000\\d+ left; `,
        ),
      ),
    }),
  });
  expect((await send(path, body('bob'))).status).toBe(200);
  const { values } = await administrator.request(budgetValues, { accountId, budgetId: budget.budgetId });
  expect(values.map(({ value, heldPicoUsd }) => [value, heldPicoUsd])).toEqual([
    ['alice', '0'],
    ['bob', '0'],
  ]);
  expect(values.every(({ spentPicoUsd = '0' }) => BigInt(spentPicoUsd) <= BigInt(limitPicoUsd))).toBe(true);
});

test.each(FORMATS)('%s: a run ends at the budget that its requests name, below that of each session [limit-budget]', async (path, body) => {
  const { accountId, projectId } = tenant;
  const run = { 'x-session-id': 'run-1', 'x-tollgate-session-budget': '0.00004' };
  expect(await send(path, body('alice'), run)).toMatchObject({
    status: 400,
    error: { message: expect.stringContaining('`x-tollgate-session-budget` lowers a budget of each session') },
  });
  const limitPicoUsd = '1000000000';
  const { budgetId } = await administrator.request(budgetSet, {
    accountId,
    projectId,
    dimension: 'session',
    period: 'total',
    limitPicoUsd,
  });
  expect(await sendUntilRefused(path, body('alice'), run)).toEqual({
    status: 402,
    error: expect.objectContaining({
      message: expect.stringMatching(
        new RegExp(
          `^The total budget of session run-1 in project ${projectId} is \\$0\\.00004: \\$0\\.0000\\d+ spent, \\$0\\.00 held by running requests, `,
        ),
      ),
    }),
  });
  // What the run has named stays, and another run has its own.
  expect((await send(path, body('alice'), { 'x-session-id': 'run-1' })).status).toBe(402);
  expect((await send(path, body('alice'), { 'x-session-id': 'run-2' })).status).toBe(200);
  const { values } = await administrator.request(budgetValues, { accountId, budgetId });
  expect(values.map(({ value, limitPicoUsd, heldPicoUsd }) => [value, limitPicoUsd, heldPicoUsd])).toEqual([
    ['run-1', '40000000', '0'],
    ['run-2', undefined, '0'],
  ]);
});

async function sendUntilRefused(path: string, body: object, headers: Record<string, string> = {}) {
  for (;;) {
    const { status, error } = await send(path, body, headers);
    if (status !== 200) return { status, error };
  }
}
