import type { TokenUsage } from '#contracts/billing/holds.js';
import type { BilledRequest, RequestSettlement } from '#contracts/billing/requests.js';
import { NO_USAGE } from '#inference/usage.js';
import { reportedUsage } from '#testing/token-usage.js';
import { renderRequest } from './requests.js';

const AT = '2026-11-21T00:00:00.000Z';
const LATER = '2026-11-21T00:01:30.000Z';
const NOTHING: TokenUsage = NO_USAGE;
const BROKEN: TokenUsage = { ...NOTHING, promptTokens: 10, outputTokens: 20 };
const SETTLED: RequestSettlement = {
  reason: 'completed',
  settledBy: 'gateway',
  usage: BROKEN,
  overPicoUsd: '0',
  settledAt: AT,
  costPicoUsd: '13500000',
  paid: { planPicoUsd: '0', topupPicoUsd: '13500000', endedPlanPicoUsd: '0' },
  writtenOffPicoUsd: '0',
  reaped: null,
};
const REQUEST: BilledRequest = {
  requestId: 'req_1',
  traceId: null,
  holdId: 'hold',
  accountId: 'account',
  projectId: 'project',
  keyId: 'key',
  model: 'sim-fast',
  attribution: {},
  upstream: 'local',
  heldPicoUsd: '20000000',
  price: { version: 2, inputPicoUsd: '150000', cachedInputPicoUsd: '15000', outputPicoUsd: '600000' },
  reservedAt: AT,
  settlement: null,
  creditNotes: [],
};

/** Lines of the report from the counts on. */
function renderBill(settlement: Partial<RequestSettlement>): string[] {
  return renderRequest({ ...REQUEST, settlement: { ...SETTLED, ...settlement } })
    .split('\n')
    .slice(10)
    .map((line) => line.replace(/ {2,}/, ': '));
}

const COUNTED = [
  'prompt: 10 tokens, of which 0 cached: estimated from the size of the prompt',
  'output: 20 tokens, of which 0 reasoning: counted from the text that was received, 4 bytes a token',
  'cost: 10 × $0.15 + 20 × $0.60 per million tokens = $0.0000135 (13500000 pico)',
];
const FREE = ['prompt: not billed', 'output: not billed'];

test('a request with credit notes', () => {
  const note = { amountPicoUsd: '500000', createdAt: AT };
  const creditNotes = [
    { ...note, noteId: 'cn-1', reason: 'slow' },
    { ...note, noteId: 'cn-2', reason: 'late' },
  ];
  expect(
    renderRequest({ ...REQUEST, settlement: SETTLED, creditNotes })
      .split('\n')
      .at(-1),
  ).toMatch(`$0.0000005 (500000 pico) by credit note cn-1 of ${AT}: slow; $0.0000005 (500000 pico) by credit note cn-2 of ${AT}: late`);
});

test('tokens written to a cache, at prices of their own', () => {
  const usage = { ...BROKEN, cachedTokens: 1, cacheWriteTokens: 2, cacheWrite1hTokens: 3 };
  const price = { ...REQUEST.price, cacheWritePicoUsd: '187500', cacheWrite1hPicoUsd: '300000' };
  const lines = renderRequest({ ...REQUEST, price, settlement: { ...SETTLED, usage, costPicoUsd: '13890000' } }).split('\n');
  expect(lines.filter((line) => /^(price|prompt|cost)/.test(line)).map((line) => line.replace(/ {2,}/, ': '))).toEqual([
    'price per million: $0.15 prompt, $0.015 cached prompt, $0.60 output, $0.1875 cache write, $0.30 cache write for 1 h (version 2)',
    'prompt: 10 tokens, of which 1 cached, 2 written to a cache for 5 minutes, 3 written to a cache for an hour: estimated from the size of the prompt',
    'cost: 4 × $0.15 + 1 × $0.015 + 2 × $0.1875 + 3 × $0.30 + 20 × $0.60 per million tokens = $0.00001389 (13890000 pico)',
  ]);
});

test('the step and the tier that applied', () => {
  const step = { above: 5, reprices: 'excess' as const, inputPicoUsd: '200000', cachedInputPicoUsd: '20000' };
  const tier = { tier: 'flex', inputPicoUsd: '100000', cachedInputPicoUsd: '10000', outputPicoUsd: '300000', steps: [step] };
  const price = { ...REQUEST.price, tiers: [tier] };
  const usage = { ...BROKEN, cachedTokens: 1, tier: 'flex' };
  const lines = renderRequest({ ...REQUEST, price, settlement: { ...SETTLED, usage, step: 5, costPicoUsd: '7410000' } }).split('\n');
  expect(lines.filter((line) => /^(price|cost|tier|step)/.test(line)).map((line) => line.replace(/ {2,}/, ': '))).toEqual([
    'price per million: $0.15 prompt, $0.015 cached prompt, $0.60 output, tier flex: $0.10 prompt, $0.01 cached prompt, $0.30 output, ' +
      'tier flex above 5 prompt tokens, for the tokens after them: $0.20 prompt, $0.02 cached prompt (version 2)',
    'cost: 4 × $0.10 + 5 × $0.20 above 5 + 1 × $0.01 + 20 × $0.30 per million tokens = $0.00000741 (7410000 pico)',
    'tier: flex, as the upstream reported',
    'step: above 5 tokens of prompt',
  ]);
  const other = { ...SETTLED, usage: { ...usage, tier: 'scale' } };
  expect(renderRequest({ ...REQUEST, price, settlement: other })).toMatch(
    /^tier +scale, as the upstream reported; the price does not name it$/m,
  );
});

