import type { StreamEvent } from '#inference/stream-event.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import type { HeldShare } from '../transport/held-bytes.js';
import type { UpstreamReply } from '../transport/post-stream.js';
import { SseParser } from '../transport/sse-parser.js';
import type { StreamParser } from '../upstreams/upstream-adapter.js';
import { EventLoopBudget } from './event-loop-budget.js';
import { NoEventsTimeout } from './no-events-timeout.js';
import type { ReplyShaper } from './reply-shaper.js';
import type { UsageMeter } from './usage-meter.js';

interface StreamParts {
  parser: StreamParser;
  shaper: ReplyShaper;
  meter: UsageMeter;
  /** Share of the memory for incomplete events. */
  held: HeldShare;
  /** Milliseconds that the upstream may send bytes without an event. */
  totalMs: number;
}

/** Reads a reply of server-sent events, a batch for each read of the socket that brought some. */
export class StreamedReply {
  private readonly lines = new SseParser();
  private readonly budget = new EventLoopBudget();
  private readonly timeout: NoEventsTimeout;
  /** Failure of the reply, thrown after the events that preceded it. */
  private failure: UpstreamFailure | undefined;

  /** `received`: chunks that were read already. */
  constructor(
    private readonly reply: UpstreamReply,
    private received: Buffer[] | undefined,
    private readonly parts: StreamParts,
  ) {
    this.timeout = new NoEventsTimeout(parts.totalMs);
  }

  /**
   * Returns the next batch, until the shaper has finished. Throws the upstream's failure after the events that preceded it, or the reason
   * of the call's signal.
   */
  async next(): Promise<StreamEvent[]> {
    const { lines } = this;
    const { parser, shaper, meter, held } = this.parts;
    for (;;) {
      if (this.failure !== undefined) throw this.failure;
      held.set(lines.heldBytes);
      if (shaper.metStopSequence) await this.budget.yieldWhenSpent();
      const chunks = this.received ?? (await this.reply.read());
      this.received = undefined;
      const events: StreamEvent[] = [];
      this.failure = readChunks(chunks, lines, parser, events);
      const shaped = shaper.shape(events);
      const counts = parser.usageSoFar;
      if (counts !== undefined) meter.noteCounts(counts);
      if (events.length > 0) this.timeout.extend();
      if (shaped.length > 0 || shaper.finished) return shaped;
      if (events.length === 0 && this.failure === undefined) this.timeout.check();
    }
  }

  /** Call at the end. */
  close(): void {
    this.parts.held.release();
  }
}

/** Appends the events of the chunks; no chunks mean that the upstream has closed. Returns the failure that followed them, if any. */
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
    else lines.push(Buffer.concat(chunks), take); // one push of many small chunks is cheaper than many
    if (closed) parser.end(events);
    return undefined;
  } catch (error) {
    if (error instanceof UpstreamFailure) return error;
    throw error;
  }
}
