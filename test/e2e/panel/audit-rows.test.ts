import { randomUUID } from 'node:crypto';
import { TOTP } from 'otpauth';
import { parse, stringify } from 'yaml';
import { panelInvite } from '#contracts/panel.js';
import { FakeStripe, STRIPE_KEY, STRIPE_SECRET } from '#testing/fake-stripe.js';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator, untilNoHolds } from '#testing/tenant.js';
import { API_PREFIX, findRoute, ROUTES, type RouteName } from '../../../apps/panel/src/http/routes.js';
import { ROUTE_RECORDS } from '../../../apps/panel/test/route-records.js';
import { JournalWatch } from '../journal-watch.js';

/** Calls every route of the panel that is no GET with valid input, and looks for its row in the journals. */

const PASSWORD = 'a quiet orange river';
type Json = Record<string, unknown>;
type Recorded = keyof typeof ROUTE_RECORDS;
/** `finishSso` needs a provider, and browsers make no passkey at the address of this panel. Integration tests call both. */
type Elsewhere = 'finishSso' | 'makePasskeyOptions';

interface Call {
  /** Values of the path's parameters. */
  ids?: Record<string, string>;
  query?: string;
  body?: Json;
  cookie?: string;
}

const stripe = await FakeStripe.start();
let stack: RunningStack;
let journals: JournalWatch;
let admin: string;

beforeAll(async () => {
  stack = await startPrivateStack({
    layout: 'all',
    services: ['billing', 'catalog', 'gateway', 'inference-proxy', 'panel', 'payments', 'upstream-sim'],
    serviceEnv: {
      payments: { STRIPE_SECRET_KEY: STRIPE_KEY, STRIPE_WEBHOOK_SECRET: STRIPE_SECRET, STRIPE_API_URL: stripe.url },
      // Nothing listens there, and nothing is sent.
      panel: { SMTP_URL: 'smtp://127.0.0.1:9', SMTP_FROM: 'tollgate@example.com' },
    },
  });
  journals = await new JournalWatch(stack.databaseUrl).open();
  admin = (await person()).cookie;
});
afterAll(async () => {
  await journals?.close();
  await stack?.stop();
  await stripe.stop();
});

async function send(name: RouteName, { ids = {}, query = '', body, cookie = admin }: Call) {
  const { method, path } = findRoute(name);
  const url = `${stack.panelUrl}${API_PREFIX}${path.replace(/:(\w+)/g, (_, id: string) => ids[id] ?? id)}${query}`;
  const headers = { cookie, origin: stack.panelUrl, ...(body && { 'content-type': 'application/json' }) };
  const response = await fetch(url, { method, headers, body: body ? JSON.stringify(body) : null });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
  return { status: response.status, text, body: (isJson ? JSON.parse(text) : {}) as Json, cookie: response.headers.get('set-cookie') };
}

/** Sends a request that must succeed. */
async function done(name: RouteName, call: Call): Promise<Record<string, string>> {
  const { status, text, body } = await send(name, call);
  if (status >= 300) throw new Error(`${name}: ${status} ${text}`);
  return body as Record<string, string>;
}

// ---- what the calls need ----

async function person(): Promise<{ email: string; cookie: string; userId: string }> {
  const email = `${randomUUID()}@example.com`;
  const administrator = await connectAdministrator(stack);
  const { link } = await administrator.request(panelInvite, { role: 'admin', email });
  await administrator.close();
  const { body, cookie } = await send('acceptInvite', { body: { token: readToken(link), password: PASSWORD }, cookie: '' });
  return { email, cookie: cookie?.split(';')[0] ?? '', userId: String(body.userId) };
}

/** The call that adds an authenticator app, with its present code. */
async function app(cookie: string): Promise<Call> {
  const { secret = '' } = await done('makeAppSecret', { cookie });
  return { cookie, body: { name: 'Phone', secret, code: new TOTP({ secret }).generate() } };
}

