import { randomUUID } from 'node:crypto';
import { connect, type NatsConnection } from 'nats';
import type { ProjectPolicy } from '#contracts/billing/project-policy.js';
import { projectUpdate } from '#contracts/billing/projects.js';
import { type BilledRequest, requestShow } from '#contracts/billing/requests.js';
import type { PolicyDecideRequest, PolicyVerdict } from '#contracts/policy.js';
import type { Messaging } from '#messaging/messaging.js';
import { type CatalogEntries, offerModels, withdrawModels } from '#testing/offered-models.js';
import { catalogStack } from '#testing/stack.js';
import { connectAdministrator, createTenant, type Tenant } from '#testing/tenant.js';
import { runCli } from '../../apps/cli/src/run-cli.js';
import { type SimServer, startSimServer } from '../../apps/upstream-sim/src/sim-server.js';

/** Projects with a policy on the running system. The test answers for the policy, and hears what the upstream gets. */

const facts = catalogStack();
const SUITE = randomUUID().slice(0, 8);
const MODEL = `policy-${SUITE}`;
const SECRET = 'zebra-4f7a\u{1F511}';
const TEXT = `Keep ${SECRET} to yourself`;
const TURNS = [{ role: 'user', content: TEXT }];
const FORMATS: [path: string, body: object][] = [
  ['/v1/chat/completions', { messages: TURNS, max_tokens: 50 }],
  ['/v1/responses', { input: TEXT, max_output_tokens: 50 }],
  ['/v1/messages', { messages: TURNS, max_tokens: 50 }],
];

let sim: SimServer;
let administrator: Messaging;
let entries: CatalogEntries;
let policy: NatsConnection;
beforeAll(async () => {
  const connection = { servers: facts.natsUrl, user: 'policy', pass: facts.natsPasswords.policy };
  [sim, administrator, policy] = await Promise.all([
    startSimServer({ host: '127.0.0.1', port: 0, record: true }),
    connectAdministrator(facts),
    connect(connection),
  ]);
  const price = { inputUsdPerMTok: '0.15', cachedInputUsdPerMTok: '0.015', outputUsdPerMTok: '0.60' };
  const model = {
    ...{ id: MODEL, ownedBy: 'tests', contextTokens: 8_192, maxOutputTokens: 1_024, input: ['text'] },
    reasoning: false,
    price,
  };
  entries = {
    upstreams: [{ id: MODEL, kind: 'openai-chat', baseUrl: `${sim.url}/v1`, allowPrivateNetwork: true } as { id: string }],
    models: [{ ...model, routes: [{ upstream: MODEL, model: 'sim-fast' }] } as { id: string }],
  };
  await offerModels(administrator, facts, (await createTenant(administrator)).apiKey, entries);
});
afterAll(async () => {
  await withdrawModels(administrator, entries);
  await Promise.all([policy?.close(), administrator?.close(), sim?.close()]);
});

/** Makes a project whose policy is known before its first request. */
async function tenantWith(own: Pick<ProjectPolicy, 'name' | 'fail'>): Promise<Tenant> {
  const tenant = await createTenant(administrator);
  const whole = { ...own, deadlineMs: 5_000, sendText: true };
  await administrator.request(projectUpdate, { projectId: tenant.projectId, policy: whole });
  return tenant;
}

async function answerWith(name: string, decide: (question: PolicyDecideRequest) => PolicyVerdict): Promise<void> {
  policy.subscribe(`policy.v1.decide.${name}`, {
    callback: (_, question) => void question.respond(JSON.stringify(decide(question.json<PolicyDecideRequest>()))),
  });
  await policy.flush();
}

async function send({ apiKey }: Tenant, [path, body]: [string, object]) {
  const response = await fetch(facts.gatewayUrl + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: MODEL, ...body }),
  });
  return { status: response.status, text: await response.text(), requestId: response.headers.get('x-request-id') ?? '' };
}

const show = (requestId: string): Promise<BilledRequest> => administrator.request(requestShow, { requestId });
/** All that the upstream got since this was last called. */
async function heard(): Promise<string> {
  const text = await (await fetch(`${sim.url}/sim/requests`)).text();
  await fetch(`${sim.url}/sim/requests`, { method: 'DELETE' });
  return text;
}

async function showOnCommandLine(requestId: string): Promise<string> {
  let text = '';
  const write = (more: string): void => {
    text += more;
  };
  await runCli(['request', 'show', requestId], { writeOut: write, writeErr: write }, () => connectAdministrator(facts));
  return text;
}

test.each(FORMATS)('%s: a redacted prompt reaches the upstream without the secret, and no text is kept', async (...format) => {
  const name = `redacts-${randomUUID().slice(0, 8)}`;
  await answerWith(name, ({ texts = [] }) => {
    const start = [...(texts[0]?.text.split(SECRET)[0] ?? '')].length;
    return { verdict: 'allow', redact: [{ text: 0, start, end: start + [...SECRET].length }], tags: { checked: 'yes' } };
  });
  const tenant = await tenantWith({ name, fail: 'closed' });
  const { status, requestId } = await send(tenant, format);
  const sent = await heard();
  expect([status, sent.includes('Keep [redacted] to yourself'), sent.includes('zebra')]).toEqual([200, true, false]);
  const [shown, printed] = [await show(requestId), await showOnCommandLine(requestId)];
  expect(shown.attribution).toMatchObject({ policy: name, 'policy-verdict': 'changed', 'tag:checked': 'yes' });
  for (const line of [name, 'changed']) expect(printed).toContain(line);
  for (const text of ['zebra', 'yourself']) expect([JSON.stringify(shown).includes(text), printed.includes(text)]).toEqual([false, false]);
});

test.each<['closed' | 'open', number, string]>([
  ['closed', 503, 'failed-closed'],
  ['open', 200, 'failed-open'],
])('a project without a running policy that fails %s answers %i', async (fail, expected, verdict) => {
  const name = `dead-${fail}-${SUITE}`;
  const { status, text, requestId } = await send(await tenantWith({ name, fail }), FORMATS[0] as [string, object]);
  const sent = await heard();
  expect([status, sent.includes(SECRET)]).toEqual([expected, fail === 'open']);
  if (fail === 'open') expect((await show(requestId)).attribution).toMatchObject({ policy: name, 'policy-verdict': verdict });
  else
    expect(JSON.parse(text)).toMatchObject({
      error: { code: 'model_unavailable', message: expect.stringContaining(`The policy ${name} of this project`) },
    });
});
