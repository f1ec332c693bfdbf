import type { UPSTREAM_KINDS } from '#contracts/catalog.js';
import { estimateOutputTokens } from '#inference/estimate-tokens.js';
import { computeCost } from '#money/price.js';
import { bytesUntilUsage, DIALECT_STREAMS } from '#testing/dialect-streams.js';
import { chunked, type Fault, FaultServer, LAST_CHUNK, replyHead } from '#testing/fault-server.js';
import { longOr } from '#testing/long-run.js';
import { readBalance, untilNoHolds } from '#testing/tenant.js';
import { reportedUsage } from '#testing/token-usage.js';
import type { FormatName } from '../chaos/client-format.js';
import { FaultStack, heard, type SharedFaultStack } from './fault-stack.js';

/**
 * Cuts an upstream's reply, head included, at every byte: the client sees a clean end of whole replies only, and the received part is settled once
 * (docs/money.md). Each client format at the upstream of the same dialect. In `npm test` each format cuts at every third byte, at
 * different offsets.
 */
const PRICE = { inputPicoUsd: 1_000_000n, cachedInputPicoUsd: 100_000n, outputPicoUsd: 3_000_000n };
const TEXTS = ['Good mor', 'ning, wörld 🌍', '! It is ', 'a fine day', ' to be cut', ' off in the', ' middle of'];
const AT_ONCE = 12;
const STEP = longOr(3, 1);
const modelAt = (kind: string): string => `every-byte-${kind}`;

const PAIRS = [
  ['chat', 'openai-chat'],
  ['responses', 'openai-responses'],
  ['messages', 'anthropic-messages'],
  ...longOr([], [['chat', 'gemini'] as const]), // in `npm test` the suite of the inference-proxy cuts this one
] satisfies readonly (readonly [FormatName, (typeof UPSTREAM_KINDS)[number]])[];

let stack: SharedFaultStack;
let server: FaultServer;
let raw: Buffer;

/** Cuts at the offset in the prompt, so that a retry of the same request is cut at the same place. */
const cutNext: Fault = ({ socket, body }) => {
  const at = Number(/cut at (\d+)/.exec(body)?.[1]);
  socket.end(raw.subarray(0, at));
};

beforeAll(async () => {
  [stack, server] = await Promise.all([FaultStack.share(), FaultServer.start(cutNext)]);
  await stack.offer(
    PAIRS.map(([, kind]) => ({ id: modelAt(kind), kind, baseUrl: `http://127.0.0.1:${server.port}/v1`, allowPrivateNetwork: true })),
  );
});
afterAll(async () => {
  await Promise.all([stack?.stop(), server?.stop()]);
});

test.each(PAIRS)('%s at %s [fault-lost]', async (format, kind) => {
  const { opening, text, ending } = DIALECT_STREAMS[kind];
  raw = Buffer.from(replyHead() + chunked(opening, ...TEXTS.map(text), ending) + LAST_CHUNK);
  expect(raw.length).toBeLessThan(4_096);
  // With its finish and its usage a reply is whole, whatever becomes of the connection.
  const wholeAt = bytesUntilUsage(raw);
  const before = BigInt((await readBalance(stack.facts.gatewayUrl, stack.tenant.apiKey)).balance_pico_usd);
  let spent = 0n;
  const wrong: unknown[] = [];
  const completed: number[] = [];
  const check = async (at: number): Promise<void> => {
    let answer = await stack.ask(format, modelAt(kind), { text: `cut at ${at}` });
    // No call was made: the circuit was open, for milliseconds here.
    while (answer.status === 503) answer = await stack.ask(format, modelAt(kind), { text: `cut at ${at}` });
    const received = heard(format, answer);
    const { upstream, ...bill } = await stack.readBill(answer.requestId);
    spent += BigInt(bill.costPicoUsd);
    if (received.ended === 'complete') {
      completed.push(at);
      const usage = reportedUsage(12, 3);
      const expected = { text: TEXTS.join(''), bill: { reason: 'completed', usage, costPicoUsd: computeCost(usage, PRICE).toString() } };
      if (!same({ text: received.text, bill }, expected)) wrong.push({ at, received, bill });
      return;
    }
    const outputTokens = estimateOutputTokens(Buffer.byteLength(received.text));
    const isRight =
      received.ended === 'failed' &&
      TEXTS.join('').startsWith(received.text) &&
      bill.reason === 'failed' &&
      bill.usage.outputTokens === outputTokens &&
      (received.text === ''
        ? answer.status === 502 && bill.costPicoUsd === '0'
        : bill.costPicoUsd === computeCost(bill.usage, PRICE).toString());
    if (!isRight) wrong.push({ at, received, bill, status: answer.status });
  };
  const phase = PAIRS.findIndex(([name]) => name === format);
  const isTried = (at: number): boolean => at >= wholeAt || at % STEP === phase % STEP;
  await inParallel(mixed(raw.length).filter(isTried), check);
  await untilNoHolds(stack.administrator, stack.tenant.accountId);
  const after = await readBalance(stack.facts.gatewayUrl, stack.tenant.apiKey);
  expect({ wrong, completed: completed.sort((a, b) => a - b), spent, reserved: after.reserved_pico_usd }).toEqual({
    wrong: [],
    completed: Array.from({ length: raw.length - wholeAt }, (_, index) => wholeAt + index),
    spent: before - BigInt(after.balance_pico_usd),
    reserved: '0',
  });
});

/** Every offset once, early and late cuts mixed, because a route with failures alone opens its circuit. */
function mixed(length: number): number[] {
  const half = Math.ceil(length / 2);
  return Array.from({ length: half }, (_, at) => [half + at, at])
    .flat()
    .filter((at) => at < length);
}

async function inParallel(items: number[], work: (item: number) => Promise<void>): Promise<void> {
  const queue = items.values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const item of queue) await work(item);
    }),
  );
}

function same(actual: unknown, expected: unknown): boolean {
  return JSON.stringify(actual, sorted) === JSON.stringify(expected, sorted);
}

function sorted(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
