import type { SettleRequest } from '#contracts/billing/holds.js';
import { ServiceError } from '#contracts/service-error.js';
import { NO_REASONING } from '#inference/added-texts.js';
import { GatewayError } from '#inference/errors.js';
import type { InferenceRequest } from '#inference/request.js';
import type { FinishReason, StreamEvent } from '#inference/stream-event.js';
import type { AssistantTurn } from '#inference/turn.js';
import type { Usage } from '#inference/usage.js';
import { MessagingError } from '#messaging/messaging.js';
import { computeCost, type Price } from '#money/price.js';
import { createLogger } from '#observability/logger.js';
import type { FakeEventStream } from '#testing/fake-messaging.js';
import { FakeServices, HELLO, TEST_CALLER } from '#testing/fake-services.js';
import { estimatedUsage, reportedUsage } from '#testing/token-usage.js';
import { LocalTrace, RecordedSpan } from '#tracing/recorded-span.js';
import { type TraceContext, unsampledContext } from '#tracing/trace-context.js';
import type { Span } from '#tracing/tracer.js';
import { BillingClient } from '../clients/billing.js';
import { BillingReplicas } from '../clients/billing-replicas.js';
import { CatalogClient } from '../clients/catalog.js';
import { InferenceClient } from '../clients/inference.js';
import type { InferenceRecord, InferenceServices } from './inference-call.js';
import type { Reply } from './reply.js';
import { runInference } from './run-inference.js';
import { SettleOnEnd } from './settle-on-end.js';

const TEST_PRICE: Price = { inputPicoUsd: 150_000n, cachedInputPicoUsd: 15_000n, outputPicoUsd: 600_000n };
const BY_GATEWAY = { accountId: TEST_CALLER.accountId, settledBy: 'gateway' };
const PROMPT = 'Twelve bytes';
const REPORT = reportedUsage(9, 2, { cachedTokens: 4 });
const TEXT: StreamEvent = { type: 'text-delta', text: 'Hello' };
const USAGE: StreamEvent = { type: 'usage-report', usage: REPORT };
const START = { type: 'upstream-start', upstream: 'local' } satisfies StreamEvent;
const FINISH: StreamEvent = { type: 'completion-finish', reason: 'stop' };
const FAILURE: StreamEvent = { type: 'completion-failure', code: 'upstream_timeout', message: 'The model took too long.' };

class RecordedReply implements Reply {
  readonly events: StreamEvent[] = [];
  finished: { reason: FinishReason; usage: Usage } | undefined;
  private readonly client = new AbortController();
  readonly stopped = this.client.signal;
  send(batch: readonly StreamEvent[]): undefined {
    this.events.push(...batch);
  }
  finish(reason: FinishReason, usage: Usage): void {
    this.finished = { reason, usage };
  }
  stop(error?: GatewayError): void {
    this.client.abort(error);
  }
}

async function setUp(answerMs = 1_000, pendingMax = 100) {
  const fakes = new FakeServices();
  const logger = createLogger('test', 'silent');
  const billing = new BillingClient(fakes.messaging, new BillingReplicas(fakes.messaging), 1_000);
  const catalog = new CatalogClient(fakes.messaging, logger, 60_000);
  await catalog.refresh();
  const settlements = new SettleOnEnd(billing, logger, { settleAnswerMs: answerMs, settlementsPendingMax: pendingMax, settleFlushMs: 0 });
  const policies = { apply: () => Promise.reject(new Error('the project has no policy')) };
  const services: InferenceServices = { catalog, billing, inference: new InferenceClient(fakes.messaging), settlements, policies };
  const record: InferenceRecord = {};
  const reply = new RecordedReply();
  const run = (over: Partial<InferenceRequest> = {}, trace?: TraceContext, span?: Span) =>
    runInference(services, { request: request(over), caller: TEST_CALLER, requestId: 'req_1', trace, span }, reply, record);
  return { fakes, settlements, record, reply, run };
}

function request(over: Partial<InferenceRequest>): InferenceRequest {
  return {
    model: 'test-model',
    turns: [{ role: 'user', parts: [{ type: 'text', text: PROMPT }] }],
    tools: [],
    output: { kind: 'text' },
    stream: true,
    hints: {},
    ...over,
  };
}

