import { keyResolve } from '#contracts/billing/keys.js';
import type { ProjectPolicy } from '#contracts/billing/project-policy.js';
import { POLICY_REQUEST_BYTES_MAX, type PolicyDecideRequest, policyDecide } from '#contracts/policy.js';
import { ServiceError } from '#contracts/service-error.js';
import { type CallOptions, MessagingError } from '#messaging/messaging.js';
import { FakeServices, TEST_CALLER, TEST_KEY } from '#testing/fake-services.js';
import { type Answer, JSON_TYPE, startTestGateway, type TestGateway } from '../../../test/test-gateway.js';

const POLICY: ProjectPolicy = { name: 'secrets', deadlineMs: 2_000, fail: 'closed', sendText: true };

type Decide = (question: PolicyDecideRequest, options: CallOptions) => unknown;

/** A gateway whose project has a policy. */
async function gatewayWith(policy: ProjectPolicy, decide: Decide, fakes = new FakeServices()) {
  const questions: PolicyDecideRequest[] = [];
  fakes.messaging.answer(keyResolve, () => ({ ...TEST_CALLER, policy }));
  fakes.messaging.answer(policyDecide.named(policy.name), (question, options) => {
    questions.push(question);
    return decide(question, options) as never;
  });
  gateway = await startTestGateway({ activityEvents: true }, fakes);
  return { fakes, questions, gateway };
}

let gateway: TestGateway | undefined;
const closeGateway = async (): Promise<void> => {
  await gateway?.close();
  gateway = undefined;
};
afterEach(closeGateway);

/** Waits for a reply that does not come, as NATS does. */
const never: Decide = (_question, { signal }) =>
  new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(new MessagingError('closed', 'The call was aborted.'))));
const noted = (verdict: string) => ({ policy: 'secrets', 'policy-verdict': verdict });
const readError = ({ status, text }: Answer) => {
  const { code, message } = (JSON.parse(text) as { error: { code: string; message: string } }).error;
  return { status, code, message };
};
/** The last line of the access log. */
const lastLine = ({ logged }: TestGateway) => {
  const line = logged.findLast(({ msg }) => msg === 'request');
  return { policy: line?.policy, outcome: line?.policyOutcome, took: typeof line?.policyMs };
};

test('a policy is asked before the hold, with the texts of the prompt where the project sends them', async () => {
  const { fakes, questions, gateway } = await gatewayWith(POLICY, () => ({ verdict: 'allow' }));
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
  ];
  const { status } = await gateway.chat({ messages, max_tokens: 50, user: 'ann' });
  expect({ status, questions, line: lastLine(gateway) }).toEqual({
    status: 200,
    questions: [
      {
        ...TEST_CALLER,
        requestId: expect.stringMatching(/^req_/),
        model: 'test-model',
        stream: false,
        promptTokensEstimate: 3,
        outputTokensMax: 50,
        images: 0,
        attribution: { user: 'ann' },
        texts: [
          { kind: 'system', text: 'Be brief.' },
          { kind: 'user', text: 'Hi' },
        ],
      },
    ],
    line: { policy: 'secrets', outcome: 'allowed', took: 'number' },
  });
  expect(fakes.reserves.map(({ attribution }) => attribution)).toEqual([{ user: 'ann', ...noted('allowed') }]);
});

test('a project that does not send texts gets no spans from its policy', async () => {
  const { fakes, questions, gateway } = await gatewayWith({ ...POLICY, sendText: false }, () => ({
    verdict: 'allow',
    redact: [{ text: 0, start: 0, end: 1 }],
  }));
  const refused = readError(await gateway.chat());
  expect({ code: refused.code, texts: questions[0]?.texts, holds: fakes.reserves }).toEqual({
    code: 'model_unavailable',
    texts: undefined,
    holds: [],
  });
});

test('a denied request is 400 with the sentence of the policy, and makes no hold; journals get the policy without the sentence', async () => {
  const { fakes, gateway } = await gatewayWith(POLICY, () => ({ verdict: 'deny', message: 'Hi is not polite.' }));
  const published: unknown[] = [];
  fakes.messaging.publish = (_topic, event) => void published.push(event);
  expect(readError(await gateway.chat())).toEqual({
    status: 400,
    code: 'invalid_request',
    message: 'The policy secrets denies this request: Hi is not polite.',
  });
  const messages = {
    headers: { 'x-api-key': TEST_KEY, ...JSON_TYPE },
    body: { model: 'test-model', max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] },
  };
  expect(JSON.parse((await gateway.ask('/v1/messages', messages)).text)).toMatchObject({
    type: 'error',
    error: { type: 'invalid_request_error' },
  });
  expect({ holds: fakes.reserves, calls: fakes.opened, line: lastLine(gateway) }).toEqual({
    holds: [],
    calls: [],
    line: { policy: 'secrets', outcome: 'denied', took: 'number' },
  });
  await closeGateway();
  expect(published).toEqual([
    {
      requests: ['chat', 'messages'].map((protocol) =>
        expect.objectContaining({
          protocol,
          status: 400,
          message: 'The policy secrets denies this request.',
          attribution: noted('denied'),
        }),
      ),
    },
  ]);
});

