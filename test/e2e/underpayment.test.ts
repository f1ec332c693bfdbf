import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { holdList } from '#contracts/billing/holds.js';
import { UPSTREAM_KINDS, type Upstream } from '#contracts/catalog.js';
import { computeCost, type Price } from '#money/price.js';
import { counting, DIALECT_STREAMS } from '#testing/dialect-streams.js';
import { chunked, type Fault, FaultServer, LAST_CHUNK, replyHead, send } from '#testing/fault-server.js';
import { longOr } from '#testing/long-run.js';
import { createTenant, untilNoHolds } from '#testing/tenant.js';
import { type Bill, FaultStack, type UpstreamLines } from './fault-stack.js';
import { SlowReader } from './slow-readers.js';

/** Bills of clients that stop, abandon or stall a reply (docs/money.md), at upstreams that show or hide the billed output. */
const STALLS = 'stalls it until it is cut off, streamed';
const WAYS = [
  'stops it by a stop sequence, streamed',
  'stops it by a stop sequence, plain',
  'leaves before content, streamed',
  'leaves after useful text, streamed',
  'leaves, plain',
  'leaves a reply that ends too late, streamed',
  'leaves a reply that ends too late, plain',
  STALLS,
] as const;
type Way = (typeof WAYS)[number];
/** The other kinds run in the long run alone: the suite of left replies of the inference-proxy covers all of them. */
const KINDS = longOr<readonly Upstream['kind'][]>(['openai-chat', 'openai-responses', 'anthropic-messages'], UPSTREAM_KINDS);
const COLUMNS = KINDS.flatMap((kind) => (['visible', 'hidden'] as const).map((reasoning) => ({ kind, reasoning })));
type Column = (typeof COLUMNS)[number];

/** Estimated tokens that an upstream sends before and after its client stops or disconnects. */
const SHOWN = 20;
const HIDDEN = 3_000;
const FLOOR = 500;
const DRAIN_MS = 500;
/** Time after which sent bytes have surely arrived, also on a busy machine. */
const PASSED_ON_MS = 300;
const FLOOD_PIECE = 16 * 1024;
const FLOOD_TOKENS = 3_000_000;
const PRICE: Price = { inputPicoUsd: 1_000_000n, cachedInputPicoUsd: 100_000n, outputPicoUsd: 3_000_000n };

/** An upstream and an account for the clients of a column. */
interface Lane {
  column: Column;
  server: FaultServer;
  stack: FaultStack;
}

let system: FaultStack;
let lanes: Lane[];
const bills = new Map<string, { bill: Bill } | { error: unknown }>();

/** The columns wait side by side, but one at a time reads a long reply; each test checks one cell. */
beforeAll(async () => {
  system = await FaultStack.start({ serviceEnv: { gateway: { DRAIN_MS: String(DRAIN_MS) } } });
  lanes = await Promise.all(
    COLUMNS.map(async (column) => {
      const [server, tenant] = await Promise.all([FaultServer.start(), createTenant(system.administrator, { usd: '100000.00' })]);
      return { column, server, stack: system.as(tenant) };
    }),
  );
  await system.offer(lanes.flatMap(({ column, server }) => [false, true].map((isLate) => toUpstream(column, server, isLate))));
  await Promise.all(
    lanes.map(async (lane) => {
      for (const way of WAYS.filter((way) => way !== STALLS)) bills.set(formatName(way, lane.column), await ask(way, lane));
    }),
  );
  for (const lane of lanes) bills.set(formatName(STALLS, lane.column), await ask(STALLS, lane));
});
afterAll(async () => {
  await system?.stop();
  await Promise.all((lanes ?? []).map(({ server }) => server.stop()));
});

function toUpstream(column: Column, server: FaultServer, isLate: boolean): UpstreamLines {
  return {
    id: makeId(column, isLate),
    kind: column.kind,
    baseUrl: `http://127.0.0.1:${server.port}/v1`,
    allowPrivateNetwork: true,
    capabilities: { stop: false, hiddenReasoning: column.reasoning === 'hidden', hiddenTokensFloor: FLOOR },
    timeouts: { readOnMs: isLate ? 300 : 30_000 },
  };
}