test('a running request', () => {
  expect(renderRequest(REQUEST).split('\n').slice(7)).toEqual([
    `reserved           ${AT}`,
    'held               $0.00002 (20000000 pico), the most it can cost',
    'price per million  $0.15 prompt, $0.015 cached prompt, $0.60 output (version 2)',
    'state              running',
  ]);
});

test('a request with a trace', () => {
  const trace = '0af7651916cd43dd8448eb211c80319c';
  expect(
    renderRequest({ ...REQUEST, traceId: trace })
      .split('\n')
      .slice(0, 2),
  ).toEqual(['request            req_1', `trace              ${trace}`]);
});

test('a request with a trace, and the address of its page', () => {
  const lines = renderRequest({ ...REQUEST, traceId: '0af7' }, 'https://traces.example.com/trace/{traceId}?a={traceId}').split('\n');
  expect(lines.slice(1, 3)).toEqual(['trace              0af7', 'trace page         https://traces.example.com/trace/0af7?a=0af7']);
});

test('a complete reply, with every field', () => {
  const usage: TokenUsage = reportedUsage(3, 1, { cachedTokens: 1 });
  expect(renderRequest({ ...REQUEST, settlement: { ...SETTLED, usage, costPicoUsd: '915000' } })).toBe(
    `request            req_1
hold               hold
account            account
project            project
key                key
model              sim-fast
upstream           local
reserved           ${AT}
held               $0.00002 (20000000 pico), the most it can cost
price per million  $0.15 prompt, $0.015 cached prompt, $0.60 output (version 2)
prompt             3 tokens, of which 1 cached: reported by the upstream
output             1 token, of which 0 reasoning: reported by the upstream
cost               2 × $0.15 + 1 × $0.015 + 1 × $0.60 per million tokens = $0.000000915 (915000 pico)
ended              the reply was complete
settled            ${AT} by the gateway`,
  );
});

test.each<[title: string, settlement: Partial<RequestSettlement>, lines: string[]]>([
  [
    'a stream that broke, settled by the gateway',
    { reason: 'failed' },
    [...COUNTED, 'ended: the request failed, or its stream broke', `settled: ${AT} by the gateway`],
  ],
  [
    'a client that disconnected, and a gateway that was gone',
    { reason: 'client-disconnected', settledBy: 'inference-proxy' },
    [
      ...COUNTED,
      'ended: the client disconnected before the reply was complete',
      `settled: ${AT} by the inference-proxy, because the client or the gateway was gone`,
    ],
  ],
  [
    'a request that the reaper ended',
    { reason: 'lease-expired', settledBy: 'reaper' },
    [
      ...COUNTED,
      'ended: unknown: the lease expired and no service had settled',
      `settled: ${AT} by the reaper, with the last meter reading`,
    ],
  ],
  [
    'hidden output at a floor, beside a reported prompt',
    { reason: 'client-disconnected', usage: { ...BROKEN, promptSource: 'reported', outputSource: 'floor' } },
    [
      'prompt: 10 tokens, of which 0 cached: reported by the upstream',
      'output: 20 tokens, of which 0 reasoning: counted from the text that was received, and a floor added for output that the upstream hides',
      'cost: 10 × $0.15 + 20 × $0.60 per million tokens = $0.0000135 (13500000 pico)',
      'ended: the client disconnected before the reply was complete',
      `settled: ${AT} by the gateway`,
    ],
  ],
  [
    'a usage beyond the hold',
    { usage: { ...BROKEN, outputTokens: 40 }, costPicoUsd: '20000000', overPicoUsd: '5500000' },
    [
      'prompt: 10 tokens, of which 0 cached: estimated from the size of the prompt',
      'output: 40 tokens, of which 0 reasoning: counted from the text that was received, 4 bytes a token',
      'cost: 10 × $0.15 + 40 × $0.60 per million tokens = $0.0000255, less $0.0000055 beyond the held $0.00002 = $0.00002 (20000000 pico)',
      'ended: the reply was complete',
      `settled: ${AT} by the gateway`,
    ],
  ],
  [
    'a failure before content',
    { reason: 'failed', usage: NOTHING, costPicoUsd: '0' },
    [
      ...FREE,
      'cost: $0.00 (0 pico): the client had received no content',
      'ended: the request failed, or its stream broke',
      `settled: ${AT} by the gateway`,
    ],
  ],
  [
    'a request that was reaped before its first meter reading',
    { reason: 'lease-expired', settledBy: 'reaper', usage: NOTHING, costPicoUsd: '0' },
    [
      ...FREE,
      'cost: $0.00 (0 pico): no meter reading had arrived',
      'ended: unknown: the lease expired and no service had settled',
      `settled: ${AT} by the reaper, with the last meter reading`,
    ],
  ],
  [
    'a settlement from before the settling service was recorded',
    { settledBy: null },
    [...COUNTED, 'ended: the reply was complete', `settled: ${AT} by a service that is not recorded`],
  ],
])('%s', (_title, settlement, lines) => {
  expect(renderBill(settlement)).toEqual(lines);
});

