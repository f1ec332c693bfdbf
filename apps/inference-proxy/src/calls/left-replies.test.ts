import { UPSTREAM_KINDS } from '#contracts/catalog.js';
import type { StreamEvent } from '#inference/stream-event.js';
import { NO_USAGE, type Usage } from '#inference/usage.js';
import { computeCost, type Price } from '#money/price.js';
import { longOr } from '#testing/long-run.js';
import { reportedUsage } from '#testing/token-usage.js';
import { setUp, startUpstreamBeforeEach, upstream } from '../../test/inference-fixture.js';
import { CAPS, saysThinking, type VendorReply } from '../../test/vendor-replies.js';
import { writeEvents, writePlain } from '../../test/vendor-reply-writers.js';

/*
 * Leaving a reply after each of its events never costs more than staying. The vendor counts no less than the estimates say, and a marked
 * upstream hides no less than its floor: an estimate that is too high is an error of the estimate.
 */
const PRICE: Price = { inputPicoUsd: 1_000_000n, cachedInputPicoUsd: 100_000n, outputPicoUsd: 10_000_000n };
const FLOOR = 40;
/** 12 tokens are shown, by the estimate. */
const COUNTS = { prompt: CAPS.promptTokensEstimate, cached: 0, output: 12 + FLOOR + 20, thinking: 30 };

const REPLY: VendorReply = {
  pieces: [
    { type: 'thinking', text: 'They want both.' },
    { type: 'text', text: 'I look.' },
    { type: 'call', id: 'call_1', name: 'run', text: '{"n":1}' },
    { type: 'call', id: 'call_2', name: 'run', text: '{"n":2}' },
  ],
  early: { meaning: 'none', said: null },
  word: { meaning: 'stop', said: 'stop' },
  counts: COUNTS,
  usage: 'details',
  usageAt: 'with the finish',
  nonsense: undefined,
  marker: 'own event',
  error: 'none',
};

const AFTER: [string, VendorReply] = ['usage after the finish', { ...REPLY, usageAt: 'after the finish' }];
const CUT: [string, VendorReply] = ['nothing but a cut', { ...REPLY, pieces: [], word: { meaning: 'length', said: 'length' } }];
const ALL: [name: string, reply: VendorReply][] = [
  AFTER,
  CUT,
  ['usage with the finish', REPLY],
  ['usage before the finish', { ...REPLY, usageAt: 'before the finish' }],
  ['usage everywhere', { ...REPLY, usageAt: 'everywhere' }],
  ['thinking in the total', { ...REPLY, usage: 'thinking in the total' }],
  ['thinking alone', { ...REPLY, pieces: REPLY.pieces.slice(0, 1), word: { meaning: 'length', said: 'length' } }],
];
const REPLIES = longOr([AFTER, CUT], ALL);

type Started = ReturnType<typeof setUp>;

const WAYS = {
  'the client disconnects': ({ leave }) => leave(),
  'the client disconnects and the inference-proxy stops': ({ leave, closing }) => {
    leave();
    closing.abort();
  },
  'the key is revoked': ({ lease }) => lease.lose?.('revoked'),
  'the gateway is lost': ({ client }) => client.abort(),
} satisfies Record<string, (started: Started) => void>;

type Way = keyof typeof WAYS;

startUpstreamBeforeEach();

interface Sent {
  isStream: boolean;
  pieces: string[];
}

/** Returns the bill of a request that ends after so many pieces of its reply; without `way`, of one that stays. */
async function billReply(
  kind: (typeof UPSTREAM_KINDS)[number],
  hiddenReasoning: boolean,
  { isStream, pieces }: Sent,
  count: number,
  way?: Way,
) {
  const [written, more] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  upstream.behave(async (_request, response) => {
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' }).flushHeaders();
    for (const piece of pieces.slice(0, count)) response.write(piece);
    written.resolve();
    await more.promise;
    response.end(pieces.slice(count).join(''));
  });
  const timeouts = { connectMs: 60_000, firstByteMs: 60_000, idleMs: 60_000, totalMs: 60_000, readOnMs: 60_000, finishMs: 60_000 };
  const capabilities = { hiddenReasoning, hiddenTokensFloor: FLOOR };
  const started = setUp({ ...CAPS, upstreams: [upstream.definition({ kind, timeouts, capabilities })], request: { stream: isStream } });
  const events: StreamEvent[] = [];
  const ended = (async () => {
    for await (const batch of started.stream) events.push(...batch);
  })();
  await written.promise;
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate); // the proxy reads meanwhile, in this process
  if (way !== undefined) WAYS[way](started);
  if (way === undefined || way === 'the client disconnects') more.resolve();
  await ended;
  more.resolve();
  const [deferred] = await Promise.all(started.deferred);
  const reports = events.flatMap((event) => (event.type === 'usage-report' ? [event.usage] : []));
  const settled = deferred ?? started.settlements.at(0)?.();
  return (settled === undefined ? reports.at(-1) : settled.usage) ?? NO_USAGE;
}

