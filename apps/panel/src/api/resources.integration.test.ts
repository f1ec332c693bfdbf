import { readFileSync } from 'node:fs';
import { accountCreate, accountList, accountUpdate } from '#contracts/billing/accounts.js';
import { type Budget, type BudgetListReply, budgetList, budgetRemove, budgetSet } from '#contracts/billing/budgets.js';
import { keyCreate, keyList, keyRevoke, keyRotate, keyUpdate } from '#contracts/billing/keys.js';
import { topupCreate } from '#contracts/billing/money.js';
import { projectCreate, projectList, projectUpdate } from '#contracts/billing/projects.js';
import { requestList, requestShow } from '#contracts/billing/requests.js';
import { USAGE_GROUPS, usageQuery } from '#contracts/billing/usage.js';
import { type CatalogApplyRequest, catalogApply, modelList } from '#contracts/catalog.js';
import { type CatalogPlanRequest, catalogGet, catalogPlan } from '#contracts/catalog-revisions.js';
import { type UpstreamProbeEvent, upstreamProbe } from '#contracts/probe.js';
import { type PriceScheduleRequest, priceCancel, priceSchedule } from '#contracts/scheduled-prices.js';
import { ServiceError } from '#contracts/service-error.js';
import { MessagingError } from '#messaging/messaging.js';
import type { FakeEventStream } from '#testing/fake-messaging.js';
import { PANEL_URL, PanelFixture, type SignedIn } from '../../test/panel-fixture.js';
import { API_PREFIX } from '../http/routes.js';
import type { PanelErrorBody } from '../shapes/error.js';

const ACME = '0190a6f0-7c1e-7000-8000-00000000000a';
const OTHER = '0190a6f0-7c1e-7000-8000-00000000000f';
const PROJECT = '0190a6f0-7c1e-7000-8000-00000000000b';
const KEY = '0190a6f0-7c1e-7000-8000-00000000000c';

const account = (accountId: string) => ({
  accountId,
  name: 'Acme',
  status: 'active' as const,
  statusReason: null,
  lowBalancePicoUsd: null,
  creditLinePicoUsd: null,
  pricePlan: null,
  nextPricePlan: null,
  requestsPerMinuteMax: null,
  concurrencyMax: null,
  tokensPerMinuteMax: null,
  projectsMax: 100,
  activeKeysMax: 1_000,
  createdAt: '2027-01-01T00:00:00.000Z',
});
const project = {
  projectId: PROJECT,
  accountId: ACME,
  name: 'web',
  enabled: true,
  requestsPerMinuteMax: 600,
  concurrencyMax: 100,
  tokensPerMinuteMax: null,
  tags: [],
  createdAt: '2027-01-01T00:00:00.000Z',
};
const accountRow = (accountId: string) => ({
  ...account(accountId),
  balance: {
    object: 'balance' as const,
    currency: 'USD' as const,
    balance_pico_usd: '0',
    balance_usd: '0.00',
    reserved_pico_usd: '0',
    available_pico_usd: '0',
    topup_balance_pico_usd: '0',
    plan_balance_pico_usd: '0',
    plan_expires_at: null,
  },
});
const key = {
  ...{ keyId: KEY, rootKeyId: KEY, projectId: PROJECT, name: 'ci', note: null, lastFour: 'abcd', createdAt: '2027-01-01T00:00:00.000Z' },
  ...{
    createdBy: 'Ann',
    expiresAt: null,
    disabled: false,
    models: [],
    networks: [],
    requestsPerMinuteMax: null,
    concurrencyMax: null,
    tokensPerMinuteMax: null,
    replacedBy: null,
    revokedAt: null,
  },
};

/** Messages that billing got. */
let received: object[];

const panel = await PanelFixture.open();
const admin = await panel.person('admin');
const owner = await panel.person('owner', ACME);
const viewer = await panel.person('viewer', ACME);
const stranger = await panel.person('owner', OTHER);

afterAll(() => panel.close());

