import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import type { PinnedPrice } from '#contracts/billing/holds.js';
import { keyResolve } from '#contracts/billing/keys.js';
import { balanceGet } from '#contracts/billing/money.js';
import { ownKeyShow } from '#contracts/billing/own-key.js';
import { quoteKey } from '#contracts/billing/quotes.js';
import { type PolicyDecideRequest, policyDecide, type RedactedSpan } from '#contracts/policy.js';
import { ACCOUNT_LINES_BYTES } from '#inference/added-texts.js';
import { computeCost } from '#money/price.js';
import { parsePrice } from '#money/price-plan.js';
import { FakeServices, TEST_CALLER, TEST_KEY } from '#testing/fake-services.js';
import { testCases } from '#testing/long-run.js';
import { JSON_TYPE, startTestGateway, type TestGateway } from '../../../test/test-gateway.js';

/** The upstream gets the redacted texts and nothing else, in each client format, and the hold is made of them. */

const POLICY = { name: 'secrets', deadlineMs: 5_000, fail: 'closed', sendText: true } as const;
/** Characters that the mark does not have, so that none of a span may be left. */
const SECRETS = ['\u{1F511}', '\u{1D54F}', '中', 'Z', '7'];
const OTHERS = ['\u{1F600}', 'é', ' ', 'x', '\u0301'];
const PRICE = { input: 150_000n, output: 600_000n };
const FORMATS = {
  chat: (system: string, user: string, tool: string) => ({
    path: '/v1/chat/completions',
    body: {
      max_tokens: 10,
      messages: [
        { role: 'system', content: system },
        { role: 'user', content: user },
        { role: 'assistant', content: null, tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }] },
        { role: 'tool', tool_call_id: 'c1', content: tool },
      ],
    },
  }),
  responses: (system: string, user: string, tool: string) => ({
    path: '/v1/responses',
    body: {
      max_output_tokens: 10,
      instructions: system,
      input: [
        { role: 'user', content: user },
        { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c1', output: tool },
      ],
    },
  }),
  messages: (system: string, user: string, tool: string) => ({
    path: '/v1/messages',
    body: {
      max_tokens: 10,
      system,
      messages: [
        { role: 'user', content: user },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'look', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: tool }] },
      ],
    },
  }),
};

const fakes = new FakeServices();
let gateway: TestGateway;
let decide: (question: PolicyDecideRequest) => RedactedSpan[];
/** The output cap of the policy. */
let cap: number | undefined;
beforeAll(async () => {
  fakes.models = fakes.models.map((model) => ({ ...model, contextTokens: 10_000_000 }));
  fakes.messaging.answer(keyResolve, () => ({ ...TEST_CALLER, policy: POLICY }));
  fakes.messaging.answer(policyDecide.named('secrets'), (question) => ({
    ...{ verdict: 'allow' as const, redact: decide(question) },
    ...(cap !== undefined && { outputTokensMax: cap }),
  }));
  const key = randomBytes(32).toString('base64');
  fakes.messaging.answer(quoteKey, () => ({ key }));
  fakes.messaging.answer(balanceGet, () => ({ available_pico_usd: '1000000000000' }) as never);
  fakes.messaging.answer(ownKeyShow, () => ({ accountId: TEST_CALLER.accountId, budgets: [] }) as never);
  gateway = await startTestGateway({}, fakes);
});
afterAll(() => gateway.close());

async function send(format: keyof typeof FORMATS, texts: readonly [string, string, string]) {
  const { path, body } = FORMATS[format](...texts);
  const headers = { authorization: `Bearer ${TEST_KEY}`, ...JSON_TYPE };
  const { status } = await gateway.ask(path, { headers, body: { model: 'test-model', ...body } });
  return { status, sent: fakes.opened.pop()?.request, reserve: fakes.reserves.pop() };
}

/** A span for each run of secret characters. */
function findSecrets({ texts = [] }: PolicyDecideRequest): RedactedSpan[] {
  return texts.flatMap(({ text }, index) => {
    const spans: RedactedSpan[] = [];
    for (const [at, character] of [...text].entries()) if (SECRETS.includes(character)) spans.push({ text: index, start: at, end: at + 1 });
    return spans;
  });
}

const hide = (text: string): string => text.replace(new RegExp(`[${SECRETS.join('')}]+`, 'gu'), '[redacted]');
/** No text is empty or white space, which formats drop. */
const text = fc.array(fc.constantFrom(...SECRETS, ...OTHERS), { maxLength: 20 }).map((characters) => `a${characters.join('')}b`);

testCases(
  'random texts and spans',
  { usual: 40, long: 20_000 },
  fc.tuple(fc.constantFrom('chat', 'responses', 'messages'), fc.tuple(text, text, text)),
  async ([format, texts]) => {
    decide = findSecrets;
    const { status, sent, reserve } = await send(format, texts);
    const [system, user, tool] = texts.map(hide);
    expect({ status, turns: sent?.turns }).toEqual({
      status: 200,
      turns: [
        { role: 'system', parts: [{ type: 'text', text: system }] },
        { role: 'user', parts: [{ type: 'text', text: user }] },
        { role: 'assistant', parts: [expect.objectContaining({ type: 'tool-call', argumentsText: '{}' })] },
        { role: 'tool', results: [{ callId: 'c1', parts: [{ type: 'text', text: tool }] }] },
      ],
    });
    for (const secret of SECRETS) expect(JSON.stringify(sent?.turns)).not.toContain(secret);
    const bytes = Buffer.byteLength(`${system}${user}${tool}look{}`);
    expect({ tokens: reserve?.amountTokens, amount: reserve?.amountPicoUsd }).toEqual({
      tokens: bytes + 10,
      amount: String(BigInt(bytes) * PRICE.input + 10n * PRICE.output),
    });
  },
);

