import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, headers, type Msg, type NatsConnection } from 'nats';
import { pino } from 'pino';
import { POLICY_REPLY_BYTES_MAX } from '#contracts/policy.js';
import { connectMessaging } from '#messaging/connect-messaging.js';
import type { Messaging } from '#messaging/messaging.js';
import { startNatsServer, type TestNatsServer } from '#testing/nats-server.js';
import { PolicyClient, PolicyFailure } from './policy.js';

/** Policies on a real server: those that harm, and the one of examples/policy-secrets. */

const CONFIG = new URL('../../../../config/nats-passwords.conf', import.meta.url).pathname;
const USERS = ['GATEWAY', 'BILLING', 'CATALOG', 'INFERENCE_PROXY', 'PANEL', 'PAYMENTS', 'CLI', 'INTERNAL', 'CRAWLER', 'POLICY'];
const PASSWORD = 'secret';
const ID = '0190a6f0-7c1e-7000-8000-000000000001';
const FACTS = {
  ...{ requestId: 'req_1', accountId: ID, projectId: ID, keyId: ID, model: 'm', stream: false },
  ...{ promptTokensEstimate: 1, outputTokensMax: 1, images: 0 },
};

let server: TestNatsServer;
let messaging: Messaging;
let policy: NatsConnection;
let client: PolicyClient;
let example: ChildProcess | undefined;
beforeAll(async () => {
  server = await startNatsServer(['-c', CONFIG], Object.fromEntries(USERS.map((user) => [`NATS_${user}_PASSWORD`, PASSWORD])));
  const connection = { url: server.url, user: 'gateway', password: PASSWORD, service: 'gateway' };
  messaging = await connectMessaging({ ...connection, logger: pino({ level: 'silent' }) });
  policy = await connect({ servers: server.url, user: 'policy', pass: PASSWORD });
  client = new PolicyClient(messaging);
});
afterAll(async () => {
  if (example?.kill()) await once(example, 'exit');
  await policy?.close();
  await messaging?.close();
  await server?.stop();
});

async function askWhile(name: string, answer: (question: Msg) => void, timeoutMs = 4_000): Promise<unknown> {
  const subscription = policy.subscribe(`policy.v1.decide.${name}`, { queue: 'policy', callback: (_, question) => answer(question) });
  await policy.flush();
  try {
    return await client.ask(name, FACTS, '[]', { timeoutMs, signal: new AbortController().signal, trace: undefined });
  } catch (error) {
    return error instanceof PolicyFailure ? error.reason : error;
  } finally {
    subscription.unsubscribe();
  }
}

test('a policy gets the question, and how long it has', async () => {
  let question: unknown;
  const reply = await askWhile('allows', (message) => {
    question = { body: message.json(), timeout: message.headers?.get('Tollgate-Timeout-Ms') };
    message.respond('{"verdict":"allow"}');
  });
  expect({ question, reply }).toEqual({ question: { body: { ...FACTS, texts: [] }, timeout: '4000' }, reply: { verdict: 'allow' } });
});

const announced = (bytes: string, from: string) => {
  const result = headers();
  result.set('Tollgate-Payload-Bytes', bytes);
  result.set('Tollgate-Payload-From', from);
  return result;
};
const failed = () => {
  const result = headers();
  result.set('Nats-Service-Error-Code', '500');
  result.set('Nats-Service-Error', 'I saw a key');
  return result;
};

test.each<[string, string, (question: Msg) => void]>([
  ['is silent', 'timeout', () => undefined],
  ['replies no JSON', 'invalid', (question) => question.respond('allow')],
  ['replies deep JSON', 'invalid', (question) => question.respond('['.repeat(100_000))],
  ['replies too much', 'invalid', (question) => question.respond(JSON.stringify({ verdict: 'x'.repeat(POLICY_REPLY_BYTES_MAX) }))],
  [
    'offers pieces of a large reply',
    'invalid',
    (question) => question.respond('', { headers: announced('9000000', question.reply ?? '') }),
  ],
  ['replies an error', 'error', (question) => question.respond('', { headers: failed() })],
])('a policy that %s fails: %s', async (_name, reason, answer) => {
  expect(await askWhile('harms', answer, 300)).toBe(reason);
});

test('a policy that no program answers for fails at once', async () => {
  const asked = client.ask('nobody', FACTS, undefined, { timeoutMs: 60_000, signal: new AbortController().signal, trace: undefined });
  await expect(asked).rejects.toMatchObject({ reason: 'unavailable' });
});

test('a question that is aborted ends at once', async () => {
  const stop = new AbortController();
  policy.subscribe('policy.v1.decide.slow', { callback: () => stop.abort() });
  await policy.flush();
  const asked = client.ask('slow', FACTS, undefined, { timeoutMs: 60_000, signal: stop.signal, trace: undefined });
  await expect(asked).rejects.toMatchObject({ reason: 'timeout' });
});

test('the policy of examples/policy-secrets redacts tokens, counted in code points', async () => {
  const env = { PATH: process.env.PATH, NATS_URL: server.url, NATS_POLICY_PASSWORD: PASSWORD };
  example = spawn(process.execPath, ['examples/policy-secrets/serve.mjs'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(example.stdout as NonNullable<typeof example.stdout>, 'data')) as [Buffer];
  expect(line.toString()).toBe('answers policy.v1.decide.secrets\n');
  const token = 'xoxb-123456789012-1234567890123-abcdefghijklmnopqrstuvwx';
  const texts = [
    { kind: 'system', text: 'Be brief.' },
    { kind: 'user', text: `\u{1F511} Use ${token}, please.` },
  ];
  const options = { timeoutMs: 20_000, signal: new AbortController().signal, trace: undefined };
  expect(await client.ask('secrets', FACTS, JSON.stringify(texts), options)).toEqual({
    verdict: 'allow',
    redact: [{ text: 1, start: 6, end: 6 + token.length }],
  });
});