const readToken = (link: string): string => link.replace(/^.*#/, '');
const account = async (): Promise<string> => (await done('createAccount', { body: { name: 'Acme' } })).accountId ?? '';

async function money(): Promise<{ accountId: string; paymentId: string }> {
  const [accountId, paymentId] = [await account(), randomUUID()];
  await done('createTopup', { ids: { accountId }, body: { usd: '5', paymentId } });
  return { accountId, paymentId };
}

/** A request that cost something, and a note that gives all of it back. */
async function creditNote(): Promise<Call> {
  const { accountId } = await money();
  const { key: apiKey } = await done('createKey', { ids: { projectId: await project(accountId) }, body: { name: 'ci' } });
  const response = await fetch(`${stack.gatewayUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim-fast', messages: [{ role: 'user', content: 'Hello' }] }),
  });
  await response.text();
  const administrator = await connectAdministrator(stack);
  await untilNoHolds(administrator, accountId);
  await administrator.close();
  const requestId = response.headers.get('x-request-id');
  return { ids: { accountId }, body: { requestId, noteId: randomUUID(), reason: 'a useless reply' } };
}

async function project(accountId?: string): Promise<string> {
  const id = accountId ?? (await account());
  return (await done('createProject', { ids: { accountId: id }, body: { name: 'web' } })).projectId ?? '';
}

const key = async (): Promise<string> =>
  (await done('createKey', { ids: { projectId: await project() }, body: { name: 'ci' } })).keyId ?? '';
/** A key that a budget lets have child keys. */
async function delegatingKey(): Promise<string> {
  const accountId = await account();
  const children = { dimension: 'child', period: 'total', limitPicoUsd: '1000000000000' };
  await done('createBudget', { ids: { accountId }, body: children });
  return (await done('createKey', { ids: { projectId: await project(accountId) }, body: { name: 'ci' } })).keyId ?? '';
}
/** A rule without a card: nothing is paid. */
const autoTopup = { thresholdUsd: '5', amountUsd: '25', monthlyCapUsd: '200' };
const budget = { period: 'month', limitPicoUsd: '1000000000000' };
/** A webhook of a new account, which refuses connections. */
async function webhook(): Promise<{ accountId: string; webhookId: string }> {
  const accountId = await account();
  const { webhookId = '' } = await done('createWebhook', { ids: { accountId }, body: unheard });
  return { accountId, webhookId };
}

const unheard = { url: 'http://127.0.0.1:9/', allowPrivateNetwork: true };
const inAnHour = (): string => new Date(Date.now() + 3_600_000).toISOString();

async function invite(): Promise<Record<string, string>> {
  return done('createInvite', { body: { email: `${randomUUID()}@example.com`, role: 'viewer', accountId: await account() } });
}

async function catalog(): Promise<{ yaml: string; revision: number }> {
  const { yaml, revision } = (await done('showCatalog', {})) as unknown as { yaml: string; revision: number };
  return { yaml, revision };
}

/** A price in the far future, at a moment of its own. */
const scheduled = (): Json => ({
  model: 'sim-fast',
  price: { inputUsdPerMTok: '0.30', cachedInputUsdPerMTok: '0.03', outputUsdPerMTok: '1.20' },
  effectiveAt: new Date(Date.UTC(2098, 0, 1) + (Date.now() % 1_000_000)).toISOString(),
});

/** Routes that do something each time that they are called. */
const ACTS: readonly RouteName[] = [
  ...(['signIn', 'createInvite', 'createToken', 'createAccount', 'createProject', 'createKey', 'createChildKey'] as const),
  ...(['testUpstream', 'checkLedger'] as const),
  ...(['createWebhook', 'rotateWebhook', 'testWebhook', 'replayWebhook', 'resendEvent'] as const),
  ...(['addSecondFactor', 'makeRecoveryCodes'] as const),
  // Setting the same rule again lets a refused card be tried again.
  ...(['createCheckout', 'setAutoTopup'] as const),
];

/** A valid call of each route, with what it needs. */
const CALLS: Record<Exclude<Recorded, Elsewhere>, () => Promise<Call>> = {
  signIn: async () => ({ body: { email: (await person()).email, password: PASSWORD }, cookie: '' }),
  signOut: async () => ({ cookie: (await person()).cookie }),
  confirmSession: async () => ({ cookie: (await person()).cookie, body: { password: PASSWORD } }),
  endSessions: async () => {
    const { email, cookie } = await person();
    await done('signIn', { body: { email, password: PASSWORD }, cookie: '' });
    return { cookie };
  },
  endSession: async () => {
    const { cookie } = await person();
    return { cookie, ids: { sessionId: (await done('showSession', { cookie })).sessionId ?? '' } };
  },
  updateMe: async () => ({ cookie: (await person()).cookie, body: { name: 'Ada' } }),
  makeAppSecret: async () => ({ cookie: (await person()).cookie }),
  addSecondFactor: async () => app((await person()).cookie),
  removeSecondFactor: async () => {
    const { cookie } = await person();
    const { factor } = (await done('addSecondFactor', await app(cookie))) as unknown as { factor: { factorId: string } };
    return { cookie, ids: { factorId: factor.factorId } };
  },
  makeRecoveryCodes: async () => {
    const { cookie } = await person();
    await done('addSecondFactor', await app(cookie));
    return { cookie };
  },
  updateMember: async () => ({ ids: { userId: (await person()).userId }, body: { disabled: true } }),
  removeMember: async () => ({ ids: { userId: (await person()).userId } }),
  createInvite: async () => ({ body: { email: 'eve@example.com', role: 'viewer', accountId: await account() } }),
  withdrawInvite: async () => ({ ids: { inviteId: (await invite()).inviteId ?? '' } }),
  showInvite: async () => ({ body: { token: readToken((await invite()).link ?? '') }, cookie: '' }),
  acceptInvite: async () => ({ body: { token: readToken((await invite()).link ?? ''), password: PASSWORD }, cookie: '' }),
  createToken: async () => ({ body: { name: 'ci', permissions: ['usage.read'], expiresAt: inAnHour() } }),
  revokeToken: async () => {
    const made = await done('createToken', { body: { name: 'ci', permissions: ['usage.read'], expiresAt: inAnHour() } });
    return { ids: { tokenId: made.tokenId ?? '' } };
  },
  createAccount: async () => ({ body: { name: 'Acme' } }),
  updateAccount: async () => ({ ids: { accountId: await account() }, body: { name: 'Globex' } }),
  setStatementMail: async () => ({ ids: { accountId: await account() }, body: { isOn: true } }),
  setLowBalance: async () => ({ ids: { accountId: await account() }, body: { lowBalanceUsd: '5' } }),
  createProject: async () => ({ ids: { accountId: await account() }, body: { name: 'web' } }),
  updateProject: async () => ({ ids: { projectId: await project() }, body: { name: 'app' } }),
  createKey: async () => ({ ids: { projectId: await project() }, body: { name: 'ci' } }),
  updateKey: async () => ({ ids: { keyId: await key() }, body: { note: 'of the build' } }),
  rotateKey: async () => ({ ids: { keyId: await key() }, body: { graceSeconds: 0, expiresAt: null } }),
  revokeKey: async () => ({ ids: { keyId: await key() } }),
  createChildKey: async () => ({ ids: { keyId: await delegatingKey() }, body: { seconds: 600 } }),
  revokeChildKey: async () => {
    const keyId = await delegatingKey();
    const { childId = '' } = await done('createChildKey', { ids: { keyId }, body: { seconds: 600 } });
    return { ids: { keyId, childId } };
  },
  runPlayground: async () => {
    const projectId = await project((await money()).accountId);
    return { body: { projectId, request: { model: 'sim-fast', messages: [{ role: 'user', content: 'Hello' }] } } };
  },
  createBudget: async () => ({ ids: { accountId: await account() }, body: budget }),
  setBudget: async () => {
    const accountId = await account();
    await done('createBudget', { ids: { accountId }, body: budget });
    return { ids: { accountId }, body: { ...budget, limitPicoUsd: '2000000000000' } };
  },
  removeBudget: async () => {
    const accountId = await account();
    const { budgetId = '' } = await done('createBudget', { ids: { accountId }, body: budget });
    return { ids: { accountId, budgetId } };
  },
  createWebhook: async () => ({ ids: { accountId: await account() }, body: unheard }),
  updateWebhook: async () => ({ ids: await webhook(), body: { muted: true } }),
  removeWebhook: async () => ({ ids: await webhook() }),
  rotateWebhook: async () => ({ ids: await webhook(), body: { graceSeconds: 0 } }),
  testWebhook: async () => ({ ids: await webhook() }),
  replayWebhook: async () => ({ ids: await webhook(), body: { from: '2099-01-01' } }),
  resendEvent: async () => {
    const ids = await webhook();
    await done('updateAccount', { ids, body: { status: 'frozen', statusReason: 'a test' } });
    const { deliveries = [] } = (await done('listDeliveries', { ids })) as unknown as { deliveries?: { event: { eventId: string } }[] };
    return { ids: { ...ids, eventId: deliveries[0]?.event.eventId ?? '' } };
  },
  createTopup: async () => ({ ids: { accountId: await account() }, body: { usd: '5', paymentId: randomUUID() } }),
  createRefund: async () => {
    const { accountId, paymentId } = await money();
    return { ids: { accountId }, body: { paymentId, refundId: randomUUID(), usd: '1', reason: 'asked for it' } };
  },
  createAdjustment: async () => ({
    ids: { accountId: await account() },
    body: { adjustmentId: randomUUID(), usd: '1', reason: 'a present' },
  }),
  createCreditNote: creditNote,
  createGrant: async () => ({ ids: { accountId: await account() }, body: { grantKey: randomUUID(), usd: '1', expiresAt: inAnHour() } }),
  createCheckout: async () => ({ ids: { accountId: await account() }, body: { usd: '5' } }),
  setAutoTopup: async () => ({ ids: { accountId: await account() }, body: autoTopup }),
  removeAutoTopup: async () => {
    const ids = { accountId: await account() };
    await done('setAutoTopup', { ids, body: autoTopup });
    return { ids };
  },
  planCatalog: async () => ({ body: { yaml: (await catalog()).yaml } }),
  applyCatalog: async () => {
    const { yaml, revision } = await catalog();
    const file = parse(yaml) as { models: { displayName?: string }[] };
    (file.models[0] as { displayName?: string }).displayName = 'Renamed';
    return { body: { yaml: stringify(file), expectedRevision: revision } };
  },
  schedulePrice: async () => ({ body: { scheduledPriceId: randomUUID(), ...scheduled() } }),
  cancelScheduledPrice: async () => {
    const scheduledPriceId = randomUUID();
    await done('schedulePrice', { body: { scheduledPriceId, ...scheduled() } });
    return { ids: { scheduledPriceId } };
  },
  testUpstream: async () => ({ ids: { upstreamId: 'local' } }),
  checkLedger: async () => ({}),
};

test('every route that is no GET is called here', () => {
  const writing = (Object.keys(ROUTES) as RouteName[]).filter((name) => findRoute(name).method !== 'GET' && name !== 'makePasskeyOptions');
  expect(Object.keys(CALLS).sort()).toEqual(writing.sort());
});

test.each(Object.entries(CALLS))('%s writes its row, or changes nothing [sec-audit-row]', async (route, prepare) => {
  const name = route as Exclude<Recorded, Elsewhere>;
  const call = await prepare();
  const { result, rows, changed } = await journals.during(
    () => send(name, call),
    ({ actor }) => !actor.startsWith('service/'),
  );
  const { status, text } = result;
  expect({ status, text: status < 300 ? '' : text }).toEqual({ status: findRoute(name).status ?? 200, text: '' });
  const action = ROUTE_RECORDS[name];
  if (action === null) expect({ rows, changed }).toEqual({ rows: [], changed: [] });
  else expect(rows.map((row) => row.action)).toContain(action);
});

test.each(Object.entries(CALLS).filter(([name]) => !ACTS.includes(name as RouteName)))(
  '%s writes no row when it is repeated and has nothing to change [sec-audit-row]',
  async (route, prepare) => {
    const name = route as Exclude<Recorded, Elsewhere>;
    const call = await prepare();
    await done(name, call);
    const { rows, changed } = await journals.during(
      () => send(name, call),
      ({ actor }) => !actor.startsWith('service/'),
    );
    expect({ rows, changed }).toEqual({ rows: [], changed: [] });
  },
);
