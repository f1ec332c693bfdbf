import type { UpstreamTimeouts } from '#contracts/catalog.js';
import type { GenerateRequest } from '#contracts/inference.js';
import { TIMEOUT_DEFAULTS } from '#contracts/upstream-defaults.js';
import type { StreamEvent } from '#inference/stream-event.js';
import { NO_USAGE } from '#inference/usage.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import { FrameParser } from '../transport/frame-parser.js';
import { HeldBytes, type HeldShare } from '../transport/held-bytes.js';
import { isBlank, type TransferLimits, type UpstreamReply } from '../transport/post-stream.js';
import { SseParser } from '../transport/sse-parser.js';
import type { StreamFraming } from '../transport/stream-framing.js';
import { holdsMoreValues } from '../upstreams/replies/reply-limits.js';
import type { StreamParser, UpstreamAdapter, UpstreamCall } from '../upstreams/upstream-adapter.js';
import { callEmbeddings } from './call-embeddings.js';
import { EventLoopBudget } from './event-loop-budget.js';
import { assertGood, type CallTarget, postCall } from './post-call.js';
import { mayBeEmpty, ReplyShaper } from './reply-shaper.js';
import type { UsageMeter } from './usage-meter.js';

const MIB = 1024 * 1024;
const PLAIN_BYTES_PER_TOKEN_MAX = 256;
const STREAM_BYTES_PER_TOKEN_MAX = 2048;
/** Bytes of incomplete events over all streams, beyond the first 64 KiB of each. */
const LONG_EVENTS = new HeldBytes(128 * MIB, 64 * 1024);

/**
 * Calls one upstream and yields its events, a batch for each read of the socket, up to the terminal event. Throws
 * `UpstreamFailure` after the events that preceded it, or the signal's reason when `signal` fires. Closes the socket when the
 * caller stops iterating.
 */
