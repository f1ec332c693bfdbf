import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { stringify } from 'yaml';
import { holdList } from '#contracts/billing/holds.js';
import { type BilledRequest, requestShow } from '#contracts/billing/requests.js';
import { catalogApply } from '#contracts/catalog.js';
import { NO_USAGE } from '#inference/usage.js';
import type { Messaging } from '#messaging/messaging.js';
import { computeCost, type Price } from '#money/price.js';
import { leastMs } from '#testing/least-ms.js';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator, createTenant, readBalance, type Tenant, untilNoHolds, untilOffered } from '#testing/tenant.js';
import { reportedUsage } from '#testing/token-usage.js';
import { BEGUN_AFTER_MS } from '../../apps/inference-proxy/src/calls/usage-meter.js';
import { chunk, DONE, plainReply, TestUpstream, USAGE, USAGE_CHUNK } from '../../apps/inference-proxy/test/test-upstream.js';
import { CLIENT_FORMATS, type FormatName } from '../chaos/client-format.js';

/**
 * Clients disconnect at every stage of a request, in every format (docs/money.md). The upstream records when its connection was closed.
 */
const STAGES = [
  'before headers',
  'a second before headers',
  'before the first token',
  'mid-stream',
  'after the last token',
  'during settle',
] as const;
type Stage = (typeof STAGES)[number];
/** `plain over a stream`: a plain request that the upstream streams (`streamPlainRequests`). */
const MODES = ['streamed', 'plain', 'plain over a stream'] as const;
type Mode = (typeof MODES)[number];
const FORMATS = Object.keys(CLIENT_FORMATS) as FormatName[];

const CLOSED_MS_MAX = 250;
/** Time after which sent bytes have surely arrived, also on a busy machine. */
const PASSED_ON_MS = 200;
const TOKENS = ['one ', 'two ', 'thr '];
const PRICE: Price = { inputPicoUsd: 1_000_000n, cachedInputPicoUsd: 100_000n, outputPicoUsd: 3_000_000n };

const NOTHING = NO_USAGE;
const PROMPT = { ...NOTHING, promptTokens: 2 };
const WHAT_CAME = { ...PROMPT, outputTokens: TOKENS.length };
const REPORTED = reportedUsage(USAGE.prompt_tokens, USAGE.completion_tokens);
const HALF_A_TEXT = 20;

let running: RunningStack;
let administrator: Messaging;
let database: pg.Client;
let upstream: TestUpstream;
let tenant: Tenant;
/** Stage at which the next client disconnects. The upstream sends the rest afterwards if it can. */
let stageNow: Stage;
let reached: PromiseWithResolvers<ServerResponse>;
let goOn: PromiseWithResolvers<void>;

beforeAll(async () => {
  upstream = await TestUpstream.start((_request, response) => behave(response));
  running = await startPrivateStack();
  administrator = await connectAdministrator(running);
  database = new pg.Client({ connectionString: running.databaseUrl });
  await database.connect();
  await administrator.request(catalogApply, { yaml: catalog() });
  tenant = await createTenant(administrator);
  await untilOffered(running.gatewayUrl, tenant.apiKey, ['as-asked', 'always-streams']);
});
afterAll(async () => {
  await Promise.all([administrator?.close(), database?.end()]);
  await Promise.all([running?.stop(), upstream?.stop()]);
});

function catalog(): string {
  const at = (id: string, streamPlainRequests: boolean): object => {
    return {
      id,
      kind: 'openai-chat',
      baseUrl: `http://127.0.0.1:${upstream.port}/v1`,
      allowPrivateNetwork: true,
      capabilities: { streamPlainRequests },
    };
  };
  const model = (id: string): object => {
    const price = { inputUsdPerMTok: '1', cachedInputUsdPerMTok: '0.1', outputUsdPerMTok: '3' };
    return {
      id,
      ownedBy: 'tollgate',
      contextTokens: 10_000,
      maxOutputTokens: 1_000,
      input: ['text'],
      price,
      routes: [{ upstream: id, model: 'any' }],
    };
  };
  return stringify({
    upstreams: [at('as-asked', false), at('always-streams', true)],
    models: [model('as-asked'), model('always-streams')],
  });
}

async function behave(response: ServerResponse): Promise<void> {
  const streamed = upstream.bodies.at(-1)?.stream === true;
  const hasHeaders = stageNow !== 'before headers' && stageNow !== 'a second before headers';
  if (hasHeaders) response.writeHead(200, { 'content-type': streamed ? 'text/event-stream' : 'application/json' }).flushHeaders();
  const pieces = streamed ? [...TOKENS.map((token) => chunk(token)), chunk('', 'stop')] : whole();
  if (stageNow === 'mid-stream') for (const piece of pieces.slice(0, -1)) response.write(piece);
  if (stageNow === 'after the last token') for (const piece of pieces) response.write(piece);
  reached.resolve(response);
  if (stageNow !== 'during settle') return;
  await goOn.promise;
  if (streamed) response.end([...pieces, USAGE_CHUNK, DONE].join(''));
  else response.end([...pieces, '}'].join(''));
}

/** A plain reply in two halves, without its last byte. */
function whole(): string[] {
  const text = JSON.stringify(plainReply(TOKENS.join('')));
  return [text.slice(0, HALF_A_TEXT), text.slice(HALF_A_TEXT, -1)];
}

