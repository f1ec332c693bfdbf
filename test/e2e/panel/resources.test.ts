import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { panelInvite } from '#contracts/panel.js';
import { closed, DocumentSchemas } from '#testing/document-schemas.js';
import { stack } from '#testing/stack.js';
import { connectAdministrator, untilNoHolds } from '#testing/tenant.js';

/** The panel's API over the running services, from an empty account to its statement. Replies are checked against the OpenAPI document. */

const { gatewayUrl, panelUrl } = stack();
const MONTH = new Date().toISOString().slice(0, 7);

const administrator = await connectAdministrator(stack());
const response = await fetch(`${panelUrl}/panel/openapi.json`);
const schemas = new DocumentSchemas(closed((await response.json()) as object));
const admin = await signIn('admin');
afterAll(() => administrator.close());

/** Returns the cookie of a new person. */
async function signIn(role: 'admin' | 'owner', accountId?: string): Promise<string> {
  const email = `${randomUUID()}@example.com`;
  const { link } = await administrator.request(panelInvite, { role, accountId, email });
  const body = JSON.stringify({ token: link.replace(/^.*#/, ''), password: 'a quiet orange river' });
  const headers = { origin: panelUrl, 'content-type': 'application/json' };
  const response = await fetch(`${panelUrl}/panel/v1/invites/accept`, { method: 'POST', headers, body });
  if (response.status !== 201) throw new Error(await response.text());
  return response.headers.get('set-cookie')?.split(';')[0] ?? '';
}

interface Reply<Body> {
  status: number;
  body: Body;
}

/** Calls the API. A successful reply must have the schema that the document names. */
async function call<Body>(
  method: string,
  path: string,
  { body, cookie = admin, schema }: { body?: object; cookie?: string; schema?: string } = {},
): Promise<Reply<Body>> {
  const headers = { cookie, origin: panelUrl, ...(body && { 'content-type': 'application/json' }) };
  const response = await fetch(`${panelUrl}/panel/v1${path}`, { method, headers, body: body ? JSON.stringify(body) : null });
  const type = response.headers.get('content-type') ?? '';
  const read = (type.startsWith('application/json') ? await response.json() : await response.text()) as Body;
  if (schema) expect({ path, body: read, faults: schemas.component(schema, read) }).toEqual({ path, body: read, faults: [] });
  return { status: response.status, body: read };
}

interface Created {
  accountId: string;
  projectId: string;
  keyId: string;
  key: string;
}

async function createTenant(usd: string): Promise<Created> {
  const { accountId } = (await call<Created>('POST', '/accounts', { body: { name: 'Acme' }, schema: 'ShownAccount' })).body;
  await call('POST', `/accounts/${accountId}/topups`, { body: { usd, paymentId: randomUUID() }, schema: 'TopupCreateReply' });
  const { projectId } = (await call<Created>('POST', `/accounts/${accountId}/projects`, { body: { name: 'web' }, schema: 'Project' })).body;
  const { keyId, key } = (await call<Created>('POST', `/projects/${projectId}/keys`, { body: { name: 'ci' }, schema: 'CreatedKey' })).body;
  return { accountId, projectId, keyId, key };
}

/** Sends a request to the gateway. Returns its id. */
async function generate(key: string, accountId: string, model = 'sim-fast'): Promise<string> {
  const response = await fetch(`${gatewayUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }),
  });
  expect(response.status).toBe(model === 'sim-fast' ? 200 : 404);
  await response.text();
  await untilNoHolds(administrator, accountId);
  return response.headers.get('x-request-id') ?? '';
}

interface Figures {
  costPicoUsd: string;
  requests: number;
}
interface StatementBody {
  lines: { kind: string; requests: number | null }[];
  openingPicoUsd: string;
  inPicoUsd: string;
  costPicoUsd: string;
  closingPicoUsd: string;
}

test('one request has the same cost in overview, usage, request, statement and balance', async () => {
  const { accountId, projectId, keyId, key } = await createTenant('5');
  const requestId = await generate(key, accountId);
  const { body: shown } = await call<{ accountId: string; settlement: Figures }>('GET', `/requests/${requestId}`, {
    schema: 'BilledRequest',
  });
  const cost = shown.settlement.costPicoUsd;
  expect([shown.accountId, BigInt(cost) > 0n]).toEqual([accountId, true]);

  const from = new Date(Date.now() - 3_600_000).toISOString();
  const path = `/accounts/${accountId}`;
  const usage = await call<{ rows: Figures[] }>('GET', `${path}/usage?from=${from}&groupBy=project,key,model`, {
    schema: 'UsageQueryReply',
  });
  expect(usage.body.rows).toEqual([expect.objectContaining({ projectId, keyId, model: 'sim-fast', requests: 1, costPicoUsd: cost })]);

  type OverviewBody = { total: Figures; today: Figures; month: Figures; byProject: Figures[]; balance: { balance_pico_usd: string } };
  const { body: overview } = await call<OverviewBody>('GET', `${path}/overview`, { schema: 'Overview' });
  expect([overview.total, overview.byProject[0]].map((one) => [one?.requests, one?.costPicoUsd])).toEqual([
    [1, cost],
    [1, cost],
  ]);
  const left = String(5_000_000_000_000n - BigInt(cost));
  expect(overview.balance.balance_pico_usd).toBe(left);

  type ListBody = { requests: { requestId: string; ending: string; costPicoUsd: string }[] };
  const { body: list } = await call<ListBody>('GET', `${path}/requests?model=sim-fast`, { schema: 'RequestListReply' });
  expect(list.requests.map((one) => [one.requestId, one.ending, one.costPicoUsd])).toEqual([[requestId, 'completed', cost]]);
  const { body: rows } = await call<string>('GET', `${path}/requests.csv`);
  expect(rows.split('\r\n').map((line) => line.split(',')[0])).toEqual(['requestId', requestId, '']);

  const { body: statement } = await call<StatementBody>('GET', `${path}/statements/${MONTH}`, { schema: 'Statement' });
  const { lines, ...sums } = statement;
  expect(sums).toMatchObject({ openingPicoUsd: '0', inPicoUsd: '5000000000000', costPicoUsd: cost, closingPicoUsd: left });
  expect(lines.map(({ kind, requests }) => [kind, requests])).toEqual([
    ['topup', null],
    ['usage', 1],
  ]);
  const { body: file } = await call<string>('GET', `${path}/statements/${MONTH}.csv`);
  expect(file.split('\r\n').map((line) => line.split(',')[1])).toEqual(['kind', 'opening', 'topup', 'usage', 'closing', undefined]);
});

interface Course {
  status: number;
  code?: string;
  outcome?: string;
  attempts?: { upstream: string; startMs: number; firstByteMs?: number; endMs?: number; failure?: string }[];
  heldMs?: number;
  endedMs: number;
}

/** Returns what the panel has recorded of a request, which it does a moment after its end. */
async function readCourse(requestId: string): Promise<Course> {
  for (;;) {
    const { body } = await call<{ activity: Course | null }>('GET', `/requests/${requestId}/activity`, { schema: 'ActivityReply' });
    if (body.activity) return body.activity;
    await delay(50);
  }
}

test('the course of a request, also of a refused one, is recorded, counted and sent to pages that watch', async () => {
  const { accountId, key } = await createTenant('1');
  const live = await fetch(`${panelUrl}/panel/v1/accounts/${accountId}/live`, { headers: { cookie: admin } });
  const requestId = await generate(key, accountId);
  const refused = await generate(key, accountId, 'no-such-model');
  let seen = '';
  for await (const text of (live.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
    seen += text;
    if (seen.includes(requestId) && seen.includes(refused)) break;
  }
  const course = await readCourse(requestId);
  expect(course).toMatchObject({ status: 200, outcome: 'completed', attempts: [{ upstream: 'local' }] });
  const { startMs = 0, firstByteMs = 0, endMs = 0 } = course.attempts?.[0] ?? {};
  const moments = [course.heldMs ?? 0, startMs, firstByteMs, endMs];
  expect(moments).toEqual(moments.toSorted((one, other) => one - other));
  expect(await readCourse(refused)).toMatchObject({ status: 404, code: 'model_not_found' });

  const from = new Date(Date.now() - 3_600_000).toISOString();
  type TrafficBody = { total: { requests: number; outcomes: object[] } };
  const { body } = await call<TrafficBody>('GET', `/accounts/${accountId}/traffic?from=${from}&step=minute`, { schema: 'TrafficReply' });
  expect(body.total.outcomes).toEqual([
    { status: 200, code: null, requests: 1 },
    { status: 404, code: 'model_not_found', requests: 1 },
  ]);
});

test('a key is changed and rotated, and both keys call a model until the old one is revoked', async () => {
  const { accountId, projectId, keyId, key } = await createTenant('5');
  const body = { note: 'of the build server', expiresAt: '2099-01-01' };
  const changed = await call<object>('PATCH', `/keys/${keyId}`, { body, schema: 'ApiKey' });
  expect(changed).toMatchObject({ status: 200, body: { keyId, note: body.note, expiresAt: '2099-01-01T00:00:00.000Z' } });
  const rotation = { body: { graceSeconds: 3_600, expiresAt: null }, schema: 'RotatedKey' };
  const { status, body: made } = await call<Created>('POST', `/keys/${keyId}/rotate`, rotation);
  expect([status, made]).toMatchObject([201, { note: body.note, expiresAt: null, replaced: { keyId, replacedBy: made.keyId } }]);
  for (const secret of [key, made.key]) await generate(secret, accountId);
  await call('DELETE', `/keys/${keyId}`, { schema: 'ApiKey' });
  type Keys = { keys: { keyId: string; status: string; lastUsedAt: string | null }[] };
  const { body: list } = await call<Keys>('GET', `/projects/${projectId}/keys`, { schema: 'KeyListReply' });
  expect(list.keys.map((one) => [one.keyId, one.status, one.lastUsedAt !== null])).toEqual([
    [keyId, 'revoked', true],
    [made.keyId, 'active', true],
  ]);
});

test('a budget counts what its project spends, is in the overview, and is set and removed in the journal', async () => {
  const { accountId, projectId, keyId, key } = await createTenant('5');
  const path = `/accounts/${accountId}/budgets`;
  const body = { projectId, period: 'month', limitPicoUsd: '1000000000000' };
  const set = await call<{ budgetId: string }>('PUT', path, { body, schema: 'Budget' });
  const requestId = await generate(key, accountId);
  const { body: shown } = await call<{ settlement: Figures }>('GET', `/requests/${requestId}`);
  const { body: list } = await call<{ budgets: object[] }>('GET', path, { schema: 'BudgetListReply' });
  expect(list.budgets).toEqual([{ ...set.body, spentPicoUsd: shown.settlement.costPicoUsd }]);

  const expiresAt = new Date(Date.now() + 3 * 86_400_000).toISOString();
  await call('PATCH', `/keys/${keyId}`, { body: { expiresAt } });
  type OverviewBody = { budgets: object[]; warnings: object[] };
  const { body: overview } = await call<OverviewBody>('GET', `/accounts/${accountId}/overview`, { schema: 'Overview' });
  const ending = { keyId, name: 'ci', lastFour: key.slice(-4), expiresAt };
  expect(overview).toMatchObject({ budgets: list.budgets, warnings: [{ kind: 'keys-end', accountId, keys: [ending] }] });

  const { budgetId } = set.body;
  const removed = await call('DELETE', `${path}/${budgetId}`, { schema: 'Budget' });
  const { body: audit } = await call<{ entries: { action: string; target: string }[] }>('GET', `/audit?accountId=${accountId}`);
  const changes = audit.entries.filter(({ target }) => target === `budget/${budgetId}`).map(({ action }) => action);
  expect([set.status, removed.status, changes]).toEqual([200, 200, ['budget.remove', 'budget.create']]);
});

test.each([
  ['/me', 'MeReply'],
  ['/accounts', 'AccountListReply'],
  ['/audit', 'AuditListReply'],
  ['/catalog', 'CatalogGetReply'],
  ['/catalog/revisions', 'RevisionListReply'],
])('%s is as documented', async (path, schema) => {
  expect(await call('GET', path, { schema })).toMatchObject({ status: 200 });
});

test('the prices that wait are as documented', async () => {
  const price = { inputUsdPerMTok: '0.30', cachedInputUsdPerMTok: '0.03', outputUsdPerMTok: '1.20' };
  const body = {
    scheduledPriceId: randomUUID(),
    model: 'sim-fast',
    price,
    effectiveAt: `2098-01-01T00:00:00.${String(Date.now() % 1_000).padStart(3, '0')}Z`,
  };
  await call('POST', '/prices/scheduled', { body, schema: 'ScheduledPrice' });
  await call('GET', '/prices/scheduled', { schema: 'PriceListReply' });
  expect(await call('DELETE', `/prices/scheduled/${body.scheduledPriceId}`, { schema: 'ScheduledPrice' })).toMatchObject({ status: 200 });
});

test('models, upstreams and a check of the ledger come from their services', async () => {
  const models = await call<{ models: { id: string }[] }>('GET', '/models', { schema: 'ModelListReply' });
  expect(models.body.models.map(({ id }) => id)).toContain('sim-fast');
  const upstreams = await call<{ replicas: { routes: { model: string }[] }[] }>('GET', '/upstreams', { schema: 'UpstreamsReply' });
  expect(upstreams.body.replicas.flatMap(({ routes }) => routes.map(({ model }) => model))).toContain('sim-fast');
  const services = await call<{ replicas: { service: string; missing: string[] }[] }>('GET', '/services', { schema: 'ServicesReply' });
  expect(services.body.replicas.map(({ service, missing }) => ({ service, missing }))).toEqual(
    ['billing', 'catalog', 'gateway', 'inference-proxy', 'panel'].map((service) => ({ service, missing: [] })),
  );
  const check = await call<{ violations: object[] }>('POST', '/ledger/checks', { schema: 'LedgerCheckReply' });
  expect([check.status, check.body.violations]).toEqual([200, []]);
  const { body } = await call<{ journals: { service: string; faults: string[] }[] }>('GET', '/ledger/journals', {
    schema: 'JournalCheckListReply',
  });
  expect(body.journals.map(({ service, faults }) => ({ service, faults }))).toEqual([
    { service: 'catalog', faults: [] },
    { service: 'panel', faults: [] },
  ]);
});

/** Sends a question from the playground. */
function play(
  cookie: string,
  projectId: string,
  content: string,
  { model = 'sim-fast', signal }: { model?: string; signal?: AbortSignal } = {},
): Promise<Response> {
  const request = { model, messages: [{ role: 'user', content }], max_tokens: 200 };
  const headers = { cookie, origin: panelUrl, 'content-type': 'application/json' };
  return fetch(`${panelUrl}/panel/v1/playground`, { method: 'POST', headers, body: JSON.stringify({ projectId, request }), signal });
}

interface Bill {
  keyId: string;
  settlement: { reason: string; costPicoUsd: string; usage: { outputTokens: number } };
}

test('the playground bills like any client, with a key that ends with the session', async () => {
  const { accountId, projectId } = await createTenant('1');
  const cookie = await signIn('owner', accountId);
  const reply = await play(cookie, projectId, 'Hello');
  expect(await reply.text()).toMatch(/"content":.*"usage":\{.*data: \[DONE\]\n\n$/s);
  const path = `/requests/${reply.headers.get('x-gateway-request-id')}`;
  const { body: bill } = await call<Bill>('GET', path, { cookie, schema: 'BilledRequest' });
  expect([bill.settlement.reason, BigInt(bill.settlement.costPicoUsd) > 0n]).toEqual(['completed', true]);

  const refused = await play(cookie, projectId, 'Hello', { model: 'no-such-model' });
  expect([refused.status, await refused.json()]).toMatchObject([404, { error: { code: 'model_not_found', param: 'model' } }]);

  type Keys = { keys: { keyId: string; name: string; status: string }[] };
  const keys = async () => (await call<Keys>('GET', `/projects/${projectId}/keys`)).body.keys.slice(1);
  expect(await keys()).toMatchObject([
    { keyId: bill.keyId, name: expect.stringMatching(/^Playground of .*@example\.com$/), status: 'active' },
  ]);
  await call('DELETE', '/session', { cookie });
  while ((await keys())[0]?.status === 'active') await delay(200);
  type Audit = { entries: { action: string; actor: string; target: string }[] };
  const { body } = await call<Audit>('GET', `/audit?accountId=${accountId}`);
  expect(body.entries.filter(({ target }) => target === `key/${bill.keyId}`).map(({ action, actor }) => [action, actor])).toEqual([
    ['key.revoke', 'service/panel'],
    ['key.create', expect.stringMatching(/^user\//)],
  ]);
});