test('a large body is read and redacted in a thread, and held by what is left', async () => {
  decide = findSecrets;
  const long = 'x'.repeat(400_000);
  const { status, sent, reserve } = await send('chat', ['a', `${long}\u{1F511}7Z\u{1F511}`, 'b']);
  expect({ status, turns: sent?.turns.slice(0, 2), tokens: reserve?.amountTokens }).toEqual({
    status: 200,
    turns: [
      { role: 'system', parts: [{ type: 'text', text: 'a' }] },
      { role: 'user', parts: [{ type: 'text', text: `${long}[redacted]` }] },
    ],
    tokens: 400_000 + 'a[redacted]blook{}'.length + ACCOUNT_LINES_BYTES + 10,
  });
});

test.each([
  ['a small body', 10],
  ['a large body', 400_000],
])('a span beyond the texts of %s is no verdict', async (_name, length) => {
  decide = ({ texts = [] }) => [{ text: 1, start: 0, end: (texts[1]?.text.length ?? 0) + 1 }];
  expect(await send('chat', ['a', 'x'.repeat(length), 'b'])).toEqual({ status: 503, sent: undefined, reserve: undefined });
});

test('spans that leave no JSON of arguments are no verdict, and those within a string are', async () => {
  const ask = async (span: { start: number; end: number }) => {
    decide = ({ texts = [] }) => [{ text: texts.findIndex(({ kind }) => kind === 'tool-call'), ...span }];
    const call = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{"key":"abc"}' } };
    const messages = [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c1', content: 'b' },
    ];
    const { status } = await gateway.chat({ messages });
    const [, turn] = fakes.opened.pop()?.request.turns ?? [];
    return { status, parts: turn?.role === 'assistant' ? turn.parts : undefined };
  };
  expect(await ask({ start: 0, end: 4 })).toEqual({ status: 503, parts: undefined });
  expect(await ask({ start: 8, end: 11 })).toEqual({
    status: 200,
    parts: [expect.objectContaining({ argumentsText: '{"key":"[redacted]"}' })],
  });
});

/** A redaction may lengthen a text, and upstreams may count anything: neither costs more than was quoted. */
testCases(
  'a quoted request holds and settles no more than its quote, whatever its policy leaves of texts and cap',
  { usual: 40, long: 10_000 },
  fc.record({
    ...{ format: fc.constantFrom('chat' as const, 'responses' as const, 'messages' as const), texts: fc.tuple(text, text, text) },
    ...{ outputTokensMax: fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined }), redacts: fc.boolean() },
    usage: fc.record({ promptTokens: fc.nat(500), cached: fc.nat(500), outputTokens: fc.nat(30) }),
  }),
  async ({ format, texts, outputTokensMax, redacts, usage }) => {
    decide = redacts ? findSecrets : () => [];
    cap = outputTokensMax;
    const { promptTokens, outputTokens } = usage;
    const reported = { promptTokens, outputTokens, cachedTokens: Math.min(usage.cached, promptTokens), reasoningTokens: 0 };
    const { model } = fakes;
    fakes.model = (stream) => {
      stream.write({ type: 'upstream-start', upstream: 'local' }, { type: 'text-delta', text: 'Hello.' });
      stream.write({ type: 'usage-report', usage: { ...reported, promptSource: 'reported', outputSource: 'reported' } });
      stream.write({ type: 'completion-finish', reason: 'stop' });
      stream.end();
    };
    try {
      const { path, body } = FORMATS[format](...texts);
      const ask = (at: string, more: object = {}) => {
        const headers = { authorization: `Bearer ${TEST_KEY}`, ...JSON_TYPE, ...more };
        return gateway.ask(at, { headers, body: { model: 'test-model', ...body } });
      };
      const signed = JSON.parse((await ask(`${path}/estimate?quote=true`)).text) as { quote: string; max_cost_pico_usd: string };
      const { status } = await ask(path, { 'x-tollgate-quote': signed.quote });
      const [reserve, settle] = [fakes.reserves.pop(), fakes.settles.pop()];
      const [quoted, held] = [BigInt(signed.max_cost_pico_usd), BigInt(reserve?.amountPicoUsd ?? -1)];
      const cost = settle?.usage ? computeCost(settle.usage, parsePrice(reserve?.price as PinnedPrice)) : -1n;
      expect({
        status,
        ordered: 0n <= cost && cost <= held && held <= quoted,
        output: (settle?.usage?.outputTokens ?? 99) <= (cap ?? 10),
      }).toEqual({
        ...{ status: 200, ordered: true, output: true },
      });
    } finally {
      cap = undefined;
      fakes.model = model;
    }
  },
);