beforeEach(() => {
  received = [];
  const { messaging } = panel;
  const keep = <Reply>(reply: (message: never) => Reply) => {
    return (message: object) => {
      received.push(message);
      return reply(message as never);
    };
  };
  messaging.answer(accountList, ({ accountId }) => ({ accounts: [accountRow(accountId ?? ACME)], nextCursor: null }));
  messaging.answer(
    accountCreate,
    keep(() => account(ACME)),
  );
  messaging.answer(
    accountUpdate,
    keep(() => account(ACME)),
  );
  messaging.answer(projectList, ({ projectId = PROJECT }) => ({ projects: projectId === PROJECT ? [project] : [], nextCursor: null }));
  messaging.answer(
    projectCreate,
    keep(() => project),
  );
  messaging.answer(
    projectUpdate,
    keep(() => project),
  );
  const keyRow = { ...key, status: 'active' as const, lastUsedAt: null };
  messaging.answer(keyList, ({ keyId = KEY }) => ({ keys: keyId === KEY ? [keyRow] : [], nextCursor: null }));
  messaging.answer(
    keyCreate,
    keep(() => ({ ...key, key: 'tg_live_x' })),
  );
  messaging.answer(
    keyUpdate,
    keep(() => key),
  );
  messaging.answer(
    keyRotate,
    keep(() => ({ ...key, key: 'tg_live_x', replaced: key })),
  );
  messaging.answer(
    keyRevoke,
    keep(() => key),
  );
  messaging.answer(
    topupCreate,
    keep(() => ({ accountId: ACME, credited: true, topupBalancePicoUsd: '1' })),
  );
});

test('the OpenAPI document is public, and a copy that is current is a 304', async () => {
  const fetchDocument = async (etag?: string) =>
    fetch(`${await panel.app.getUrl()}/panel/openapi.json`, { headers: etag === undefined ? {} : { 'if-none-match': etag } });
  const first = await fetchDocument();
  expect([first.status, await first.json()]).toEqual([200, JSON.parse(readFileSync('apps/panel/openapi.json', 'utf8'))]);
  expect((await fetchDocument(first.headers.get('etag') ?? '')).status).toBe(304);
});

test('platform roles see all accounts, others their own', async () => {
  const query = '/accounts?limit=5';
  const all = await panel.send(query, { cookie: admin.cookie });
  expect([all.status, all.body]).toEqual([200, { accounts: [accountRow(ACME)], projects: [], nextCursor: null }]);
  expect((await panel.send(query, { cookie: stranger.cookie })).body).toEqual({
    accounts: [accountRow(OTHER)],
    projects: [],
    nextCursor: null,
  });
});

test('the account of the path is changed, whatever the body says', async () => {
  const body = { accountId: OTHER, name: 'Acme Ltd' };
  const reply = await panel.send(`/accounts/${ACME}`, { method: 'PATCH', body, cookie: admin.cookie });
  expect([reply.status, reply.body, received]).toEqual([200, account(ACME), [{ accountId: ACME, name: 'Acme Ltd' }]]);
});

test('creating is answered with 201 and passes the id on', async () => {
  const reply = await panel.send(`/accounts/${ACME}/projects`, {
    method: 'POST',
    body: { projectId: PROJECT, name: 'web' },
    cookie: owner.cookie,
  });
  expect([reply.status, reply.body, received]).toEqual([201, project, [{ projectId: PROJECT, accountId: ACME, name: 'web' }]]);
});

test.each([
  ['a project', 'PATCH', `/projects/${PROJECT}`, { name: 'x' }],
  ['the page of a project', 'GET', `/projects/${PROJECT}`, undefined],
  ['the keys of a project', 'GET', `/projects/${PROJECT}/keys`, undefined],
  ['a new key', 'POST', `/projects/${PROJECT}/keys`, {}],
  ['a key', 'DELETE', `/keys/${KEY}`, undefined],
  ['a change of a key', 'PATCH', `/keys/${KEY}`, { disabled: true }],
  ['a rotation of a key', 'POST', `/keys/${KEY}/rotate`, { graceSeconds: 0 }],
])('%s of another account is answered as one that does not exist', async (_, method, path, body) => {
  const missing = path.replace(/0[bc]($|\/)/, '99$1');
  const [others, none] = [
    await panel.send(path, { method, body, cookie: stranger.cookie }),
    await panel.send(missing, { method, body, cookie: owner.cookie }),
  ];
  const error = { message: expect.any(String), type: 'not_found_error', param: null, code: 'not_found' };
  expect([others.status, others.body, received]).toEqual([404, { error }, []]);
  expect([none.status, none.body]).toEqual([404, others.body]);
});

