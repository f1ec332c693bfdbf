import type { UpstreamTimeouts } from '#contracts/catalog.js';
import type { GenerateRequest } from '#contracts/inference.js';
import type { StreamEvent } from '#inference/stream-event.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import type { UpstreamClient } from '../routing/upstream-client.js';
import { GrowingBuffer } from '../transport/growing-buffer.js';
import { HeldBytes, type HeldShare } from '../transport/held-bytes.js';
import { postStream, type ReplyLimits, type UpstreamReply } from '../transport/post-stream.js';
import { SseParser } from '../transport/sse-parser.js';
import type { StreamParser, UpstreamAdapter, UpstreamCall } from '../upstreams/upstream-adapter.js';
import { encodeJsonInTurns } from './encode-json.js';
import { mayBeEmpty, ReplyShaper } from './reply-shaper.js';
import { SharedTurns } from './shared-turns.js';
import type { UsageMeter } from './usage-meter.js';

const MIB = 1024 * 1024;
const PLAIN_BYTES_PER_TOKEN_MAX = 256;
const STREAM_BYTES_PER_TOKEN_MAX = 2048;
const ERROR_BYTES_MAX = 64 * 1024;
const ERROR_BODY_MS = 2_000;
/** Events that are not whole yet, over all streams, besides the first 64 KiB of each. */
const LONG_EVENTS = new HeldBytes(128 * MIB, 64 * 1024);

/** A prompt of more than some 200 kB: its request is encoded in several turns of the event loop. */
const LARGE_PROMPT_TOKENS = 50_000;

/** Where a call goes: an upstream, and the model's name there. */
export interface CallTarget {
  client: Pick<UpstreamClient, 'adapter' | 'upstream' | 'pool' | 'basePath' | 'refusal'>;
  model: string;
}

/**
 * One call of one upstream: its reply as batches of events, one a read of the socket, ended by the terminal event. Throws
 * `UpstreamFailure`, after the events that came before it; when `signal` fires, the signal's reason. The socket is given
 * up as soon as the caller leaves or has all it wants.
 */