describe('a late settlement', () => {
  const reaped = { usage: { ...BROKEN, outputTokens: 10 }, costPicoUsd: '7500000', paid: SETTLED.paid, settledAt: AT };
  const counts =
    'for 10 tokens of prompt (estimated from the size of the prompt) and 10 tokens of output (counted from the text that was received, 4 bytes a token)';

  test('that came to more, part of which is written off', () => {
    const late = { reaped, settledAt: LATER, costPicoUsd: '12000000', writtenOffPicoUsd: '1500000' };
    expect(renderBill(late).slice(2)).toEqual([
      'cost: 10 × $0.15 + 20 × $0.60 per million tokens = $0.0000135, less $0.0000015 written off, because the account had no money left = $0.000012 (12000000 pico)',
      'ended: the reply was complete',
      `settled: ${LATER}, late, by the gateway`,
      `billed before: ${AT} by the reaper: $0.0000075 ${counts}; the late settlement charged $0.0000045 more`,
    ]);
  });

  test.each([
    ['that came to less', '5000000', 'gave $0.0000025 back'],
    ['that came to the same', '7500000', 'changed nothing'],
  ])('%s', (_title, costPicoUsd, change) => {
    expect(renderBill({ reaped, costPicoUsd }).at(-1)).toBe(
      `billed before: ${AT} by the reaper: $0.0000075 ${counts}; the late settlement ${change}`,
    );
  });

  test('after a reaper without a meter reading', () => {
    expect(renderBill({ reaped: { usage: NOTHING, costPicoUsd: '0', paid: SETTLED.paid, settledAt: AT } }).at(-1)).toBe(
      `billed before: ${AT} by the reaper: $0.00 without a meter reading; the late settlement charged $0.0000135 more`,
    );
  });
});

test('a plan and a plan that has ended paid a part', () => {
  const paid = { planPicoUsd: '1000000', topupPicoUsd: '12000000', endedPlanPicoUsd: '500000' };
  expect(renderBill({ paid })).toContain('paid: $0.000001 from the plan, $0.0000005 from a plan that has ended, $0.000012 from top-ups');
});

describe('an item of a service', () => {
  const price = { version: 3, inputPicoUsd: '0', cachedInputPicoUsd: '0', outputPicoUsd: '0', requestPicoUsd: '2000000000' };
  const item: BilledRequest = { ...REQUEST, model: 'crawler/page', upstream: 'crawler', price, heldPicoUsd: '20000000000' };
  const render = (settlement: Partial<RequestSettlement>): string[] =>
    renderRequest({ ...item, settlement: { ...SETTLED, ...settlement } }, 'none', 'page')
      .split('\n')
      .slice(5)
      .map((line) => line.replace(/ {2,}/, ': '));

  test('has units and their price in the place of tokens', () => {
    expect(render({ usage: { ...NOTHING, quantity: 7 }, costPicoUsd: '14000000000' })).toEqual([
      'item: crawler/page',
      'service: crawler',
      `reserved: ${AT}`,
      'held: $0.02 (20000000000 pico), the most it can cost',
      'price of a unit: $0.002 (version 3)',
      'units: 7 × page',
      'cost: 7 × $0.002 = $0.014 (14000000000 pico)',
      'ended: the reply was complete',
      `settled: ${AT} by the gateway`,
    ]);
  });

  test('says what a late settlement changed, and what lies beyond the hold', () => {
    const reaped = { usage: { ...NOTHING, quantity: 4 }, costPicoUsd: '8000000000', paid: SETTLED.paid, settledAt: AT };
    const lines = render({ usage: { ...NOTHING, quantity: 12 }, costPicoUsd: '20000000000', overPicoUsd: '4000000000', reaped });
    expect(lines.slice(6)).toEqual([
      'cost: 12 × $0.002 = $0.024, less $0.004 beyond the held $0.02 = $0.02 (20000000000 pico)',
      'ended: the reply was complete',
      `settled: ${AT}, late, by the gateway`,
      `billed before: ${AT} by the reaper: $0.008 for 4 units; the late settlement charged $0.012 more`,
    ]);
  });
});