test('a budget is set in the account of the path, and removed there alone', async () => {
  const budgetId = KEY;
  const budget: Budget = {
    ...{
      budgetId,
      accountId: ACME,
      projectId: PROJECT,
      keyId: null,
      dimension: null,
      value: null,
      period: 'month',
      timeZone: 'UTC',
      startDay: 1,
      unit: 'usd',
      createdAt: '',
    },
    ...{ limitPicoUsd: '5', spentPicoUsd: '0', heldPicoUsd: '0', thresholds: [80], windowStart: null, resetsAt: null },
  };
  const calls: object[] = [];
  const keep = <Reply>(reply: Reply) => {
    return (message: object): Reply => {
      calls.push(message);
      return reply;
    };
  };
  panel.messaging.answer(budgetList, (): BudgetListReply => ({ budgets: [budget] }));
  panel.messaging.answer(budgetSet, keep(budget));
  panel.messaging.answer(budgetRemove, (message) => {
    calls.push(message);
    if (message.accountId !== ACME) throw new ServiceError('not_found', 'The account has no such budget.', 'budgetId');
    return budget;
  });
  const body = { accountId: OTHER, projectId: PROJECT, period: 'month', limitPicoUsd: '5' };
  const set = await panel.send(`/accounts/${ACME}/budgets`, { method: 'PUT', body, cookie: owner.cookie });
  const list = await panel.send(`/accounts/${ACME}/budgets`, { cookie: viewer.cookie });
  const remove = (accountId: string, { cookie }: SignedIn) =>
    panel.send(`/accounts/${accountId}/budgets/${budgetId}`, { method: 'DELETE', cookie });
  const [others, own] = [await remove(OTHER, stranger), await remove(ACME, owner)];
  expect([set.status, set.body, list.body, others.status, own.status, own.body]).toEqual([
    200,
    budget,
    { budgets: [budget] },
    404,
    200,
    budget,
  ]);
  expect(calls).toEqual([
    { ...body, accountId: ACME },
    { budgetId, accountId: OTHER },
    { budgetId, accountId: ACME },
  ]);
});

test('a new budget replaces none: the reply to making it again has the present one [money-create-budget]', async () => {
  const details = { budgetId: KEY, limitPicoUsd: '5' };
  const asked: object[] = [];
  panel.messaging.answer(budgetSet, (message): Budget => {
    asked.push(message);
    throw new ServiceError('conflict', 'There is such a budget already.', 'period', { details });
  });
  const body = { period: 'month', limitPicoUsd: '7', createOnly: false };
  const made = await panel.send(`/accounts/${ACME}/budgets`, { method: 'POST', body, cookie: owner.cookie });
  const error = { message: 'There is such a budget already.', type: 'conflict_error', param: 'period', code: 'conflict', details };
  expect([made.status, made.body]).toEqual([409, { error }]);
  expect(asked).toEqual([{ accountId: ACME, period: 'month', limitPicoUsd: '7', createOnly: true }]);
});

test('an amount with a comma in the place of a point is refused with its right form [money-amount-field]', async () => {
  const topUp = (usd: unknown) =>
    panel.send(`/accounts/${ACME}/topups`, { method: 'POST', body: { usd, paymentId: 'p' }, cookie: admin.cookie });
  const refusals = [await topUp('2,50'), await topUp('1,23,4'), await topUp(2.5)];
  expect(refusals.map(({ status, body }) => [status, (body as PanelErrorBody).error.message])).toEqual([
    [400, expect.stringMatching(/^usd is no amount\. Write cents with a point: 2\.50/)],
    [400, expect.stringMatching(/^usd is no amount\. A comma only separates thousands before a point, as in 1,234\.50/)],
    [400, expect.stringMatching(/^usd is no amount\. Send it as a string such as "2\.50"/)],
  ]);
});

