import type { UpstreamTimeouts } from '#contracts/catalog.js';
import type { GenerateRequest } from '#contracts/inference.js';
import type { StreamEvent } from '#inference/stream-event.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import type { UpstreamClient } from '../routing/upstream-client.js';
import { GrowingBuffer } from '../transport/growing-buffer.js';
import { HeldBytes } from '../transport/held-bytes.js';
import { postStream, type TransferLimits, type UpstreamReply } from '../transport/post-stream.js';
import type { RenderedRequest, UpstreamAdapter, UpstreamCall } from '../upstreams/upstream-adapter.js';
import { encodeJsonInSlices } from './encode-json.js';
import { NoEventsTimeout } from './no-events-timeout.js';
import { mayBeEmpty, ReplyShaper } from './reply-shaper.js';
import { StreamedReply } from './streamed-reply.js';
import type { UsageMeter } from './usage-meter.js';

const MIB = 1024 * 1024;
const PLAIN_BYTES_PER_TOKEN_MAX = 256;
const STREAM_BYTES_PER_TOKEN_MAX = 2048;
const ERROR_BYTES_MAX = 64 * 1024;
const ERROR_BODY_MS = 2_000;
/** Bytes of incomplete events over all streams, beyond the first 64 KiB of each. */
const LONG_EVENTS = new HeldBytes(128 * MIB, 64 * 1024);

/** Above about 200 kB of prompt, the request is encoded in slices, so that other requests are served meanwhile. */
const LARGE_PROMPT_TOKENS = 50_000;

/** The upstream that a call goes to, and the model's name there. */
export interface CallTarget {
  client: Pick<UpstreamClient, 'adapter' | 'upstream' | 'pool' | 'basePath' | 'addressError'>;
  model: string;
  /** Called when the head of a reply has come. */
  onAnswer?(): void;
}

/**
 * Calls one upstream and returns its events, a batch for each read of the socket, up to the terminal event. The first `next` sends the
 * request. Throws `UpstreamFailure` after the events that preceded it, or the signal's reason when `signal` fires. Closes the socket when
 * the caller stops iterating.
 */
export function callUpstream(
  target: CallTarget,
  job: GenerateRequest,
  meter: UsageMeter,
  apiKey: string | undefined,
  signal: AbortSignal,
): AsyncIterableIterator<StreamEvent[], void, undefined> {
  return new CallEvents(target, job, meter, apiKey, signal);
}

type Step = IteratorResult<StreamEvent[], void>;

const DONE: Step = { done: true, value: undefined };

/** An iterator by hand: each batch would pass through two or three promises of every generator on its way. */
class CallEvents implements AsyncIterableIterator<StreamEvent[], void, undefined> {
  private readonly shaper: ReplyShaper;
  private reply: UpstreamReply | undefined;
  /** Set when the reply is a stream. */
  private streamed: StreamedReply | undefined;
  private isOver = false;

  constructor(
    private readonly target: CallTarget,
    private readonly job: GenerateRequest,
    private readonly meter: UsageMeter,
    private readonly apiKey: string | undefined,
    private readonly signal: AbortSignal,
  ) {
    const { request, ticket } = job;
    const { adapter, upstream } = target.client;
    const stop = (request.stop ?? []).filter((sequence) => !upstream.capabilities.stop || adapter.takesStop?.(sequence) === false);
    this.shaper = new ReplyShaper(meter, { outputTokensMax: ticket.outputTokensMax, stop, mayBeEmpty: mayBeEmpty(request) });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<Step> {
    if (this.isOver) return DONE;
    const { shaper } = this;
    try {
      const value = await (this.streamed === undefined ? this.open() : this.streamed.next());
      if (shaper.finished || this.streamed === undefined) this.end();
      return { done: false, value };
    } catch (error) {
      // For the client, the reply was complete at the stop sequence.
      const isComplete = shaper.metStopSequence && !this.signal.aborted && error instanceof UpstreamFailure;
      const value = isComplete ? shaper.endStopped() : undefined;
      this.end();
      if (value === undefined) throw error;
      return { done: false, value };
    }
  }

  async return(): Promise<Step> {
    this.end();
    return DONE;
  }

  /** Sends the request. Returns the whole plain reply, or the first batch of a streamed one. */
  private async open(): Promise<StreamEvent[]> {
    const { target, meter, shaper } = this;
    const { request, ticket } = this.job;
    const { adapter, upstream, addressError } = target.client;
    if (addressError !== undefined) {
      const { message: detail } = addressError;
      throw new UpstreamFailure('unreachable', 'model_unavailable', { detail, cause: addressError, isOperatorsFault: true });
    }
    const { baseUrl, capabilities, timeouts } = upstream;
    const stream = request.stream || capabilities.streamPlainRequests;
    const call: UpstreamCall = { request, model: target.model, baseUrl, outputTokensMax: ticket.outputTokensMax, stream, capabilities };
    const rendered = adapter.renderRequest(call, this.apiKey);
    const body = ticket.promptTokensEstimate > LARGE_PROMPT_TOKENS ? await encodeLarge(rendered.body) : JSON.stringify(rendered.body);
    const { length } = body;
    const limitsOf = (isStream: boolean): TransferLimits => (isStream ? streamLimits(call, timeouts) : plainLimits(call, timeouts, length));
    const reply = await this.post(rendered, body, stream, limitsOf(stream));
    this.reply = reply;
    target.onAnswer?.();
    await assertGood(reply, adapter, call);
    meter.answered();
    const first = await firstBytes(reply, timeouts.totalMs);
    const isStream = isEventStream(reply, first);
    if (isStream !== stream) reply.limitTo(limitsOf(isStream));
    if (!isStream) return parseWhole(await reply.readAll(ticket.accountId, first), adapter, call, shaper);
    const held = LONG_EVENTS.open(ticket.accountId);
    this.streamed = new StreamedReply(reply, first, { parser: adapter.openStream(call), shaper, meter, held, totalMs: timeouts.totalMs });
    return this.streamed.next();
  }

  private post(
    { path, headers }: RenderedRequest,
    body: string | Buffer,
    stream: boolean,
    limits: TransferLimits,
  ): Promise<UpstreamReply> {
    const { pool, basePath } = this.target.client;
    const accept = stream ? 'text/event-stream' : 'application/json';
    const options = {
      path: basePath + path,
      headers: { ...headers, accept, 'content-type': 'application/json', 'user-agent': 'tollgate' },
      body,
      onSent: () => this.meter.sent(),
      ...limits,
    };
    return postStream(pool, options, this.signal);
  }

  private end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.streamed?.close();
    const isComplete = this.shaper.finished && !this.shaper.wasCut;
    if (isComplete) this.reply?.drain(); // so that the socket can be used again
    else this.reply?.close();
  }
}