async function ask(way: Way, lane: Lane): Promise<{ bill: Bill } | { error: unknown }> {
  return billFor(way, lane).then(
    (bill) => ({ bill }),
    (error: unknown) => ({ error }),
  );
}

function formatName(way: Way, { kind, reasoning }: Column): string {
  return `${way}: ${kind}, ${reasoning}`;
}

function makeId({ kind, reasoning }: Column, isLate = false): string {
  return `${kind}-${reasoning}${isLate ? '-late' : ''}`;
}

/** Expected cells of the table in docs/money.md. */
function table(): Map<string, string[]> {
  const splitCells = (line: string): string[] =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
  const lines = readFileSync('docs/money.md', 'utf8').split('\n');
  const from = lines.findIndex((line) => line.startsWith('| a client … |'));
  const [head = [], , ...rows] = lines.slice(from, lines.indexOf('', from)).map(splitCells);
  expect(head.slice(1)).toEqual(UPSTREAM_KINDS.flatMap((kind) => [`${kind}, visible`, `${kind}, hidden`]));
  return new Map(rows.map(([way = '', ...cells]) => [way, cells]));
}

test('docs/money.md has these rows', () => {
  expect([...table().keys()]).toEqual([...WAYS]);
});

const CELLS = WAYS.flatMap((way) => COLUMNS.map((column, index) => ({ way, ...column, index })));

test.each(CELLS)('a client $way: $kind, $reasoning', ({ way, index, ...column }) => {
  const asked = bills.get(formatName(way, column));
  if (asked === undefined || 'error' in asked) throw asked?.error;
  const { bill } = asked;
  expect({ pays: wordsFor(bill, way), cost: BigInt(bill.costPicoUsd) }).toEqual({
    pays: table().get(way)?.[index],
    cost: computeCost(bill.usage, PRICE),
  });
});

/** A bill as the table describes it. */
function wordsFor({ usage }: Bill, way: Way): string {
  const { outputTokens, outputSource, promptTokens } = usage;
  if (outputSource === 'reported') return promptTokens === 12 ? 'all, as reported' : 'another report';
  if (promptTokens === 0) return 'nothing';
  if (outputTokens === 0) return 'the prompt';
  if (outputTokens === FLOOR) return 'the prompt and the floor';
  if (outputTokens === SHOWN + FLOOR) return 'what came and the floor';
  return outputTokens === SHOWN || way === STALLS ? 'what came' : `${outputTokens} tokens`;
}

function billFor(way: Way, lane: Lane): Promise<Bill> {
  if (way.startsWith('stops')) return stop(lane, way.endsWith('streamed'));
  if (way === STALLS) return stall(lane);
  const isLate = way.includes('too late');
  return leave(lane, { stream: way.endsWith('streamed'), hasText: !way.includes('before content'), isLate });
}