test('a key is changed and rotated, whatever the body says about its id; null clears a field', async () => {
  const changed = await panel.send(`/keys/${KEY}`, {
    method: 'PATCH',
    body: { keyId: OTHER, name: null, expiresAt: '2099-01-01', disabled: true },
    cookie: owner.cookie,
  });
  const rotated = await panel.send(`/keys/${KEY}/rotate`, {
    method: 'POST',
    body: { newKeyId: OTHER, graceSeconds: 60, expiresAt: null },
    cookie: owner.cookie,
  });
  expect([changed.status, rotated.status, rotated.body]).toEqual([200, 201, { ...key, key: 'tg_live_x', replaced: key }]);
  expect(received).toEqual([
    { keyId: KEY, name: null, expiresAt: '2099-01-01', disabled: true },
    { keyId: KEY, newKeyId: OTHER, graceSeconds: 60, expiresAt: null },
  ]);
});

test('a request of another account is answered as one that does not exist', async () => {
  panel.messaging.answer(requestShow, ({ requestId }) => {
    if (requestId === 'req_none') throw new ServiceError('not_found', 'There is no such request.', 'requestId');
    return { requestId, accountId: ACME, price: {} } as never;
  });
  const show = async (id: string, { cookie }: SignedIn): Promise<unknown[]> => {
    const { status, body } = await panel.send(`/requests/${id}`, { cookie });
    return [status, body];
  };
  expect(await show('req_1', viewer)).toEqual([200, { requestId: 'req_1', accountId: ACME, price: {} }]);
  const [status] = await show('req_1', stranger);
  expect(status).toBe(404);
  expect(await show('req_1', stranger)).toEqual(await show('req_none', viewer));
});

test('an owner adds projects and cannot raise their limits', async () => {
  const limits = { requestsPerMinuteMax: 100_000 };
  const sent = [
    await panel.send(`/projects/${PROJECT}`, { method: 'PATCH', body: limits, cookie: owner.cookie }),
    await panel.send(`/accounts/${ACME}/projects`, { method: 'POST', body: { name: 'web', concurrencyMax: 9 }, cookie: owner.cookie }),
  ];
  expect(sent.map(({ status, body }) => [status, body.error?.code])).toEqual([
    [403, 'permission_denied'],
    [403, 'permission_denied'],
  ]);
  expect(received).toEqual([]);
  expect((await panel.send(`/projects/${PROJECT}`, { method: 'PATCH', body: limits, cookie: admin.cookie })).status).toBe(200);
});

test('a service that does not answer is named; its refusals keep code, message and field', async () => {
  panel.messaging.answer(usageQuery, () => {
    throw new MessagingError('timeout', 'No answer.');
  });
  panel.messaging.answer(modelList, () => {
    throw new MessagingError('unavailable', 'No service.');
  });
  panel.messaging.answer(accountCreate, () => {
    throw new ServiceError('conflict', 'There is an account with this id and another name.', 'accountId');
  });
  const usage = await panel.send(`/accounts/${ACME}/usage?from=2027-01-01`, { cookie: viewer.cookie });
  const models = await panel.send('/models', { cookie: viewer.cookie });
  const created = await panel.send('/accounts', { method: 'POST', body: { name: 'x' }, cookie: admin.cookie });
  const away = (service: string) => ({
    message: `The service ${service} does not answer. Try again in a moment.`,
    type: 'api_error',
    param: null,
    code: 'unavailable',
  });
  expect([usage.status, usage.body]).toEqual([503, { error: away('billing') }]);
  expect([models.status, models.body]).toEqual([503, { error: away('catalog') }]);
  const conflict = {
    message: 'There is an account with this id and another name.',
    type: 'conflict_error',
    param: 'accountId',
    code: 'conflict',
  };
  expect([created.status, created.body]).toEqual([409, { error: conflict }]);
});

test('money needs a recent sign-in', async () => {
  const topUp = () => panel.send(`/accounts/${ACME}/topups`, { method: 'POST', body: { usd: '5', paymentId: 'p' }, cookie: admin.cookie });
  expect((await topUp()).status).toBe(200);
  await panel.sql.query(`UPDATE panel.session SET confirmed_at = confirmed_at - interval '11 minutes' WHERE user_id = $1`, [admin.userId]);
  const late = await topUp();
  expect([late.status, late.body.error.code, received.length]).toEqual([403, 'confirmation_required', 1]);
});

/** Answers with the names that a file has. */
function answerNames(): void {
  panel.messaging.answer(accountList, () => ({ accounts: [accountRow(ACME)], nextCursor: null }));
  panel.messaging.answer(projectList, ({ cursor }) =>
    cursor === undefined ? { projects: [], nextCursor: 'p1' } : { projects: [project], nextCursor: null },
  );
  panel.messaging.answer(keyList, () => ({ keys: [{ keyId: KEY, name: null, lastFour: 'wxyz' } as never], nextCursor: null }));
}