const VENDORS_COUNT: Usage = reportedUsage(COUNTS.prompt, COUNTS.output, { reasoningTokens: COUNTS.thinking });

describe.each(UPSTREAM_KINDS)('%s', (kind) => {
  const rows = [true, false].flatMap((hidden) => (Object.keys(WAYS) as Way[]).map((way) => ({ hidden, way })));

  test.each(rows)(
    '$way, hidden output $hidden: never more than staying costs, and exactly that once all is counted',
    async ({ hidden, way }) => {
      for (const [name, reply] of REPLIES) {
        const pieces = writeEvents(kind, reply);
        const stays = await billReply(kind, hidden, { isStream: true, pieces }, pieces.length);
        expect({ name, stays }).toEqual({ name, stays: countUsage(kind, reply) });
        const counted = countedAt(pieces);
        for (let count = 0; count <= pieces.length; count++) {
          const left = await billReply(kind, hidden, { isStream: true, pieces }, count, way);
          const isDearer = computeCost(left, PRICE) > computeCost(stays, PRICE);
          const where = { name, count, left: { ...left, isDearer } };
          const isReadOn = hidden && count > 0 && way === 'the client disconnects';
          // A revoked key is a failure for the client, which costs nothing without content.
          const isFailure = way === 'the key is revoked' && reply.pieces.length === 0 && count < pieces.length;
          const isExact = isReadOn || (count >= counted && !isFailure);
          expect(where).toEqual({ name, count, left: { ...(isExact ? stays : left), isDearer: false } });
        }
      }
    },
  );

  test.each(rows)('$way, hidden output $hidden, a plain reply: never more than staying costs', async ({ hidden, way }) => {
    const body = writePlain(kind, REPLY);
    const sent = { isStream: false, pieces: [body.slice(0, body.length >> 1), body.slice(body.length >> 1)] };
    const stays = await billReply(kind, hidden, sent, 2);
    expect(stays).toEqual(countUsage(kind, REPLY));
    for (let count = 0; count <= 2; count++) {
      const left = await billReply(kind, hidden, sent, count, way);
      expect({ count, left, isDearer: computeCost(left, PRICE) > computeCost(stays, PRICE) }).toEqual({ count, left, isDearer: false });
    }
  });
});

test.each(UPSTREAM_KINDS)(
  '%s: a reply that fails because it is empty costs nothing when its gateway is lost, counted or not',
  async (kind) => {
    const pieces = writeEvents(kind, { ...REPLY, pieces: [] });
    for (let count = 0; count < pieces.length; count++) {
      const left = await billReply(kind, false, { isStream: true, pieces }, count, 'the gateway is lost');
      expect({ count, left }).toEqual({ count, left: NO_USAGE });
    }
  },
);

/** Returns the number of events with which the finish and all counts have come. */
function countedAt(pieces: readonly string[]): number {
  const has = (pattern: RegExp): number => pieces.findIndex((piece) => pattern.test(piece)) + 1;
  return Math.max(
    has(/"(?:stop_reason|finish_reason|finishReason|stopReason)":"|"status":"(?:completed|incomplete)"/),
    has(new RegExp(`(?:_tokens|TokenCount|Tokens)":(?:${COUNTS.output}|${COUNTS.output - COUNTS.thinking})\\b`)),
  );
}

function countUsage(kind: (typeof UPSTREAM_KINDS)[number], { usage }: VendorReply): Usage {
  const isTold = usage === 'thinking in the total' ? kind !== 'anthropic-messages' : saysThinking(kind);
  return isTold ? VENDORS_COUNT : { ...VENDORS_COUNT, reasoningTokens: 0 };
}