/** Rendering may have taken long already, so other work comes first. */
async function encodeLarge(body: object): Promise<Buffer> {
  await new Promise((resolve) => setImmediate(resolve));
  return encodeJsonInSlices(body);
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

/** Throws `UpstreamFailure` for error statuses, redirects and compressed replies, which were not asked for. */
async function assertGood(reply: UpstreamReply, adapter: UpstreamAdapter, call: UpstreamCall): Promise<void> {
  const { status, headers } = reply;
  const encoding = reply.header('content-encoding');
  if (status >= 300 && status < 400) {
    throw new UpstreamFailure('refused', 'upstream_error', { detail: `redirect (${status}) not followed` });
  }
  if (status !== 200) throw adapter.parseError({ status, headers, body: await errorText(reply) }, call);
  if (encoding !== undefined && encoding !== 'identity') {
    throw new UpstreamFailure('broken', 'upstream_error', { detail: 'reply is compressed' });
  }
}

/** Returns the beginning of an error's body. A connection that breaks after the status does not hide the status. */
async function errorText(reply: UpstreamReply): Promise<string> {
  const text = new GrowingBuffer();
  reply.setDeadline(ERROR_BODY_MS);
  try {
    for (let more = await reply.read(); more !== undefined && text.length < ERROR_BYTES_MAX; more = await reply.read()) {
      for (const chunk of more) text.push(chunk);
    }
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
  }
  return text.take().subarray(0, ERROR_BYTES_MAX).toString();
}

/** Returns the first chunks that are not blank. Some upstreams keep a connection alive with blank lines. */
async function firstBytes(reply: UpstreamReply, totalMs: number): Promise<Buffer[]> {
  const timeout = new NoEventsTimeout(totalMs);
  for (let more = await reply.read(); more !== undefined; more = await reply.read()) {
    if (more.some((chunk) => !isBlank(chunk))) return more;
    timeout.check();
  }
  return [];
}

function isBlank(chunk: Buffer): boolean {
  return chunk.every((byte) => byte <= 0x20);
}

/** First characters of a body that is no event stream. `<`: an HTML page, mostly of a proxy. */
const OPENING = new Set(['{'.charCodeAt(0), '['.charCodeAt(0), '<'.charCodeAt(0)]);

/** Decides by what came: some upstreams answer a stream request with JSON, and the reverse. */
function isEventStream(reply: UpstreamReply, first: readonly Buffer[]): boolean {
  if (reply.header('content-type')?.toLowerCase().startsWith('text/event-stream')) return true;
  for (const chunk of first) {
    const byte = chunk.find((value) => value > 0x20);
    if (byte !== undefined) return !OPENING.has(byte);
  }
  return false;
}

function parseWhole(body: Buffer, adapter: UpstreamAdapter, call: UpstreamCall, shaper: ReplyShaper): StreamEvent[] {
  const events: StreamEvent[] = [];
  adapter.parseReply(body.toString(), call, events);
  return shaper.shape(events);
}