/** Makes every settlement fail. Returns a function that ends the failures. */
function failSettlements(fakes: FakeServices): () => void {
  let isDown = true;
  fakes.beforeApply = ({ settles }) => {
    if (settles.length > 0 && isDown) throw new MessagingError('unavailable', 'no responders');
  };
  return () => {
    isDown = false;
  };
}

function script(...steps: (StreamEvent | 'end' | Error)[]) {
  return (stream: FakeEventStream<StreamEvent>): void => {
    for (const step of steps) {
      if (step === 'end') stream.end();
      else if (step instanceof Error) stream.fail(step);
      else stream.write(step);
    }
  };
}

/** The estimate for the prompt of these tests (12 bytes) and the output `Hello`. */
const ESTIMATED: Usage = estimatedUsage(3, 2);
const LOST = new MessagingError('broken', 'a frame was lost');

type Row = [name: string, steps: (StreamEvent | 'end' | Error)[], plain: Ended, streamed: Ended];
type Ended = { settled: Omit<SettleRequest, 'holdId' | 'accountId'>; thrown?: string };

const failed = (thrown: string, usage?: Usage, upstream: string | undefined = 'local'): Ended => ({
  settled: { reason: 'failed', usage, upstream },
  thrown,
});
const completed = (usage: Usage): Ended => ({ settled: { reason: 'completed', usage, upstream: 'local' } });

const ENDINGS: Row[] = [
  ['finish [hold-settled]', [START, TEXT, USAGE, FINISH, 'end'], completed(REPORT), completed(REPORT)],
  ['finish without content', [START, USAGE, FINISH, 'end'], completed(REPORT), completed(REPORT)],
  ['finish without usage [C-23, T-26]', [START, TEXT, FINISH, 'end'], completed(ESTIMATED), completed(ESTIMATED)],
  ['finish, then a lost connection', [START, TEXT, USAGE, FINISH, LOST], completed(REPORT), completed(REPORT)],
  [
    'failure before content [failed-before-content, error-timeout]',
    [START, USAGE, FAILURE, 'end'],
    failed('upstream_timeout'),
    failed('upstream_timeout'),
  ],
  [
    'failure after content [failed-after-content]',
    [START, TEXT, USAGE, FAILURE, 'end'],
    failed('upstream_timeout'),
    failed('upstream_timeout', REPORT),
  ],
  ['failure after content, no usage', [START, TEXT, FAILURE, 'end'], failed('upstream_timeout'), failed('upstream_timeout', ESTIMATED)],
  ['end without terminal event [T-30]', [START, TEXT, 'end'], failed('upstream_error'), failed('upstream_error', ESTIMATED)],
  ['proxy gone before content', [START, LOST], failed('upstream_error'), failed('upstream_error')],
  ['proxy gone after content', [START, TEXT, USAGE, LOST], failed('upstream_error'), failed('upstream_error', REPORT)],
  [
    'no proxy',
    [new MessagingError('unavailable', 'no responders')],
    { ...failed('model_unavailable'), settled: { reason: 'failed' } },
    { ...failed('model_unavailable'), settled: { reason: 'failed' } },
  ],
];

describe.each(ENDINGS)('%s', (_name, steps, plain, streamed) => {
  test.each([
    { form: 'plain', stream: false, expected: plain },
    { form: 'streamed', stream: true, expected: streamed },
  ])('$form', async ({ stream, expected }) => {
    const { fakes, run, reply, record } = await setUp();
    fakes.model = script(...steps);
    const thrown = await run({ stream }).then(
      () => undefined,
      (error: GatewayError) => error.code,
    );
    const holdId = fakes.reserves[0]?.holdId;
    expect(fakes.settles).toEqual([{ holdId, ...BY_GATEWAY, ...expected.settled }]);
    expect(thrown).toBe(expected.thrown);
    expect(reply.finished).toEqual(expected.thrown ? undefined : { reason: 'stop', usage: expected.settled.usage });
    expect(record).toEqual({
      model: 'test-model',
      stream,
      holdId,
      heldPicoUsd: fakes.reserves[0]?.amountPicoUsd,
      reserveMs: expect.any(Number),
      upstream: expected.settled.upstream,
      attempts: expected.settled.upstream && 1,
      outcome: expected.settled.reason,
      usage: expected.settled.usage,
      costPicoUsd: expected.settled.usage ? '1000' : '0',
      settleMs: expect.any(Number),
    });
  });
});

