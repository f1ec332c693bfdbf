import type { UPSTREAM_KINDS } from '#contracts/catalog.js';
import type { StreamEvent } from '#inference/stream-event.js';
import { type Fault, FaultServer } from '#testing/fault-server.js';
import { untilNoHolds } from '#testing/tenant.js';
import { contents, fragments, framing, large, type Row, slow } from '../../apps/inference-proxy/test/upstream-faults.js';
import { PeakMemory } from '../abuse/peak-memory.js';
import { type Bill, FaultStack, heard } from './fault-stack.js';

/**
 * Every fault of hostile-upstreams.test.ts through real processes, many at once. Checks the client's error, the bill, that no text of the
 * upstream reaches the client, and the memory of the proxy.
 */
const KINDS = ['openai-chat', 'openai-responses', 'anthropic-messages'] as const satisfies readonly (typeof UPSTREAM_KINDS)[number][];
const ROWS: Row[] = [...slow, ...framing, ...contents, ...large];
const AT_ONCE = 8;
const RESIDENT_GROWTH_MAX = 256 * 1024 * 1024;

interface Seen {
  text: string;
  ended: string;
  code?: string;
  bill: { reason: string; isFree: boolean; outputTokens: number };
}

let stack: FaultStack;
let server: FaultServer;
const seen = new Map<number, Seen & { raw: string }>();
let grown: number;

/** Each fault has an upstream of its own, selected by path, so that no fault opens the circuit of another. */
const route: Fault = (exchange) => {
  const index = Number(/^POST \/(\d+)\//.exec(exchange.head)?.[1]);
  return (ROWS[index] as Row)[1](fragments(pickKind(index)))(exchange);
};

function pickKind(index: number): (typeof KINDS)[number] {
  return KINDS[index % KINDS.length] as (typeof KINDS)[number];
}

beforeAll(async () => {
  [stack, server] = await Promise.all([FaultStack.start(), FaultServer.start(route)]);
  await stack.offer(
    ROWS.map(([, , , timeouts = {}], index) => ({
      id: `fault-${index}`,
      kind: pickKind(index),
      baseUrl: `http://127.0.0.1:${server.port}/${index}`,
      allowPrivateNetwork: true,
      timeouts,
    })),
  );
  // Warm-up with as many requests as run at once: a used process is larger than a new one.
  await Promise.all(ROWS.slice(-AT_ONCE).map((_, at) => ask(ROWS.length - AT_ONCE + at)));
  const memory = await PeakMemory.watch(stack.facts);
  const before = await memory.bytes();
  const queue = ROWS.keys();
  const work = async (): Promise<void> => {
    for (const index of queue) seen.set(index, await ask(index));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  grown = ((await memory.bytes())['inference-proxy'] ?? 0) - (before['inference-proxy'] ?? 0);
});
afterAll(async () => {
  await Promise.all([stack?.stop(), server?.stop()]);
});

async function ask(index: number): Promise<Seen & { raw: string }> {
  const answer = await stack.ask('chat', `fault-${index}`);
  const { reason, usage, costPicoUsd } = await stack.readBill(answer.requestId);
  return { ...heard('chat', answer), bill: { reason, isFree: costPicoUsd === '0', outputTokens: usage.outputTokens }, raw: answer.text };
}

/** Expected text, end and bill of an outcome. */
function toExpected(outcome: readonly StreamEvent[]): Seen {
  const text = outcome.map((event) => (event.type === 'text-delta' ? event.text : '')).join('');
  const usage = outcome.find((event) => event.type === 'usage-report')?.usage;
  const failure = outcome.find((event) => event.type === 'completion-failure');
  const bill: Seen['bill'] & Partial<Bill> = {
    reason: failure === undefined ? 'completed' : 'failed',
    isFree: usage === undefined,
    outputTokens: usage?.outputTokens ?? 0,
  };
  return { text, ended: failure === undefined ? 'complete' : 'failed', ...(failure && { code: failure.code }), bill };
}

test.each(ROWS.map(([name, , outcome], index) => ({ title: `${pickKind(index)}: ${name}`, outcome, index })))(
  '$title [fault-words]',
  ({ outcome, index }) => {
    const { raw, ...shown } = seen.get(index) ?? { raw: '' };
    expect(shown).toEqual(toExpected(outcome));
    expect(raw).not.toMatch(/127\.0\.0\.1|ESMTP|Sign in|Welcome|HPE_|UND_ERR|ECONN|elsewhere/);
  },
);

test('the memory of the proxy grows by at most 256 MiB, and no hold is left [fault-memory]', async () => {
  expect(grown).toBeLessThan(RESIDENT_GROWTH_MAX);
  await untilNoHolds(stack.administrator, stack.tenant.accountId);
});