function post({ column, stack }: Lane, isLate: boolean, body: object, signal: AbortSignal | null = null): Promise<Response> {
  return fetch(`${stack.facts.gatewayUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${stack.tenant.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: makeId(column, isLate), messages: [{ role: 'user', content: 'Hello' }], max_tokens: 10_000, ...body }),
    signal,
  });
}

function countReported({ reasoning }: Column, shownTokens: number): number {
  return shownTokens + (reasoning === 'hidden' ? HIDDEN : 0);
}

async function stop(lane: Lane, stream: boolean): Promise<Bill> {
  const { column, server, stack } = lane;
  const dialect = DIALECT_STREAMS[column.kind];
  const said = `${'word'.repeat(SHOWN)}STOP${'word'.repeat(SHOWN)}`;
  const outputTokens = countReported(column, 2 * SHOWN + 1);
  server.behave(({ socket }) => {
    if (stream) socket.end(replyHead() + chunked(dialect.opening, dialect.text(said), counting(dialect.ending, outputTokens)) + LAST_CHUNK);
    else socket.end(replyHead({ 'content-type': 'application/json' }) + chunked(counting(dialect.plain(said), outputTokens)) + LAST_CHUNK);
  });
  const response = await post(lane, false, { stream, stop: 'STOP' });
  const text = await response.text();
  expect({ text, isShort: !text.includes('STOP') && text.split('word').length - 1 === SHOWN }).toMatchObject({ isShort: true });
  const bill = await stack.readBill(response.headers.get('x-request-id') ?? '');
  expect(bill).toMatchObject({ reason: 'completed', usage: { outputTokens } });
  return bill;
}

async function leave(lane: Lane, how: { stream: boolean; hasText: boolean; isLate: boolean }): Promise<Bill> {
  const { column, server, stack } = lane;
  const { stream, hasText, isLate } = how;
  const dialect = DIALECT_STREAMS[column.kind];
  const outputTokens = countReported(column, 2 * SHOWN);
  const begun = Promise.withResolvers<Socket>();
  const goOn = Promise.withResolvers<void>();
  server.behave(async ({ socket }) => {
    const words = 'word'.repeat(SHOWN);
    if (stream) socket.write(replyHead() + chunked(dialect.opening, ...(hasText ? [dialect.text(words)] : [])));
    else socket.write(replyHead({ 'content-type': 'application/json' }));
    begun.resolve(socket);
    await goOn.promise;
    if (stream) socket.end(chunked(dialect.text(words), counting(dialect.ending, outputTokens)) + LAST_CHUNK);
    else socket.end(chunked(counting(dialect.plain(words + words), outputTokens)) + LAST_CHUNK);
  });
  const leaving = new AbortController();
  const response = post(lane, isLate, { stream }, leaving.signal);
  response.catch(() => undefined);
  const socket = await begun.promise;
  const requestId = await heldRequest(lane);
  await delay(PASSED_ON_MS); // nothing outside shows that the sent bytes have reached the proxy
  leaving.abort();
  if (column.reasoning === 'visible' || isLate) await once(socket, 'close');
  else await delay(PASSED_ON_MS); // nor that the gateway has noticed the disconnect
  goOn.resolve();
  await untilNoHolds(stack.administrator, stack.tenant.accountId);
  const bill = await stack.readBill(requestId);
  expect(bill.reason).toBe('client-disconnected');
  if (bill.usage.outputSource === 'reported') expect(bill.usage.outputTokens).toBe(outputTokens);
  return bill;
}

/** The client reads only the start of a long reply. */
async function stall({ column, server, stack }: Lane): Promise<Bill> {
  const { opening, text, ending } = DIALECT_STREAMS[column.kind];
  const outputTokens = countReported(column, FLOOD_TOKENS);
  const piece = chunked(text('x'.repeat(FLOOD_PIECE)));
  const flood: Fault = async ({ socket }) => {
    socket.write(replyHead() + chunked(opening));
    for (let sent = 0; sent < FLOOD_TOKENS * 4; sent += FLOOD_PIECE) if (!(await send(socket, piece))) return;
    socket.end(chunked(counting(ending, outputTokens)) + LAST_CHUNK);
  };
  server.behave(flood);
  const client = await SlowReader.open(stack, makeId(column), 50_000_000);
  await untilNoHolds(stack.administrator, stack.tenant.accountId, 40_000);
  client.leave();
  const bill = await stack.readBill(client.requestId);
  expect(bill.reason).toBe('client-disconnected');
  if (bill.usage.outputSource === 'reported') expect(bill.usage.outputTokens).toBe(outputTokens);
  else expect(bill.usage.outputTokens).toBeGreaterThan(FLOOD_PIECE / 4);
  return bill;
}

async function heldRequest({ stack }: Lane): Promise<string> {
  const { holds } = await stack.administrator.request(holdList, { accountId: stack.tenant.accountId });
  expect(holds).toHaveLength(1);
  return holds[0]?.requestId ?? '';
}