export async function* callUpstream(
  target: CallTarget,
  { request, ticket }: GenerateRequest,
  meter: UsageMeter,
  apiKey: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<StreamEvent[], void, undefined> {
  const { client, model, onReply, onOddity } = target;
  if (request.embedding !== undefined) return yield* callEmbeddings(target, { request, ticket }, meter, apiKey, signal);
  const { adapter, upstream } = client;
  const { baseUrl, timeouts } = upstream;
  const { capabilities = upstream.capabilities } = target;
  const stream = request.stream || capabilities.streamPlainRequests;
  const { accountId, outputTokensMax, promptTokensEstimate } = ticket;
  const call: UpstreamCall = {
    ...{ request, model, baseUrl, outputTokensMax, promptTokensEstimate, accountId },
    ...{ stream, capabilities, onReply, onOddity },
  };
  const rendered = adapter.renderRequest(call, apiKey);
  const chooseLimits = (isStream: boolean, requestLength: number): TransferLimits =>
    isStream ? streamLimits(call, timeouts) : plainLimits(call, timeouts, requestLength);
  const { reply, requestLength } = await postCall(
    target,
    { rendered, stream, promptTokensEstimate, limits: (length) => chooseLimits(stream, length), onSent: () => meter.sent() },
    signal,
  );
  const stop = (request.stop ?? []).filter((sequence, at) => !capabilities.stop || adapter.takesStop?.(sequence, at) === false);
  const shaper = new ReplyShaper(meter, { outputTokensMax: ticket.outputTokensMax, stop, mayBeEmpty: mayBeEmpty(request) });
  try {
    await assertGood(reply, adapter, call);
    meter.answered();
    const first = await firstBytes(reply, timeouts.totalMs);
    const framing = findFraming(reply, first);
    const isStream = framing !== undefined;
    if (isStream !== stream) reply.limitTo(chooseLimits(isStream, requestLength));
    if (isStream) yield* readEvents(reply, first, framing, client, call, shaper, meter, LONG_EVENTS.open(ticket.accountId));
    else {
      const pause = { ms: timeouts.finishMs ?? TIMEOUT_DEFAULTS.finishMs, isWhole: isWholeJson };
      yield parseWhole(await reply.readAll(ticket.accountId, first, pause), adapter, call, shaper);
    }
  } catch (error) {
    if (!shaper.metStopSequence || signal.aborted || !(error instanceof UpstreamFailure)) throw error;
    yield shaper.endStopped(); // for the client, the reply was complete at the stop sequence
  } finally {
    if (shaper.finished && !shaper.wasCut)
      reply.drain(); // so that the socket can be used again
    else reply.close();
  }
}

/** Limits of a streamed reply, also when the request asked for a plain one. */
function streamLimits({ outputTokensMax }: UpstreamCall, { firstByteMs, idleMs }: UpstreamTimeouts): TransferLimits {
  return { timeouts: { firstByteMs, idleMs }, bytesMax: 16 * MIB + outputTokensMax * STREAM_BYTES_PER_TOKEN_MAX };
}

/** Limits of a plain reply, also when the request asked for a stream. Some servers repeat the request in it. */
function plainLimits({ outputTokensMax }: UpstreamCall, { totalMs }: UpstreamTimeouts, requestLength: number): TransferLimits {
  const bytesMax = Math.min(16 * MIB, 4 * MIB + 2 * requestLength + outputTokensMax * PLAIN_BYTES_PER_TOKEN_MAX);
  return { timeouts: { totalMs }, bytesMax };
}

/** Returns the first chunks that are not blank. Some upstreams keep a connection alive with blank lines. */
async function firstBytes(reply: UpstreamReply, totalMs: number): Promise<Buffer[]> {
  const timeout = new NoEventsTimeout(totalMs);
  for (let more = await reply.read(); more !== undefined; more = await reply.read()) {
    if (more.some((chunk) => !isBlank(chunk)) || hasFrames(readType(reply))) return more;
    timeout.check();
  }
  return [];
}

/** Limits how long an upstream may send bytes that yield no event. Any byte resets `idleMs`, but not this timeout. */
class NoEventsTimeout {
  /** Time at which the first read without an event ended. */
  private since: number | undefined;

  constructor(private readonly msMax: number) {}

  extend(): void {
    this.since = undefined;
  }

  /** Call after each read without an event. Throws `UpstreamFailure` when there was none for too long. */
  check(): void {
    const now = performance.now();
    this.since ??= now;
    if (now - this.since > this.msMax) throw new UpstreamFailure('timeout', 'upstream_timeout', { detail: 'no events within totalMs' });
  }
}

/** First characters of a body that is no event stream. `<`: an HTML page, mostly of a proxy. */
const OPENING = new Set(['{'.charCodeAt(0), '['.charCodeAt(0), '<'.charCodeAt(0)]);

/** Returns the framing of a stream; undefined for a plain body. Some upstreams answer a stream request with JSON, and the reverse. */
function findFraming(reply: UpstreamReply, first: readonly Buffer[]): StreamFraming | undefined {
  const type = readType(reply);
  if (hasFrames(type)) return new FrameParser();
  if (type.startsWith('text/event-stream')) return new SseParser();
  for (const chunk of first) {
    const byte = chunk.find((value) => value > 0x20);
    if (byte !== undefined) return OPENING.has(byte) ? undefined : new SseParser();
  }
  return undefined;
}

/** Content type of a reply in lower case; empty without one. */
function readType(reply: UpstreamReply): string {
  return reply.header('content-type')?.toLowerCase() ?? '';
}

/** True for the content type of a stream of AWS. Its first bytes look blank. */
function hasFrames(type: string): boolean {
  return type.startsWith('application/vnd.amazon.eventstream');
}

/** Yields a batch for each read of the socket, up to the terminal event. */
async function* readEvents(
  reply: UpstreamReply,
  first: Buffer[],
  framing: StreamFraming,
  { adapter, upstream }: CallTarget['client'],
  call: UpstreamCall,
  shaper: ReplyShaper,
  meter: UsageMeter,
  held: HeldShare,
): AsyncGenerator<StreamEvent[], void, undefined> {
  const parser = adapter.openStream(call);
  const timeout = new NoEventsTimeout(upstream.timeouts.totalMs);
  const grace = new FinishGrace(upstream.timeouts.finishMs ?? TIMEOUT_DEFAULTS.finishMs);
  const budget = new EventLoopBudget();
  try {
    for (let chunks: Chunks = first.length > 0 ? first : 'closed'; ; chunks = await readOrEnd(reply, parser, grace)) {
      if (chunks === 'over') reply.close(); // before the client has its end: nothing else will close it
      const events: StreamEvent[] = [];
      const failure = readChunks(chunks, framing, parser, events);
      const shaped = shaper.shape(events);
      const counts = parser.usageSoFar ?? (parser.tier === undefined ? undefined : { ...NO_USAGE, tier: parser.tier });
      if (counts !== undefined) meter.noteCounts(counts, parser.hasFinish && !shaper.isEmpty(parser.finishReason));
      if (shaped.length > 0) yield shaped;
      if (shaper.finished) return;
      if (failure !== undefined) throw failure;
      if (events.length > 0) timeout.extend();
      else timeout.check();
      held.set(framing.heldBytes);
      if (shaper.metStopSequence) await budget.yieldWhenSpent();
    }
  } finally {
    held.release();
  }
}

/** Result of a read. `over`: the reply is complete although its upstream has not closed. */
type Chunks = Buffer[] | 'closed' | 'over';

/**
 * Returns the next chunks. With its finish a reply is complete, whether or not its upstream closes: after the grace it is over, and with
 * the usage as well, a broken connection is as good as a closed one.
 */
async function readOrEnd(reply: UpstreamReply, parser: StreamParser, grace: FinishGrace): Promise<Chunks> {
  if (!parser.hasFinish) {
    grace.restart();
    return (await reply.read()) ?? 'closed';
  }
  const leftMs = grace.leftMs();
  if (leftMs <= 0) return 'over';
  try {
    const chunks = (await reply.read(leftMs)) ?? 'closed';
    return chunks.length > 0 ? chunks : 'over';
  } catch (error) {
    if (error instanceof UpstreamFailure && parser.usageSoFar !== undefined) return 'over';
    throw error;
  }
}

/** The time that a reply has after its finish: usage, an error or its end marker may still come. */
class FinishGrace {
  private since: number | undefined;

  constructor(private readonly ms: number) {}

  /** Call while there is no finish, or content has followed it. */
  restart(): void {
    this.since = undefined;
  }

  /** Milliseconds that are left. The first call starts the time. */
  leftMs(): number {
    const now = performance.now();
    this.since ??= now;
    return this.ms - (now - this.since);
  }
}

/** Appends the events of the chunks. Returns the failure that followed them, if any. */
function readChunks(chunks: Chunks, framing: StreamFraming, parser: StreamParser, events: StreamEvent[]): UpstreamFailure | undefined {
  const take = (payload: string): void => parser.push(payload, events);
  try {
    if (chunks === 'closed' || (chunks === 'over' && !framing.isCut)) framing.end(take);
    else if (chunks !== 'over') framing.push(Buffer.concat(chunks), take); // one push of many small chunks is cheaper than many
    if (chunks === 'closed' || chunks === 'over') parser.end(events);
    return undefined;
  } catch (error) {
    if (error instanceof UpstreamFailure) return error;
    throw error;
  }
}

/** True for a body that can be no beginning of a longer one. */
function isWholeJson(body: Buffer): boolean {
  const last = body.findLast((byte) => byte > 0x20);
  if (last !== CLOSING_BRACE && last !== CLOSING_BRACKET) return false;
  const text = body.toString();
  if (holdsMoreValues(text)) return true; // parsing it is refused
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const CLOSING_BRACE = '}'.charCodeAt(0);
const CLOSING_BRACKET = ']'.charCodeAt(0);

function parseWhole(body: Buffer, adapter: UpstreamAdapter, call: UpstreamCall, shaper: ReplyShaper): StreamEvent[] {
  const events: StreamEvent[] = [];
  adapter.parseReply(body.toString(), call, events);
  return shaper.shape(events);
}