describe.each([
  { form: 'plain', stream: false },
  { form: 'streamed', stream: true },
])('a client that disconnects, $form [H-9, T-39]', ({ stream }) => {
  const cases: [name: string, before: StreamEvent[], after: (StreamEvent | 'end' | Error)[], usage: Usage | undefined][] = [
    ['before content pays nothing', [START], ['end'], undefined],
    ['before content pays the usage that the proxy reports', [START], [USAGE, 'end'], REPORT],
    ['after content pays for the output until the cancel took effect', [START, TEXT], [TEXT, USAGE, 'end'], REPORT],
    ['after content pays an estimate when no usage is reported', [START, TEXT], [new MessagingError('timeout', 'cancel')], ESTIMATED],
    ['after content pays also when the upstream fails because of the cancel', [START, TEXT], [USAGE, FAILURE, 'end'], REPORT],
    ['while the complete reply arrives pays for it', [], [...HELLO, 'end'], REPORT],
  ];
  test.each(cases)('%s', async (_name, before, after, usage) => {
    const { fakes, run, reply } = await setUp();
    let cancelled = false;
    fakes.model = (model) => {
      if (before.length > 0) model.write(...before);
      void model.cancelled().then(() => {
        cancelled = true;
        script(...after)(model);
      });
      setImmediate(() => reply.stop());
    };
    await run({ stream });
    expect(cancelled).toBe(true);
    expect(fakes.settles).toEqual([
      {
        holdId: fakes.reserves[0]?.holdId,
        ...BY_GATEWAY,
        reason: 'client-disconnected',
        usage,
        upstream: 'local',
      },
    ]);
    expect(reply.finished).toBeUndefined();
  });

  test.each([
    ['before content', [START]],
    ['after content', [START, TEXT]],
  ])('%s, when the proxy reads the upstream to its end: the proxy settles, and the record says so', async (_name, before) => {
    const { fakes, run, reply, record } = await setUp();
    let model: FakeEventStream<StreamEvent> | undefined;
    fakes.model = (opened) => {
      model = opened;
      opened.write(...before);
      void opened.cancelled().then(() => script({ type: 'settlement-deferred' }, 'end')(opened));
      setImmediate(() => reply.stop());
    };
    await run({ stream });
    expect(model?.isDetached).toBe(true);
    expect(fakes.settles).toEqual([]);
    const holdId = fakes.reserves[0]?.holdId;
    expect(record).toEqual({
      model: 'test-model',
      stream,
      holdId,
      heldPicoUsd: fakes.reserves[0]?.amountPicoUsd,
      reserveMs: expect.any(Number),
      upstream: 'local',
      attempts: 1,
      outcome: 'client-disconnected',
      settlement: 'deferred',
    });
  });

  test('during the reserve starts no call and pays nothing', async () => {
    const { fakes, run, reply } = await setUp();
    fakes.beforeApply = () => reply.stop();
    await run({ stream });
    expect(fakes.opened).toEqual([]);
    expect(fakes.settles).toEqual([{ holdId: fakes.reserves[0]?.holdId, ...BY_GATEWAY, reason: 'client-disconnected' }]);
  });
});

const RESTARTING = new GatewayError('model_unavailable', 'The gateway is restarting.');