export async function* callUpstream(
  target: CallTarget,
  { request, ticket }: GenerateRequest,
  meter: UsageMeter,
  apiKey: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<StreamEvent[], void, undefined> {
  const { client, model } = target;
  const { adapter, upstream } = client;
  if (client.refusal !== undefined) {
    const { message: reason } = client.refusal;
    throw new UpstreamFailure('unreachable', 'model_unavailable', { reason, cause: client.refusal, isOperatorsFault: true });
  }
  const { capabilities, timeouts } = upstream;
  const stream = request.stream || capabilities.streamPlainRequests;
  const call: UpstreamCall = { request, model, outputTokensMax: ticket.outputTokensMax, stream, capabilities };
  const rendered = adapter.renderRequest(call, apiKey);
  const body = ticket.promptTokensEstimate > LARGE_PROMPT_TOKENS ? await encodeInTurns(rendered.body) : JSON.stringify(rendered.body);
  const { length } = body;
  const limitsOf = (isStream: boolean): ReplyLimits => (isStream ? streamLimits(call, timeouts) : plainLimits(call, timeouts, length));
  const reply = await postStream(
    client.pool,
    {
      path: client.basePath + rendered.path,
      headers: { ...rendered.headers, 'user-agent': 'tollgate' },
      body,
      onSent: () => meter.sent(),
      ...limitsOf(stream),
    },
    signal,
  );
  const takesStops = capabilities.stop && !adapter.withoutStop;
  const stop = (request.stop ?? []).filter((sequence) => !takesStops || adapter.takesStop?.(sequence) === false);
  const shaper = new ReplyShaper(meter, { outputTokensMax: ticket.outputTokensMax, stop, mayBeEmpty: mayBeEmpty(request) });
  try {
    await assertGood(reply, adapter, call);
    meter.answered();
    const first = await firstBytes(reply, timeouts.totalMs);
    const isStream = isEventStream(reply, first);
    if (isStream !== stream) reply.limitTo(limitsOf(isStream));
    if (isStream) yield* readEvents(reply, first, client, call, shaper, meter, LONG_EVENTS.open(ticket.accountId));
    else yield parseWhole(await reply.readAll(ticket.accountId, first), adapter, call, shaper);
  } catch (error) {
    if (!shaper.hasStopped || signal.aborted || !(error instanceof UpstreamFailure)) throw error;
    yield shaper.endStopped(); // the reply is whole for its client, whatever became of the rest
  } finally {
    if (shaper.finished && !shaper.wasCut) reply.drain();
    else reply.close();
  }
}

/** A turn after the request was rendered, which may have taken as long as a turn may. */
async function encodeInTurns(body: object): Promise<Buffer> {
  await new Promise((resolve) => setImmediate(resolve));
  return encodeJsonInTurns(body);
}

/** Of a stream that came, whatever was asked for. */
function streamLimits({ outputTokensMax }: UpstreamCall, { firstByteMs, idleMs }: UpstreamTimeouts): ReplyLimits {
  return { timeouts: { firstByteMs, idleMs }, bytesMax: 16 * MIB + outputTokensMax * STREAM_BYTES_PER_TOKEN_MAX };
}

/** Of a plain reply that came, whatever was asked for. Some repeat much of their request. */
function plainLimits({ outputTokensMax }: UpstreamCall, { firstByteMs, totalMs }: UpstreamTimeouts, requestLength: number): ReplyLimits {
  const bytesMax = Math.min(16 * MIB, 4 * MIB + 2 * requestLength + outputTokensMax * PLAIN_BYTES_PER_TOKEN_MAX);
  return { timeouts: { firstByteMs, totalMs }, bytesMax };
}

/** Throws for whatever is not a reply to the request: error statuses, redirects, compression nobody asked for. */
async function assertGood(reply: UpstreamReply, adapter: UpstreamAdapter, call: UpstreamCall): Promise<void> {
  const { status, headers } = reply;
  const encoding = reply.header('content-encoding');
  if (status >= 300 && status < 400) {
    throw new UpstreamFailure('refused', 'upstream_error', { detail: `a redirect (${status}), which is never followed` });
  }
  if (status !== 200) throw adapter.parseError({ status, headers, body: await errorText(reply) }, call);
  if (encoding !== undefined && encoding !== 'identity') {
    throw new UpstreamFailure('broken', 'upstream_error', { detail: `an encoding nobody asked for: ${encoding}` });
  }
}

/** The beginning of an error's body. A status is a status, even when the connection breaks after it. */
async function errorText(reply: UpstreamReply): Promise<string> {
  const text = new GrowingBuffer();
  reply.hurry(ERROR_BODY_MS);
  try {
    for (let more = await reply.read(); more !== undefined && text.length < ERROR_BYTES_MAX; more = await reply.read()) {
      for (const chunk of more) text.push(chunk);
    }
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
  }
  return text.take().subarray(0, ERROR_BYTES_MAX).toString();
}

/** The first chunks that are not blank: upstreams keep a connection alive with blank lines (U-13), which nobody needs to keep. */
async function firstBytes(reply: UpstreamReply, quietMsMax: number): Promise<Buffer[]> {
  const quiet = new Quiet(quietMsMax);
  for (let more = await reply.read(); more !== undefined; more = await reply.read()) {
    if (more.some((chunk) => !isBlank(chunk))) return more;
    quiet.goesOn();
  }
  return [];
}

/** How long an upstream has sent bytes that say nothing: each by itself is a sign of life, but not for ever. */
class Quiet {
  private since: number | undefined;

  constructor(private readonly msMax: number) {}

  ends(): void {
    this.since = undefined;
  }

  /** Throws when it has lasted too long. */
  goesOn(): void {
    const now = performance.now();
    this.since ??= now;
    if (now - this.since > this.msMax) throw new UpstreamFailure('timeout', 'upstream_timeout', { detail: 'bytes that say nothing' });
  }
}

function isBlank(chunk: Buffer): boolean {
  return chunk.every((byte) => byte <= 0x20);
}

const OPENING = new Set(['{'.charCodeAt(0), '['.charCodeAt(0), '<'.charCodeAt(0)]);

/** Upstreams answer a stream request with JSON, and the reverse: what came decides (U-24). */
function isEventStream(reply: UpstreamReply, first: readonly Buffer[]): boolean {
  if (reply.header('content-type')?.toLowerCase().startsWith('text/event-stream')) return true;
  for (const chunk of first) {
    const byte = chunk.find((value) => value > 0x20);
    if (byte !== undefined) return !OPENING.has(byte);
  }
  return false;
}

/** A batch for every read of the socket, until the terminal event. Bytes that say nothing count as silence, after a while. */
async function* readEvents(
  reply: UpstreamReply,
  first: Buffer[],
  { adapter, upstream }: CallTarget['client'],
  call: UpstreamCall,
  shaper: ReplyShaper,
  meter: UsageMeter,
  held: HeldShare,
): AsyncGenerator<StreamEvent[], void, undefined> {
  const lines = new SseParser();
  const parser = adapter.openStream(call);
  meter.follow(parser);
  const quiet = new Quiet(upstream.timeouts.totalMs);
  const turns = new SharedTurns();
  try {
    for (let chunks: Buffer[] | undefined = first; ; chunks = await reply.read()) {
      const events: StreamEvent[] = [];
      const failure = readChunks(chunks, lines, parser, events);
      const shaped = shaper.shape(events);
      if (shaped.length > 0) yield shaped;
      if (shaper.finished) return;
      if (failure !== undefined) throw failure;
      if (events.length > 0) quiet.ends();
      else quiet.goesOn();
      held.set(lines.heldBytes);
      if (shaper.hasStopped) await turns.shared();
    }
  } finally {
    meter.follow({ usageSoFar: parser.usageSoFar });
    held.release();
  }
}

/** Appends what the chunks say; none means that the upstream has closed. Returns what went wrong after that. */
function readChunks(
  chunks: Buffer[] | undefined,
  lines: SseParser,
  parser: StreamParser,
  events: StreamEvent[],
): UpstreamFailure | undefined {
  const closed = chunks === undefined || chunks.length === 0;
  const take = (payload: string): void => parser.push(payload, events);
  try {
    if (closed) lines.end(take);
    else lines.push(Buffer.concat(chunks), take); // upstreams send each event as a chunk of its own: many small ones cost more apart
    if (closed) parser.end(events);
    return undefined;
  } catch (error) {
    if (error instanceof UpstreamFailure) return error;
    throw error;
  }
}

function parseWhole(body: Buffer, adapter: UpstreamAdapter, call: UpstreamCall, shaper: ReplyShaper): StreamEvent[] {
  const events: StreamEvent[] = [];
  adapter.parseReply(body.toString(), call, events);
  return shaper.shape(events);
}
