import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { connect, JSONCodec, type Msg, type NatsConnection } from 'nats';
import { parse } from 'yaml';
import { parseChildKey, proveSignature } from '#contracts/child-keys/child-key.js';
import { everyEndpoint } from '#contracts/every-contract.js';
import { replicaStatus } from '#contracts/replica-status.js';
import { CHILD_PATH } from '#contracts/rules/child-path.js';
import { FakeStripe, STRIPE_KEY, STRIPE_SECRET } from '#testing/fake-stripe.js';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { JournalWatch, type WrittenRow } from './journal-watch.js';

/** Runs every example of docs/nats-api.md in order with a plain NATS client. Replies match the page and docs/asyncapi.yaml. */

type Json = Record<string, unknown>;
type User = keyof RunningStack['natsPasswords'];

interface Example {
  user: User;
  subject: string;
  payload: string;
  reply: unknown;
}

const PAGE = readFileSync('docs/nats-api.md', 'utf8');
const ON_PAGE: Example[] = [
  ...PAGE.matchAll(/^nats --context (\S+) (?:--timeout \S+ )?request (\S+) '(.*)'\n```\n\n```json\n([^`]*)```/gm),
].map(([, user, subject = '', payload = '', reply = '']) => ({ user: user as User, subject, payload, reply: JSON.parse(reply) }));
/** Tollgate asks policies, and does not answer for them. */
const isPolicyQuestion = ({ subject }: Example): boolean => subject.startsWith('policy.');
const EXAMPLES = ON_PAGE.filter((example) => !isPolicyQuestion(example));
const EVENTS = [...PAGE.matchAll(/^nats --context (\S+) subscribe (\S+)\n```\n\n```json\n([^`]*)```/gm)].map(
  ([, user, subject = '', event = '']) => ({ user: user as User, subject, event: JSON.parse(event) as unknown }),
);

const RECORDED = new Set(everyEndpoint.filter(({ isRecorded }) => isRecorded).map(({ subject }) => subject));

/**
 * Their examples are refused, because a month is closed when it is over and no person has a second factor. `months.test.ts`,
 * `detached-months.integration.test.ts` and `second-factors.integration.test.ts` have their rows.
 */
const PROVEN_ELSEWHERE = [
  ...['billing.v1.month.close', 'billing.v1.month.detach', 'billing.v1.month.attach'],
  'panel.v1.second-factor.reset',
];

/** Writes the row of a test of an upstream for the inference-proxy, which has no journal: the row has the user who asked for the test. */
const ROW_OF_ANOTHER = 'catalog.v1.upstream-test.record';

const codec = JSONCodec<unknown>();
const connections = new Map<User, NatsConnection>();
const stripe = await FakeStripe.start();
let stack: RunningStack;
let journals: JournalWatch;

beforeAll(async () => {
  const payments = { STRIPE_SECRET_KEY: STRIPE_KEY, STRIPE_WEBHOOK_SECRET: STRIPE_SECRET, STRIPE_API_URL: stripe.url };
  const settings = { HOLD_SETTLED_EVENTS: 'true', REQUESTS_PER_MINUTE_DEFAULT: '600', CONCURRENCY_DEFAULT: '100' };
  stack = await startPrivateStack({
    layout: 'all',
    services: ['billing', 'catalog', 'gateway', 'panel', 'payments'],
    serviceEnv: { billing: settings, payments },
  });
  journals = await new JournalWatch(stack.databaseUrl).open();
  for (const user of ['cli', 'internal', 'gateway', 'inference-proxy', 'billing', 'crawler'] as const) {
    const pass = stack.natsPasswords[user];
    const inboxPrefix = user === 'crawler' ? '_INBOX.service.crawler' : `_INBOX.${user}`;
    connections.set(user, await connect({ servers: stack.natsUrl, user, pass, inboxPrefix }));
  }
});
afterAll(async () => {
  await Promise.all([...connections.values()].map((connection) => connection.close()));
  await journals?.close();
  await stack?.stop();
  await stripe.stop();
});

function as(user: User): NatsConnection {
  const connection = connections.get(user);
  if (!connection) throw new Error(`no connection as ${user}`);
  return connection;
}

async function ask(user: User, subject: string, payload: unknown): Promise<{ reply: Json; error: string | undefined }> {
  const body = typeof payload === 'string' ? Buffer.from(payload) : codec.encode(payload);
  const message: Msg = await as(user).request(subject, body, { timeout: 10_000 });
  return { reply: codec.decode(message.data) as Json, error: message.headers?.get('Tollgate-Error-Code') || undefined };
}

/** Replaces shell variables. */
function filledIn(payload: string, known: Record<string, string>): Json {
  return JSON.parse(payload.replace(/'\$(\w+)'/g, (_, name: string) => known[name] ?? '')) as Json;
}

/** Returns a UUID v7 of now. */
function makeHoldId(): string {
  const time = Date.now().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000001`;
}

const EVERY_TIME = /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/;
/** 32 bytes in base64. */
/** A public key of receipts, or its id. */
const RECEIPT_KEY = /^[0-9a-f]{16}([0-9a-f]{48})?$/;
const QUOTE_KEY = /^[A-Za-z0-9+/]{43}=$/;
/** Also that of an invite, which is a target of the journal. */
const EVERY_ID = /^(invite\/)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Removes values that change with every run: times, keys, durations, and ids that are not on the page. */
function timeless(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(timeless);
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([name, field]) => [
        name,
        ['milliseconds', 'validForMs', 'lastFour', 'nextCursor', 'link', 'auditDigest', 'digest'].includes(name) && field
          ? '…'
          : timeless(field),
      ]),
    );
  }
  if (typeof value !== 'string' || value.startsWith('0190a6f0-')) return value;
  if (value.startsWith('tg_')) return 'tg_…';
  if (value.startsWith('whsec_')) return 'whsec_…';
  if (RECEIPT_KEY.test(value) || QUOTE_KEY.test(value) || CHILD_PATH.test(value)) return '…';
  return value.replace(EVERY_TIME, (time) => (time.startsWith('2099') ? time : '…')).replace(EVERY_ID, '…');
}

/** Variables of the examples for a child key. */
function describeChildKey(childId: string, key: string): Record<string, string> {
  const { signed = '', signature = Buffer.alloc(0) } = parseChildKey(key) ?? {};
  return { CHILD_ID: childId, CHILD_SIGNED: signed, CHILD_PROOF: proveSignature(signature) };
}

/** Makes a person of the panel. Returns their e-mail. */
async function acceptInvite(): Promise<string> {
  const email = 'eve@example.com';
  const { reply } = await ask('cli', 'panel.v1.invite.create', { role: 'auditor', email });
  const body = JSON.stringify({ token: String(reply.link).replace(/^.*#/, ''), password: 'a quiet orange river' });
  const headers = { origin: stack.panelUrl, 'content-type': 'application/json' };
  const response = await fetch(`${stack.panelUrl}/panel/v1/invites/accept`, { method: 'POST', headers, body });
  if (response.status !== 201) throw new Error(await response.text());
  return email;
}

interface Document {
  channels: Record<string, { address: string | null; messages: { request?: { payload: { $ref: string } } } }>;
  components: { schemas: Record<string, { required?: string[] }> };
}

const DOCUMENT = parse(readFileSync('docs/asyncapi.yaml', 'utf8')) as Document;
const ajv = new Ajv({ strict: false, validateFormats: false });
ajv.addSchema(DOCUMENT, 'asyncapi');

/** Returns the address of a subject of an internal service in the document. */
function withoutUser(subject: string): string {
  return subject.replace(/\.by\.crawler$/, '');
}

/** Faults of a message against docs/asyncapi.yaml. */
function listFaults(subject: string, what: 'request' | 'reply' | 'event' | 'error', value: unknown): unknown {
  const [name] = Object.entries(DOCUMENT.channels).find(([, { address }]) => address === withoutUser(subject)) ?? [];
  const path = what === 'error' ? 'components/messages/error' : `channels/${name}${what === 'reply' ? 'Reply' : ''}/messages/${what}`;
  const validate = ajv.getSchema(`asyncapi#/${path}/payload`);
  if (!validate) throw new Error(`${subject} has no ${what} in docs/asyncapi.yaml`);
  return validate(value) ? undefined : validate.errors;
}

describe('the examples of the page', () => {
  const heard = new Map<string, unknown[]>();
  const now = new Date().toISOString();
  const known: Record<string, string> = { TODAY: now.slice(0, 10), MONTH: now.slice(0, 7), HOLD_ID: makeHoldId() };
  /** Rows that were written: subject, action and user. */
  const writers = new Set<string>();
  const watched = (user: User, subject: string, request: Json) =>
    journals.during(
      () => ask(user, subject, request),
      ({ via }) => via !== null,
    );
  /** Returns the id of an event of the account. */
  const hearEventId = async (): Promise<string> => {
    const events = heard.get('billing.v1.event.balance-low') as { eventId: string }[];
    while (events.length === 0) await new Promise((resolve) => setImmediate(resolve));
    return events[0]?.eventId ?? '';
  };
  const noteRows = (subject: string, rows: readonly WrittenRow[]): void => {
    for (const { action, via } of rows) writers.add(`${subject}: ${action} by ${via}`);
  };

  beforeAll(async () => {
    for (const { user, subject } of EVENTS) {
      heard.set(subject, []);
      as(user).subscribe(subject, { callback: (_, message) => heard.get(subject)?.push(codec.decode(message.data)) });
    }
    await Promise.all([...connections.values()].map((connection) => connection.flush()));
    // The gateway has no traffic, and no inference-proxy runs: their own tests have the events that they publish.
    for (const user of ['gateway', 'inference-proxy'] as const)
      for (const { subject, event } of EVENTS)
        if (subject.startsWith(`${user.split('-')[0]}.`)) as(user).publish(subject, codec.encode(event));
    // The examples do not cause these money events: `money-events.integration.test.ts` and `event-deliverer.integration.test.ts` do.
    for (const { subject, event } of EVENTS)
      if (/\.(budget-\w+|key-expiring|account-frozen|ledger-fault|spend-unusual)$/.test(subject))
        as('billing').publish(subject, codec.encode(event));
  });

  test.each(EXAMPLES.map((example, index) => [`${index + 1}: ${example.subject}`, example] as const))('%s', async (_, example) => {
    const { user, subject, payload, reply: expected } = example;
    if (payload.includes('$EVENT_ID')) known.EVENT_ID = await hearEventId();
    const request = filledIn(payload, known);
    expect(listFaults(subject, 'request', request)).toBeUndefined();
    const { result, rows, changed } = await watched(user, subject, request);
    const { reply, error } = result;
    if (RECORDED.has(subject)) noteRows(subject, rows);
    else if (subject !== ROW_OF_ANOTHER) expect({ rows, changed }).toEqual({ rows: [], changed: [] });
    if (typeof reply.childId === 'string') Object.assign(known, describeChildKey(reply.childId, String(reply.key)));
    else if (typeof reply.key === 'string') known.KEY_DIGEST = createHash('sha256').update(reply.key).digest('hex');
    if (typeof reply.budgetId === 'string') known.BUDGET_ID = reply.budgetId;
    expect(listFaults(subject, error ? 'error' : 'reply', reply)).toBeUndefined();
    expect(timeless(reply)).toEqual(timeless(expected));
  });

  test('every recorded subject writes a row with its user, and the example of no other changes anything [sec-audit-row]', async () => {
    const email = await acceptInvite();
    noteRows('panel.v1.session.end', (await watched('cli', 'panel.v1.session.end', { email })).rows);
    noteRows('panel.v1.user.update', (await watched('cli', 'panel.v1.user.update', { email, disabled: true })).rows);
    const actions = parse(readFileSync('scripts/permissions/records.yaml', 'utf8')) as Record<string, string>;
    const expected = [...RECORDED].filter((subject) => !PROVEN_ELSEWHERE.includes(subject));
    const known = expected.flatMap((subject) =>
      (actions[subject] ?? '').split(/ (?:and|or) /).map((action) => `${subject}: ${action} by cli`),
    );
    expect(known).toEqual(expect.arrayContaining([...writers]));
    expect(expected.filter((subject) => ![...writers].some((row) => row.startsWith(`${subject}:`)))).toEqual([]);
  });

  test.each(EVENTS.map((event) => [event.subject, event] as const))('%s was published', async (subject, { event }) => {
    while (heard.get(subject)?.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const [first] = heard.get(subject) ?? [];
    expect(listFaults(subject, 'event', first)).toBeUndefined();
    expect(timeless(first)).toEqual(timeless(event));
  });

  test('repeated requests with unknown fields change nothing: every operation with an id is done once', async () => {
    const { accountId } = filledIn(EXAMPLES[0]?.payload ?? '{}', known) as { accountId: string };
    const books = () =>
      Promise.all([
        ask('internal', 'billing.v1.balance.get', { accountId }),
        ask('internal', 'billing.v1.movement.list', { accountId }),
        ask('internal', 'billing.v1.usage.query', { accountId, from: known.TODAY, to: '2099-01-01' }).then(() => undefined),
        ask('cli', 'billing.v1.project.list', { accountId }),
        ask('cli', 'billing.v1.key.list', { accountId }),
        ask('cli', 'billing.v1.hold.list', { accountId }),
      ]);
    const before = await books();
    const outcomes: unknown[] = [];
    const written: string[] = [];
    for (const { user, subject, payload } of EXAMPLES) {
      const request = { ...filledIn(payload, known), 'a field of version 2': { deep: [1] } };
      const { result, rows } = await watched(user, subject, request);
      if (result.error) outcomes.push([subject, result.error]);
      written.push(...rows.map(({ action }) => action));
    }
    // Acts, and what another example has ended or an example without an id makes anew.
    expect(written).toEqual([
      ...['plan.subscribe', 'plan.cancel', 'usage.rebuild', 'ledger.check', 'upstream.test', 'invite.withdraw', 'invite.create'],
      ...['auto-topup.set', 'auto-topup.remove', 'child-key.create'],
      ...['budget.create', 'webhook.create', 'webhook.update', 'webhook.update', 'webhook.test', 'webhook.resend'],
      ...['webhook.rotate', 'webhook.replay', 'webhook.remove'],
    ]);
    expect(await books()).toEqual(before);
    expect(outcomes).toEqual([
      ['billing.v1.key.create', 'conflict'],
      ['billing.v1.key.resolve', 'invalid_api_key'],
      ['billing.v1.refund.create', 'insufficient_balance'],
      ['billing.v1.credit-note.create', 'conflict'],
      ['billing.v1.month.close', 'conflict'],
      ['billing.v1.month.detach', 'conflict'],
      ['billing.v1.month.attach', 'conflict'],
      ['billing.v1.month.read', 'not_found'],
      ['billing.v1.receipt.show', 'conflict'],
      ['billing.v1.own-key.receipt', 'conflict'],
      ['billing.v1.receipt.list', 'not_found'],
      // The catalog of the page has no services.
      ['gateway.v1.item.reserve.by.crawler', 'not_found'],
      ['panel.v1.user.update', 'not_found'],
      ['panel.v1.session.end', 'not_found'],
      ['panel.v1.second-factor.reset', 'not_found'],
      ['billing.v1.key.rotate', 'conflict'],
      ['billing.v1.budget.values', 'not_found'],
      ['billing.v1.budget.remove', 'not_found'],
    ]);
  });
});

test('the question to a policy and its verdict are those of the contract', () => {
  const examples = ON_PAGE.filter(isPolicyQuestion).map(({ payload, reply }) => ({ request: JSON.parse(payload) as unknown, reply }));
  expect(examples).toHaveLength(1);
  for (const { request, reply } of examples) {
    expect(listFaults('policy.v1.decide.*', 'request', request)).toBeUndefined();
    expect(listFaults('policy.v1.decide.*', 'reply', reply)).toBeUndefined();
  }
});

describe('invalid requests get typed errors', () => {
  const subjects = [...new Map(EXAMPLES.map(({ user, subject }) => [subject, user]))];

  test.each(subjects)('%s refuses anything but a JSON object', async (subject, user) => {
    expect(await ask(user, subject, '{"accountId":')).toMatchObject({ error: 'invalid_json', reply: { code: 'invalid_json' } });
    expect(await ask(user, subject, '[]')).toMatchObject({ error: 'invalid_request' });
  });

  const demanding = subjects.flatMap(([subject, user]) => {
    const channel = Object.values(DOCUMENT.channels).find(({ address }) => address === withoutUser(subject));
    const name = channel?.messages.request?.payload.$ref.split('/').at(-1) ?? '';
    const fields = DOCUMENT.components.schemas[name]?.required ?? [];
    return fields.map((field) => [subject, field, user, fields] as const);
  });
  test.each(demanding)('%s names %s when it is missing or has a wrong type', async (subject, field, user, fields) => {
    const example = filledIn(EXAMPLES.find((candidate) => candidate.subject === subject)?.payload ?? '{}', {
      TODAY: '2026-01-01',
      MONTH: '2026-01',
      HOLD_ID: makeHoldId(),
      KEY_DIGEST: 'a'.repeat(64),
      CHILD_SIGNED: 'tg_child_a',
      CHILD_PROOF: 'a'.repeat(64),
      CHILD_ID: '1798761600-9f86d081884c7d65',
      EVENT_ID: '0190a6f0-7c1e-7000-8000-0000000000c1',
    });
    expect(fields.every((name) => name in example)).toBe(true);
    const { [field]: _, ...without } = example;
    for (const wrong of [without, { ...example, [field]: { no: 'text' } }]) {
      const { reply, error } = await ask(user, subject, wrong);
      expect({ error, code: reply.code }).toEqual({ error: 'invalid_request', code: 'invalid_request' });
      expect(String(reply.param)).toMatch(new RegExp(`^${field}\\b`));
      expect(listFaults(subject, 'error', reply)).toBeUndefined();
    }
  });
});

test('service discovery lists exactly the subjects of the page', async () => {
  const served: string[] = [];
  for (const service of ['billing', 'catalog', 'gateway', 'panel', 'payments']) {
    const { reply } = await ask('cli', `$SRV.INFO.${service}`, {});
    const subjects = (reply.endpoints as { subject: string }[]).map(({ subject }) => subject);
    expect(subjects).toContain(replicaStatus.subject);
    const own = subjects.filter((subject) => subject !== replicaStatus.subject);
    served.push(...own.map((subject) => subject.replace(/\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, '.<replicaId>')));
  }
  const examples = [...new Set(EXAMPLES.map(({ subject }) => subject.replace(/crawler$/, '*')))];
  const ofUsers = [...RECORDED].map((subject) => `${subject}.by.*`);
  const documented = [...examples, ...ofUsers, 'billing.v1.hold.apply.<replicaId>'];
  expect(served.sort()).toEqual(documented.sort());
  expect(PAGE).toContain(`request --replies 0 --timeout 1s ${replicaStatus.subject} '{}'`);
  expect(served.filter((subject) => !/^(billing|catalog|gateway|panel|payments)\.v1\./.test(subject))).toEqual([]);
});

test('an unknown version of a subject has no listener', async () => {
  const next = as('cli').request('billing.v2.account.create', codec.encode({ name: 'x' }), { timeout: 300 });
  await expect(next).rejects.toMatchObject({ code: expect.stringMatching(/503|PERMISSIONS_VIOLATION|TIMEOUT/) });
});