test('hold, limits and budgets count what the policy left', async () => {
  const { fakes, gateway } = await gatewayWith(POLICY, () => ({
    verdict: 'allow',
    redact: [{ text: 0, start: 0, end: 1_000 }],
    outputTokensMax: 40,
    tags: { team: 'search', class: 'secret' },
  }));
  const tags = Array.from({ length: 16 }, (_, at) => `t${at}=x`).join(',');
  const { status } = await gateway.chat(
    { messages: [{ role: 'user', content: 'x'.repeat(1_000) }], max_tokens: 100 },
    { 'x-tollgate-tags': tags },
  );
  const [reserve] = fakes.reserves;
  const kept = Object.keys(reserve?.attribution ?? {}).filter((name) => name.startsWith('tag:'));
  expect({ status, tokens: reserve?.amountTokens, amount: reserve?.amountPicoUsd, kept: kept.length }).toEqual({
    status: 200,
    tokens: '[redacted]'.length + 40,
    amount: String(10 * 150_000 + 40 * 600_000),
    kept: 16,
  });
  expect(reserve?.attribution).toMatchObject({ 'tag:team': 'search', 'tag:class': 'secret', ...noted('changed') });
  expect(fakes.opened[0]?.ticket.outputTokensMax).toBe(40);
});

test('a cap above that of the request changes nothing', async () => {
  const { fakes, gateway } = await gatewayWith(POLICY, () => ({ verdict: 'allow', outputTokensMax: 900 }));
  await gateway.chat({ max_tokens: 100 });
  expect(fakes.opened[0]?.ticket.outputTokensMax).toBe(100);
});

const FAILURES: [name: string, outcome: string, decide: Decide, closed: RegExp][] = [
  ['is silent', 'timeout', never, /did not decide in time/],
  [
    'is not there',
    'unavailable',
    () => Promise.reject(new MessagingError('unavailable', 'No service listens on policy.v1.decide.secrets.')),
    /cannot be reached/,
  ],
  ['answers too much', 'invalid', () => Promise.reject(new MessagingError('broken', 'The reply is too large.')), /gave no valid verdict/],
  ['replies an error', 'error', () => Promise.reject(new ServiceError('internal_error', 'I saw AKIA')), /failed/],
  ['replies nonsense', 'invalid', () => ({ verdict: 'maybe' }), /gave no valid verdict/],
  ['redacts what is not there', 'invalid', () => ({ verdict: 'allow', redact: [{ text: 1, start: 0, end: 1 }] }), /gave no valid verdict/],
  ['redacts beyond a text', 'invalid', () => ({ verdict: 'allow', redact: [{ text: 0, start: 1, end: 3 }] }), /gave no valid verdict/],
];

describe.each(FAILURES)('a policy that %s', (_name, outcome, decide, closed) => {
  const policy = { ...POLICY, deadlineMs: 50 };

  test('refuses with 503 where it fails closed, without its words', async () => {
    const { fakes, gateway } = await gatewayWith(policy, decide);
    const answer = await gateway.chat();
    expect(readError(answer)).toEqual({ status: 503, code: 'model_unavailable', message: expect.stringMatching(closed) });
    expect({ holds: fakes.reserves, line: lastLine(gateway), retry: answer.headers['retry-after'] }).toEqual({
      holds: [],
      line: { policy: 'secrets', outcome, took: 'number' },
      retry: '1',
    });
    expect(JSON.stringify(gateway.logged)).not.toContain('AKIA');
  });

  test('lets the request run as it is where it fails open', async () => {
    const { fakes, gateway } = await gatewayWith({ ...policy, fail: 'open' }, decide);
    expect((await gateway.chat()).status).toBe(200);
    expect(fakes.opened[0]?.request.turns).toEqual([{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }]);
    expect(fakes.reserves[0]?.attribution).toEqual(noted('failed-open'));
  });
});

test('a prompt that does not fit a message is not sent: 413 where the policy fails closed', async () => {
  const { questions, gateway } = await gatewayWith(POLICY, () => ({ verdict: 'allow' }), new FakeServices());
  gateway.fakes.models = gateway.fakes.models.map((model) => ({ ...model, contextTokens: 10_000_000 }));
  gateway.fakes.messaging.reconnect();
  const content = 'x'.repeat(POLICY_REQUEST_BYTES_MAX);
  await expectEventually(async () => readError(await gateway.chat({ messages: [{ role: 'user', content }] })), {
    status: 413,
    code: 'request_too_large',
    message: 'The prompt is too long for the policy secrets of this project. Shorten the prompt.',
  });
  expect(questions).toEqual([]);
});

/** The catalog is read again after a reconnect. */
async function expectEventually(read: () => Promise<unknown>, expected: unknown): Promise<void> {
  for (let attempt = 0; attempt < 50; attempt++) {
    const value = await read();
    if (JSON.stringify(value) === JSON.stringify(expected)) break;
  }
  expect(await read()).toEqual(expected);
}

test('a client that leaves ends the question, and its request makes no hold', async () => {
  let signal: AbortSignal | undefined;
  const asked = Promise.withResolvers<void>();
  const { fakes, gateway } = await gatewayWith(POLICY, (question, options) => {
    ({ signal } = options);
    asked.resolve();
    return never(question, options);
  });
  const client = new AbortController();
  const body = JSON.stringify({ model: 'test-model', messages: [{ role: 'user', content: 'Hi' }] });
  const headers = { authorization: `Bearer ${TEST_KEY}`, ...JSON_TYPE };
  const reply = fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body, signal: client.signal }).catch(() => 'left');
  await asked.promise;
  client.abort();
  expect(await reply).toBe('left');
  await closeGateway();
  expect({ aborted: signal?.aborted, holds: fakes.reserves, calls: fakes.opened }).toEqual({ aborted: true, holds: [], calls: [] });
});

test('estimates and counts of tokens do not ask', async () => {
  const { questions, gateway } = await gatewayWith(POLICY, never);
  const body = { model: 'test-model', messages: [{ role: 'user', content: 'Hi' }] };
  const headers = { 'x-api-key': TEST_KEY, ...JSON_TYPE };
  const { status } = await gateway.ask('/v1/messages/count_tokens', { headers, body });
  expect({ status, questions }).toEqual({ status: 200, questions: [] });
});