describe.each([
  { form: 'plain', stream: false },
  { form: 'streamed', stream: true },
])('a reply that is stopped with an error, $form', ({ stream }) => {
  type Case = [name: string, before: StreamEvent[], after: (StreamEvent | 'end' | Error)[], usage: Usage | undefined, sent: StreamEvent[]];
  const cases: Case[] = [
    ['before content costs nothing', [START], ['end'], undefined, [START]],
    ['after content costs the received output, and forwards it', [START, TEXT], [TEXT, USAGE, 'end'], REPORT, [START, TEXT, TEXT, USAGE]],
    ['fails also when the upstream is slow to stop', [START, TEXT], [new MessagingError('timeout', 'cancel')], ESTIMATED, [START, TEXT]],
  ];
  test.each(cases)('%s', async (_name, before, after, usage, sent) => {
    const { fakes, run, reply, record } = await setUp();
    fakes.model = (model) => {
      model.write(...before);
      void model.cancelled().then(() => script(...after)(model));
      setImmediate(() => reply.stop(RESTARTING));
    };
    await expect(run({ stream })).rejects.toBe(RESTARTING);
    // A partial plain reply is not sent, so it is not billed.
    const billed = stream ? usage : undefined;
    expect(fakes.settles).toEqual([
      { holdId: fakes.reserves[0]?.holdId, ...BY_GATEWAY, reason: 'failed', usage: billed, upstream: 'local' },
    ]);
    expect([reply.events, reply.finished, record.outcome]).toEqual([sent, undefined, 'failed']);
  });

  test('is settled by the gateway, and the proxy may not detach', async () => {
    const { fakes, run, reply } = await setUp();
    let model: FakeEventStream<StreamEvent> | undefined;
    fakes.model = (opened) => {
      model = opened;
      opened.write(START, TEXT);
      void opened.cancelled().then(() => script({ type: 'settlement-deferred' }, 'end')(opened));
      setImmediate(() => reply.stop(RESTARTING));
    };
    await expect(run({ stream })).rejects.toBe(RESTARTING);
    expect({ isDetached: model?.isDetached, reasons: fakes.settles.map(({ reason }) => reason) }).toEqual({
      isDetached: false,
      reasons: ['failed'],
    });
  });

  test('is finished when the complete reply arrives before the upstream stops', async () => {
    const { fakes, run, reply } = await setUp();
    fakes.model = (model) => {
      void model.cancelled().then(() => script(...HELLO, 'end')(model));
      setImmediate(() => reply.stop(RESTARTING));
    };
    await run({ stream });
    expect(fakes.settles).toMatchObject([{ reason: 'completed', usage: REPORT }]);
    expect(reply.finished).toEqual({ reason: 'stop', usage: REPORT });
  });

  test('during the reserve starts no call and pays nothing', async () => {
    const { fakes, run, reply } = await setUp();
    fakes.beforeApply = () => reply.stop(RESTARTING);
    await expect(run({ stream })).rejects.toBe(RESTARTING);
    expect(fakes.opened).toEqual([]);
    expect(fakes.settles).toEqual([{ holdId: fakes.reserves[0]?.holdId, ...BY_GATEWAY, reason: 'failed' }]);
  });
});