test('a file of usage has all pages', async () => {
  answerNames();
  const row = { requests: 1, estimatedRequests: 0, promptTokens: 2, cachedTokens: 0, outputTokens: 3, reasoningTokens: 0 };
  const asked: object[] = [];
  panel.messaging.answer(usageQuery, (question) => {
    asked.push(question);
    const isLast = question.cursor !== undefined;
    const rows = [
      { model: isLast ? 'b' : 'a', ...row, ...(isLast && { cacheWriteTokens: 1 }), costPicoUsd: '1500000000000', forfeitedPicoUsd: '0' },
    ];
    return { from: question.from, to: question.to ?? '', rows, nextCursor: isLast ? null : 'c1' };
  });
  const path = `/accounts/${ACME}/usage.csv?from=2027-01-01&to=2027-02-01&groupBy=model`;
  const reply = await panel.send(path, { cookie: viewer.cookie });
  expect([reply.status, reply.headers['content-type'], reply.headers['content-disposition']]).toEqual([
    200,
    'text/csv; charset=utf-8',
    'attachment; filename="usage-acme-2027-01-01-2027-01-31.csv"',
  ]);
  const sums = 'requests,estimatedRequests,promptTokens,cachedTokens,outputTokens,reasoningTokens,costUsd,forfeitedUsd';
  const head = `model,${sums},cacheWriteTokens,cacheWrite1hTokens,quantity`;
  expect(reply.text).toBe(`${head}\r\na,1,0,2,0,3,0,1.50,0.00,0,0,0\r\nb,1,0,2,0,3,0,1.50,0.00,1,0,0\r\n`);
  const question = { accountId: ACME, from: '2027-01-01', to: '2027-02-01', groupBy: ['model'], limit: 1_000 };
  expect(asked).toEqual([question, { ...question, cursor: 'c1' }]);
});

test.each(USAGE_GROUPS)('a file of usage by %s has its column [sec-usage-columns]', async (group) => {
  const field = { account: 'accountId', project: 'projectId', key: 'keyId' }[group as string] ?? group;
  const sums = { requests: 1, estimatedRequests: 0, promptTokens: 2, cachedTokens: 0, outputTokens: 3, reasoningTokens: 0 };
  const row = { [field]: 'the group', ...sums, costPicoUsd: '0', forfeitedPicoUsd: '0' };
  panel.messaging.answer(usageQuery, ({ from }) => ({ from, to: '', rows: [row], nextCursor: null }) as never);
  answerNames();
  const path = `/accounts/${ACME}/usage.csv?from=2027-01-01&to=2027-01-02&groupBy=${group}&tag=team`;
  const [head, first] = (await panel.send(path, { cookie: viewer.cookie })).text.split('\r\n');
  expect([head?.split(',').slice(0, 2), first?.split(',').slice(0, 2)]).toEqual([
    [field, 'requests'],
    ['"the group"', '1'],
  ]);
});

test('price plans, scheduled prices and ceilings of services are listed with the models only for who may read the catalog', async () => {
  const models = { revision: 7, models: [] };
  const list = {
    ...models,
    services: [{ id: 'crawler', dayMaxPicoUsd: '5', holdMaxPicoUsd: '4', openHoldsMax: 3, items: [{ id: 'crawler/page', unit: 'page' }] }],
    pricePlans: [{ id: 'partner', discountPercent: '10', models: [] }],
    scheduledPrices: [{ model: 'm', price: { version: 2 }, effectiveAt: '2099-01-01T00:00:00.000Z' }],
  };
  panel.messaging.answer(modelList, () => list as never);
  const auditor = await panel.person('auditor');
  const replies = [await panel.send('/models', { cookie: viewer.cookie }), await panel.send('/models', { cookie: auditor.cookie })];
  const shown = { ...models, services: [{ id: 'crawler', items: [{ id: 'crawler/page', unit: 'page' }] }] };
  expect(replies.map(({ body }) => body)).toEqual([shown, list]);
});