/** Starts a request. Returns functions that disconnect and that wait for tokens. */
function begin(format: FormatName, mode: Mode): { leave(): void; untilSeen(text: string): Promise<void> } {
  const { path, body } = CLIENT_FORMATS[format];
  const ask = {
    model: mode === 'plain over a stream' ? 'always-streams' : 'as-asked',
    text: 'Hello',
    outputTokensMax: 100,
    withTool: false,
  };
  const leaving = new AbortController();
  const response = fetch(running.gatewayUrl + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body({ ...ask, stream: mode === 'streamed' })),
    signal: leaving.signal,
  });
  response.catch(() => undefined);
  return {
    leave: () => leaving.abort(),
    untilSeen: async (text) => {
      const decoder = new TextDecoder();
      let seen = '';
      for await (const piece of (await response).body?.values({ preventCancel: true }) ?? []) {
        seen += decoder.decode(piece, { stream: true });
        if (seen.includes(text)) return;
      }
      throw new Error(`the stream ended: ${seen}`);
    },
  };
}

/** Resolves with the time at which the upstream's connection was closed by its peer. */
async function closedAt(response: ServerResponse): Promise<number> {
  if (!response.closed) await once(response, 'close', { signal: AbortSignal.timeout(5_000) });
  expect(response.writableEnded).toBe(false);
  return performance.now();
}

async function heldRequest(): Promise<string> {
  const { holds } = await administrator.request(holdList, { accountId: tenant.accountId });
  expect(holds).toHaveLength(1);
  return holds[0]?.requestId ?? '';
}

async function readBill(requestId: string): Promise<Pick<NonNullable<BilledRequest['settlement']>, 'reason' | 'usage' | 'costPicoUsd'>> {
  await untilNoHolds(administrator, tenant.accountId, 5_000);
  const { settlement } = await administrator.request(requestShow, { requestId });
  if (!settlement) throw new Error(`${requestId} was not settled`);
  const { reason, usage, costPicoUsd } = settlement;
  return { reason, usage, costPicoUsd };
}

/** Expected bill of each cell, as in docs/money.md. */
function billFor(stage: Stage, mode: Mode): { reason: string; usage: object } {
  if (stage === 'during settle') return { reason: 'completed', usage: REPORTED };
  if (stage === 'before headers') return { reason: 'client-disconnected', usage: NOTHING };
  const hasContent = mode !== 'plain' && (stage === 'mid-stream' || stage === 'after the last token');
  return { reason: 'client-disconnected', usage: hasContent ? WHAT_CAME : PROMPT };
}

const CELLS = STAGES.flatMap((stage) => MODES.flatMap((mode) => FORMATS.map((format) => ({ stage, mode, format }))));

test.each(CELLS)('a client disconnects $stage, $mode ($format)', async (cell) => {
  expect(await leastMs(CLOSED_MS_MAX, () => leaveOnce(cell))).toBeLessThan(CLOSED_MS_MAX);
});

/** Milliseconds from the disconnect to the close of the upstream; 0 if it had sent everything. */
async function leaveOnce({ stage, mode, format }: (typeof CELLS)[number]): Promise<number> {
  let closedMs = 0;
  let headersMs = 0;
  stageNow = stage;
  reached = Promise.withResolvers();
  goOn = Promise.withResolvers();
  const before = await readBalance(running.gatewayUrl, tenant.apiKey);
  const client = begin(format, mode);
  const response = await reached.promise;
  const reachedAt = performance.now();
  const requestId = await heldRequest();

  if (stage === 'during settle') {
    // Billing cannot settle while the account's row is locked.
    await database.query('BEGIN');
    await database.query('SELECT FROM billing.account WHERE id = $1 FOR UPDATE', [tenant.accountId]);
    try {
      goOn.resolve();
      if (!response.closed) await once(response, 'close');
      if (mode === 'streamed') await client.untilSeen('thr ');
      else await delay(PASSED_ON_MS); // nothing outside shows that the reply has reached the gateway
      client.leave();
      await delay(PASSED_ON_MS);
    } finally {
      await database.query('ROLLBACK');
    }
  } else {
    const hasContent = stage === 'mid-stream' || stage === 'after the last token';
    if (hasContent && mode === 'streamed') await client.untilSeen('thr ');
    else if (stage === 'a second before headers') await delay(BEGUN_AFTER_MS + PASSED_ON_MS);
    else if (stage !== 'before headers') await delay(PASSED_ON_MS); // nor that a part of it has reached the proxy
    client.leave();
    const leftAt = performance.now();
    closedMs = (await closedAt(response)) - leftAt;
    headersMs = leftAt + closedMs - reachedAt;
  }

  const bill = await readBill(requestId);
  const after = await readBalance(running.gatewayUrl, tenant.apiKey);
  const costPicoUsd = computeCost(bill.usage, PRICE).toString();
  // On a busy machine the disconnect itself may have taken a second.
  const expected =
    stage === 'before headers' && headersMs >= BEGUN_AFTER_MS ? billFor('a second before headers', mode) : billFor(stage, mode);
  expect(bill).toEqual({ ...expected, costPicoUsd });
  expect({ spent: BigInt(before.balance_pico_usd) - BigInt(after.balance_pico_usd), reserved: after.reserved_pico_usd }).toEqual({
    spent: BigInt(costPicoUsd),
    reserved: '0',
  });
  return closedMs;
}