test('the hold, the ticket and the price are those of the quote [hold-then-charge, hold-size, chat-max-tokens, auth-account, limit-hold]', async () => {
  const { fakes, run } = await setUp();
  await run({ maxOutputTokens: 5_000, stream: false });
  const holdId = fakes.reserves[0]?.holdId ?? '';
  expect(holdId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  // 12 bytes of prompt at 150,000 and the model's 1,000 tokens of output at 600,000: the requested 5,000 are capped.
  expect(fakes.reserves).toEqual([
    {
      holdId,
      ...TEST_CALLER,
      requestId: 'req_1',
      model: 'test-model',
      amountPicoUsd: String(12n * 150_000n + 1_000n * 600_000n),
      price: { version: 7, inputPicoUsd: '150000', cachedInputPicoUsd: '15000', outputPicoUsd: '600000' },
      amountTokens: 12 + 1_000,
      tokensMax: 3 + 1_000, // 4 bytes of prompt a token
    },
  ]);
  expect(fakes.opened).toEqual([
    {
      ticket: {
        holdId,
        leaseMs: 60_000,
        accountId: TEST_CALLER.accountId,
        requestId: 'req_1',
        keyId: TEST_CALLER.keyId,
        outputTokensMax: 1_000,
        promptTokensEstimate: 3,
      },
      request: request({ maxOutputTokens: 5_000, stream: false }),
    },
  ]);
});

test('the model is called only after the hold is made [hold-then-charge]', async () => {
  const { fakes, run } = await setUp();
  let openedBefore: number | undefined;
  fakes.beforeApply = ({ reserves }) => {
    if (reserves.length > 0) openedBefore = fakes.opened.length;
  };
  await run();
  expect([openedBefore, fakes.opened.length]).toEqual([0, 1]);
});

describe('a usage beyond the hold: what is shown is what is billed, and the log has the rest [messages-usage-billed, responses-usage-billed]', () => {
  test.each<[string, Usage, Partial<Usage>, number]>([
    ['output beyond its cap', { ...REPORT, outputTokens: 100_000 }, { outputTokens: 40 }, 99_960],
    ['a prompt that unused output pays for', { ...REPORT, promptTokens: 80 }, {}, 0],
    ['a prompt of more tokens than bytes', { ...REPORT, promptTokens: 200, cachedTokens: 0, outputTokens: 40 }, { promptTokens: 12 }, 188],
    [
      'a cached prompt',
      { ...REPORT, promptTokens: 300, cachedTokens: 200, outputTokens: 40 },
      { promptTokens: 120, cachedTokens: 120 },
      180,
    ],
  ])('%s', async (_name, usage, covered, unbilledTokens) => {
    const { fakes, run, reply, record } = await setUp();
    fakes.model = script(START, TEXT, { type: 'usage-report', usage }, FINISH, 'end');
    await run({ maxOutputTokens: 40 });
    const billed = { ...usage, ...covered };
    expect([fakes.settles[0]?.usage, reply.finished?.usage, record.usage]).toEqual([billed, billed, billed]);
    expect(computeCost(billed, TEST_PRICE)).toBeLessThanOrEqual(BigInt(fakes.reserves[0]?.amountPicoUsd ?? 0));
    expect([record.upstream, record.unbilledTokens ?? 0]).toEqual(['local', unbilledTokens]);
  });
});

test('when the inference-proxy is lost, the prompt counts that the upstream reported at the start are billed', async () => {
  const { fakes, run } = await setUp();
  fakes.model = script({ ...START, prompt: { promptTokens: 9, cachedTokens: 4 } }, TEXT, LOST);
  await expect(run()).rejects.toMatchObject({ code: 'upstream_error' });
  const usage = { ...ESTIMATED, promptTokens: 9, cachedTokens: 4, promptSource: 'reported' };
  expect(fakes.settles).toMatchObject([{ reason: 'failed', usage }]);
});

test('all events except the terminal one are sent in order', async () => {
  const { run, reply } = await setUp();
  await run();
  expect(reply.events).toEqual(HELLO.slice(0, -1));
});

test('the reply is finished only after its settlement was recorded', async () => {
  const { fakes, run, reply } = await setUp();
  let finishedBefore: unknown = 'never settled';
  fakes.beforeApply = ({ settles }) => {
    if (settles.length > 0) finishedBefore = reply.finished;
  };
  await run();
  expect(finishedBefore).toBeUndefined();
  expect(reply.finished).toEqual({ reason: 'stop', usage: REPORT });
});

test('an unavailable billing delays the reply by `settleAnswerMs` at most, and the settlement is retried until it is recorded', async () => {
  const { fakes, run, reply, record, settlements } = await setUp(20);
  const repair = failSettlements(fakes);
  await run();
  expect(reply.finished).toEqual({ reason: 'stop', usage: REPORT });
  expect([settlements.pending, record.costPicoUsd, fakes.settles.length]).toEqual([1, undefined, 0]);
  repair();
  expect(await settlements.flush(5_000)).toBe(0);
  expect(fakes.settles).toEqual([
    { holdId: fakes.reserves[0]?.holdId, ...BY_GATEWAY, reason: 'completed', usage: REPORT, upstream: 'local' },
  ]);
});

test('while too many settlements are open new requests are refused', async () => {
  const { fakes, run, settlements } = await setUp(0, 2);
  const repair = failSettlements(fakes);
  await run();
  await run();
  await expect(run()).rejects.toMatchObject({ code: 'model_unavailable', retryAfterSeconds: 5 });
  expect([settlements.pending, fakes.reserves.length]).toEqual([2, 2]);
  repair();
  await settlements.flush(5_000);
  await run();
  await settlements.flush(5_000);
  expect(fakes.settles).toHaveLength(3);
});

describe('the reserve and the call of the inference-proxy', () => {
  const TRACE_ID = '0193f5a2b6c47d3e8f00a1b2c3d4e5f6';
  const CLIENT = { traceparent: `00-${TRACE_ID}-b7ad6b7169203331-00` };

  test.each<[string, boolean, TraceContext | undefined, boolean]>([
    ['of a trace that was chosen have its context', true, undefined, true],
    ['of a trace that was not chosen have none: the services behind make it from their ids', false, undefined, false],
    ['of a trace that the client began have its context, chosen or not', false, CLIENT, true],
  ])('%s', async (_, isSampled, trace, isSent) => {
    const { fakes, run } = await setUp();
    const spans: RecordedSpan[] = [];
    const local = new LocalTrace(TRACE_ID, '', undefined, isSampled, true, { ended: (span) => spans.push(span), isDue: () => false });
    await run({}, trace, new RecordedSpan(local, undefined, 'request', 'server', undefined));
    const context = spans.find(({ name }) => name === 'inference')?.context;
    const reserve = spans.find(({ name }) => name === 'reserve')?.context;
    expect(fakes.reserves.map(({ traceparent }) => traceparent)).toEqual([isSent ? reserve?.traceparent : undefined]);
    const derived = unsampledContext(`req_${TRACE_ID}`, fakes.opened[0]?.ticket.holdId ?? '')?.traceparent;
    expect({ sent: fakes.messaging.traces, derived: context?.traceparent.slice(0, 52) }).toEqual({
      sent: [isSent ? context : undefined],
      derived: derived?.slice(0, 52),
    });
  });
});

describe('a reserve', () => {
  test('has the trace context of the client, also while traces are not exported', async () => {
    const { fakes, run } = await setUp();
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00';
    await run({}, { traceparent, tracestate: 'vendor=1' });
    await run();
    expect(fakes.reserves.map((reserve) => reserve.traceparent)).toEqual([traceparent, undefined]);
  });

  test('without an answer is repeated with the same id', async () => {
    const { fakes, run, reply } = await setUp();
    let failures = 1;
    const asked: (string | undefined)[] = [];
    fakes.beforeApply = ({ reserves }) => {
      if (reserves.length > 0) asked.push(reserves[0]?.holdId);
      if (failures-- > 0) throw new MessagingError('timeout', 'no answer');
    };
    await run();
    expect(asked).toEqual([fakes.reserves[0]?.holdId, fakes.reserves[0]?.holdId]);
    expect(reply.finished).toBeDefined();
  });

  test('with an unknown outcome is released, and refused with 503', async () => {
    const { fakes, run, settlements } = await setUp();
    const asked = new Set<string | undefined>();
    fakes.beforeApply = ({ reserves }) => {
      if (reserves.length === 0) return;
      asked.add(reserves[0]?.holdId);
      throw new MessagingError('timeout', 'no answer');
    };
    await expect(run()).rejects.toMatchObject({ code: 'model_unavailable', retryAfterSeconds: 1 });
    expect(await settlements.flush(5_000)).toBe(0);
    expect(fakes.settles).toEqual([{ holdId: [...asked][0], ...BY_GATEWAY, reason: 'released' }]);
    expect(fakes.opened).toEqual([]);
  });

  test('that did not reach billing leaves nothing to release', async () => {
    const { fakes, run, settlements } = await setUp();
    fakes.beforeApply = () => {
      throw new MessagingError('unavailable', 'no responders');
    };
    await expect(run()).rejects.toMatchObject({ code: 'model_unavailable', retryAfterSeconds: 1 });
    expect([settlements.pending, fakes.settles.length, fakes.applies]).toEqual([0, 0, 2]);
  });

  test('that billing refuses as invalid is an internal error, and is not repeated [error-internal]', async () => {
    const { fakes, run } = await setUp();
    fakes.beforeApply = () => {
      throw new ServiceError('not_found', 'no such account');
    };
    await expect(run()).rejects.toMatchObject({ code: 'internal_error' });
    expect(fakes.applies).toBe(1);
  });
});

test('a request with a wrong model, content or size makes no hold [own-model-ids]', async () => {
  const { fakes, run } = await setUp();
  const image = { type: 'image', mediaType: 'image/png', base64: 'AAAA' } as const;
  await expect(run({ model: 'Test-Model' })).rejects.toMatchObject({ code: 'model_not_found', param: 'model' });
  await expect(run({ turns: [{ role: 'user', parts: [image] }] })).rejects.toMatchObject({ code: 'unsupported_content' });
  await expect(run({ turns: [{ role: 'user', parts: [{ type: 'text', text: 'x'.repeat(32_000) }] }] })).rejects.toMatchObject({
    code: 'context_length_exceeded',
    message: expect.stringMatching(/prompt is too long: 8001 tokens > 4000 maximum/),
  });
  expect(fakes.applies).toBe(0);
});

test.each([
  [
    { status: 'refused', code: 'insufficient_balance', requiredPicoUsd: '312600000', availablePicoUsd: '136650000' },
    {
      code: 'insufficient_balance',
      message: expect.stringMatching(/up to \$0\.0003126 .*\$0\.00013665 .*output limit to 224 tokens or less/),
    },
  ],
  [
    { status: 'refused', code: 'insufficient_balance', requiredPicoUsd: '312600000', availablePicoUsd: '1800000' },
    { code: 'insufficient_balance', message: expect.stringMatching(/Shorten the prompt or top up/) },
  ],
  [
    {
      status: 'refused',
      code: 'insufficient_balance',
      requiredPicoUsd: '312600000',
      availablePicoUsd: '900000000',
      budget: {
        budgetId: 'b',
        projectId: 'project-1',
        keyId: null,
        period: 'day',
        limitPicoUsd: '1000000000000',
        spentPicoUsd: '999000000000',
        heldPicoUsd: '863350000',
        leftPicoUsd: '136650000',
        resetsAt: '2026-11-24T00:00:00.000Z',
      },
    },
    {
      code: 'insufficient_balance',
      message: expect.stringMatching(
        /^The daily budget of project project-1 is \$1\.00: \$0\.999 spent, \$0\.00086335 held by running requests, \$0\.00013665 left; this request may cost up to \$0\.0003126 \(\d+ output tokens\)\. The budget resets at 2026-11-24T00:00:00Z\. Lower the output limit to 224 tokens or less\.$/,
      ),
    },
  ],
  [
    {
      status: 'refused',
      code: 'insufficient_balance',
      requiredPicoUsd: '312600000',
      availablePicoUsd: '900000000',
      budget: {
        budgetId: 'b',
        projectId: null,
        keyId: null,
        period: 'total',
        limitPicoUsd: '7',
        spentPicoUsd: '1',
        heldPicoUsd: '0',
        leftPicoUsd: '6',
        resetsAt: null,
      },
    },
    {
      code: 'insufficient_balance',
      message: expect.stringMatching(
        /^The total budget of the account is \$0\.000000000007: \$0\.000000000001 spent, \$0\.00 held by running requests, \$0\.000000000006 left; this request may cost up to \$0\.0003126 \(\d+ output tokens\)\. The budget does not reset\.$/,
      ),
    },
  ],
  [
    {
      status: 'refused',
      code: 'insufficient_balance',
      requiredPicoUsd: '312600000',
      availablePicoUsd: '900000000',
      budget: {
        budgetId: 'b',
        projectId: 'project-1',
        keyId: 'key-1',
        period: 'week',
        limitTokens: 5_000,
        spentTokens: 4_800,
        heldTokens: 88,
        leftTokens: 112,
        resetsAt: '2026-11-24T00:00:00.000Z',
      },
    },
    {
      code: 'insufficient_balance',
      message: expect.stringMatching(
        /^The weekly budget of key key-1 is 5000 tokens: 4800 spent, 88 held by running requests, 112 left; this request may use up to \d+ tokens \(\d+ of output\)\. The budget resets at 2026-11-24T00:00:00Z\. Lower the output limit to 100 tokens or less\.$/,
      ),
    },
  ],
  [
    { status: 'refused', code: 'rate_limit_exceeded', limit: 60, retryAfterSeconds: 12 },
    { code: 'rate_limit_exceeded', retryAfterSeconds: 12, message: expect.stringMatching(/60 requests per minute .*try again in 12s/) },
  ],
  [
    { status: 'refused', code: 'concurrency_limit', limit: 4, retryAfterSeconds: 1 },
    { code: 'concurrency_limit', retryAfterSeconds: 1, message: expect.stringMatching(/4 requests at once .*try again in 1s/) },
  ],
  [
    { status: 'refused', code: 'rate_limit_exceeded', limit: 60, retryAfterSeconds: 12, keyId: 'key', model: 'gpt-*' },
    {
      code: 'rate_limit_exceeded',
      message: "The API key's limit of 60 requests per minute for gpt-* is reached. Please try again in 12s.",
    },
  ],
  [
    { status: 'refused', code: 'concurrency_limit', limit: 4, retryAfterSeconds: 1, keyId: 'key' },
    { code: 'concurrency_limit', message: "The API key's limit of 4 requests at once is reached. Please try again in 1s." },
  ],
  [
    { status: 'refused', code: 'concurrency_limit', limit: 9, retryAfterSeconds: 1, accountId: 'account' },
    { code: 'concurrency_limit', message: "The account's limit of 9 requests at once is reached. Please try again in 1s." },
  ],
  [
    {
      status: 'refused',
      code: 'rate_limit_exceeded',
      limit: 900,
      retryAfterSeconds: 12,
      requestedTokens: 600,
      keyId: 'key',
      tokens: { limit: 900, remaining: 200, resetSeconds: 40 },
    },
    {
      code: 'rate_limit_exceeded',
      retryAfterSeconds: 12,
      message:
        "The API key's limit of 900 tokens per minute is reached: the request may use 600, and 200 are left. Please try again in 12s.",
    },
  ],
  [
    { status: 'refused', code: 'rate_limit_exceeded', limit: 400, retryAfterSeconds: 60, requestedTokens: 520 },
    {
      code: 'invalid_request',
      message:
        "The request may use 520 tokens, more than the project's limit of 400 tokens per minute. Lower the output limit to 380 tokens or less.",
    },
  ],
  [
    { status: 'refused', code: 'rate_limit_exceeded', limit: 20, retryAfterSeconds: 60, requestedTokens: 520 },
    {
      code: 'invalid_request',
      message: "The request may use 520 tokens, more than the project's limit of 20 tokens per minute. Shorten the prompt.",
    },
  ],
  [{ status: 'refused', code: 'invalid_api_key' }, { code: 'invalid_api_key' }],
  [
    { status: 'refused', code: 'account_frozen' },
    { code: 'model_unavailable', message: expect.stringMatching(/account is frozen/) },
  ],
  [{ status: 'closed' }, { code: 'model_unavailable' }],
] as const)('%j is refused as %j [hold-refused, error-insufficient-balance]', async (outcome, expected) => {
  const { fakes, run } = await setUp();
  fakes.reserveOutcome = ({ holdId }) => ({ ...outcome, holdId });
  const thrown = await run().catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(GatewayError);
  expect(thrown).toMatchObject(expected);
  expect(fakes.opened).toEqual([]);
  expect(fakes.settles).toEqual([]);
});

test.each([
  ['test-model', false],
  ['vision/model', true],
])('the hold of %s covers earlier reasoning: %j [hold-size]', async (model, covers) => {
  const { fakes, run } = await setUp();
  const turn = (...parts: AssistantTurn['parts']): AssistantTurn => ({
    role: 'assistant',
    parts: [...parts, { type: 'text', text: 'Hi' }],
  });
  await run({ model, turns: [turn()] });
  // An upstream that requires reasoning gets a placeholder for none.
  await run({ model, turns: [turn({ type: 'reasoning', text: NO_REASONING + 'r'.repeat(500) })] });
  const [without = 0n, including = 0n] = fakes.reserves.map(({ amountPicoUsd }) => BigInt(amountPicoUsd));
  expect((including - without) / 150_000n >= 500n).toBe(covers);
  expect(including === without).toBe(!covers);
});