test('a file of usage has names of account, project and key in its last columns', async () => {
  const sums = { requests: 1, estimatedRequests: 0, promptTokens: 2, cachedTokens: 0, outputTokens: 3, reasoningTokens: 0 };
  const money = { costPicoUsd: '0', forfeitedPicoUsd: '0' };
  const rows = [
    { accountId: ACME, projectId: PROJECT, keyId: KEY, ...sums, ...money },
    { accountId: OTHER, projectId: OTHER, keyId: OTHER, ...sums, ...money },
  ];
  panel.messaging.answer(usageQuery, ({ from }) => ({ from, to: '', rows, nextCursor: null }) as never);
  answerNames();
  const path = `/accounts/all/usage.csv?from=2027-01-01&to=2027-01-02&groupBy=account,project,key`;
  const reply = await panel.send(path, { cookie: (await panel.person('admin')).cookie });
  expect(reply.headers['content-disposition']).toBe('attachment; filename="usage-all-2027-01-01.csv"');
  const lines = reply.text.split('\r\n').map((line) => line.split(',').slice(-3));
  expect(lines.slice(0, 3)).toEqual([
    ['account', 'project', 'key'],
    ['Acme', 'web', '…wxyz'],
    ['', '', ''],
  ]);
});

test('a file of requests has names of account, project and key in its last columns, and the days in its name', async () => {
  const row = {
    ...{ requestId: 'r', holdId: 'h', accountId: ACME, projectId: PROJECT, keyId: KEY, model: 'm', upstream: null, heldPicoUsd: '1' },
    ...{
      reservedAt: '2027-01-01T00:00:00.000Z',
      settledAt: '2027-01-01T00:00:01.000Z',
      ending: 'completed',
      usage: null,
      costPicoUsd: '1',
    },
  };
  panel.messaging.answer(requestList, () => ({ requests: [row], nextCursor: null, searchedTo: null }) as never);
  answerNames();
  const reply = await panel.send(`/accounts/${ACME}/requests.csv?from=2027-01-01&to=2027-01-03`, { cookie: viewer.cookie });
  expect(reply.headers['content-disposition']).toBe('attachment; filename="requests-acme-2027-01-01-2027-01-02.csv"');
  expect(reply.text.split('\r\n').map((line) => line.split(',').slice(-3))).toEqual([
    ['account', 'project', 'key'],
    ['Acme', 'web', '…wxyz'],
    [''],
  ]);
});

test('an apply with a stale revision is a 409 of the catalog', async () => {
  const asked: CatalogApplyRequest[] = [];
  panel.messaging.answer(catalogApply, (message) => {
    asked.push(message);
    throw new ServiceError('conflict', 'The catalog has revision 14.', 'expectedRevision');
  });
  const body = { yaml: 'models: []', expectedRevision: 13 };
  const reply = await panel.send('/catalog/apply', { method: 'POST', body, cookie: (await panel.person('admin')).cookie });
  const error = { message: 'The catalog has revision 14.', type: 'conflict_error', param: 'expectedRevision', code: 'conflict' };
  expect([reply.status, reply.body, asked]).toEqual([409, { error }, [body]]);
});

test('a plan is the one of an apply by the panel, whatever the body says', async () => {
  const asked: CatalogPlanRequest[] = [];
  panel.messaging.answer(catalogPlan, (message) => {
    asked.push(message);
    return { revision: 7, faults: [], changes: null };
  });
  const body = { yaml: 'models: []', appliedBy: 'cli', withPrices: true };
  expect((await panel.send('/catalog/plan', { method: 'POST', cookie: (await panel.person('admin')).cookie, body })).status).toBe(200);
  expect(asked).toEqual([{ yaml: 'models: []', appliedBy: 'panel' }]);
});

test('the revision of a catalog is asked for by its number', async () => {
  const asked: object[] = [];
  panel.messaging.answer(catalogGet, (message) => {
    asked.push(message);
    return { revision: 7 } as never;
  });
  const auditor = await panel.person('auditor');
  const replies = [
    await panel.send('/catalog?revision=7', { cookie: auditor.cookie }),
    await panel.send('/catalog?revision=x', { cookie: auditor.cookie }),
  ];
  expect(replies.map(({ status }) => status)).toEqual([200, 400]);
  expect(asked).toEqual([{ revision: 7 }]);
});

test('a price is scheduled with 201, and cancelled by its id', async () => {
  const { cookie } = await panel.person('admin');
  const [scheduled, cancelled]: [PriceScheduleRequest[], object[]] = [[], []];
  panel.messaging.answer(priceSchedule, (message) => {
    scheduled.push(message);
    return { scheduledPriceId: KEY } as never;
  });
  panel.messaging.answer(priceCancel, (message) => {
    cancelled.push(message);
    return { scheduledPriceId: KEY } as never;
  });
  const price = { inputUsdPerMTok: '0.15', cachedInputUsdPerMTok: '0.015', outputUsdPerMTok: '0.60' };
  const body = { scheduledPriceId: KEY, model: 'm', price, effectiveAt: '2099-01-01T00:00:00Z' };
  const replies = [
    await panel.send('/prices/scheduled', { method: 'POST', body, cookie }),
    await panel.send('/prices/scheduled', { method: 'POST', body: { ...body, price: { ...price, outputUsdPerMTok: '$1' } }, cookie }),
    await panel.send(`/prices/scheduled/${KEY}`, { method: 'DELETE', cookie }),
  ];
  expect(replies.map(({ status, body: { error } }) => [status, error?.param])).toEqual([
    [201, undefined],
    [400, 'price.outputUsdPerMTok'],
    [200, undefined],
  ]);
  expect([scheduled, cancelled]).toEqual([[body], [{ scheduledPriceId: KEY }]]);
});

describe('the test of an upstream', () => {
  const START: UpstreamProbeEvent = { type: 'test-start', upstreamId: 'local/one', kind: 'openai-chat', model: 'm', isInCatalog: true };
  const CHECK: UpstreamProbeEvent = {
    type: 'check-end',
    check: { id: 'reachable', title: 'reachable', verdict: 'no', evidence: 'nothing listens', milliseconds: 3 },
  };
  const event = (one: UpstreamProbeEvent): string => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`;
  const path = '/upstreams/local%2Fone/test';
  const send = () =>
    panel.send(path, { method: 'POST', cookie: admin.cookie, body: { model: 'm', candidate: { baseUrl: 'http://evil' } } });

  test('is passed on check by check, and goes to an upstream of the catalog alone', async () => {
    let asked: object = {};
    panel.messaging.serve(upstreamProbe, (payload, stream) => {
      asked = { ...payload };
      stream.write(START);
      stream.write(CHECK);
      stream.end();
    });
    const { status, text, headers } = await send();
    expect({ asked, status, text, type: headers['content-type'] }).toEqual({
      asked: { upstreamId: 'local/one', model: 'm' },
      status: 200,
      text: event(START) + event(CHECK),
      type: 'text/event-stream; charset=utf-8',
    });
    expect(panel.messaging.actors.at(-1)).toEqual({
      actor: expect.stringMatching(/^user\//),
      actorName: expect.any(String),
      ip: expect.any(String),
      requestId: expect.any(String),
    });
  });

  test('is refused with a status before its start, and with an event after it', async () => {
    panel.messaging.serve(upstreamProbe, (_payload, stream) => stream.fail(new ServiceError('not_found', 'no upstream')));
    const refused = await send();
    panel.messaging.serve(upstreamProbe, (_payload, stream) => {
      stream.write(START);
      stream.fail(new MessagingError('broken', 'lost'));
    });
    const broken = await send();
    expect([refused.status, refused.body.error.code, broken.status]).toEqual([404, 'not_found', 200]);
    expect(broken.text).toMatch(
      /^event: test-start\n.*\n\nevent: error\ndata: \{"error":\{"message":"The service inference-proxy .*\}\}\n\n$/,
    );
  });

  test('stops when the client leaves', async () => {
    const probe = Promise.withResolvers<FakeEventStream<UpstreamProbeEvent>>();
    panel.messaging.serve(upstreamProbe, (_payload, stream) => {
      stream.write(START);
      probe.resolve(stream);
    });
    const abort = new AbortController();
    const headers = { cookie: admin.cookie, origin: PANEL_URL };
    await fetch(`${await panel.app.getUrl()}${API_PREFIX}${path}`, { method: 'POST', headers, signal: abort.signal });
    abort.abort();
    const stream = await probe.promise;
    await stream.cancelled();
    stream.end();
  });
});
