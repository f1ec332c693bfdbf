import { ServiceError } from '#contracts/service-error.js';
import { type FrameKind, parseControl, renderFrames, WINDOW_BYTES, WINDOW_FRAMES } from './frames.js';
import type { Link } from './link.js';
import { DETACHED, type MessagingError } from './messaging.js';
import type { TurnFlushable } from './outbox.js';
import { type Beating, TICK_MS } from './pulse.js';
import { type IncomingMessage, isNoResponders, type Receiver } from './receiver.js';
import { toWireError } from './wire.js';

/** How soon the reader hears of us when the source takes its time: until then it could not reach us with a cancel. */
const ACCEPT_MS = 50;
/** How long the source may go on after a cancel, to bring what is left. */
const CANCEL_GRACE_MS = 1_000;
const HEARTBEAT_TICKS = 1_000 / TICK_MS;
/** A reader answers every heartbeat; one that is silent for this long is gone. */
const READER_SILENCE_TICKS_MAX = 5_000 / TICK_MS;
/** A source that never waits is stopped here until the turn's frame is out: its last batch may go beyond the bytes. */
const TURN_BATCHES_MAX = 64;
const TURN_BYTES_MAX = 16 * 1024;

/**
 * The writing end of one framed stream: pulls a source and sends what it yields, one frame a turn of the event loop, as
 * far as the reader's credit goes. Without credit the source is not pulled.
 *
 * `signal` aborts when the reader cancelled or is gone. The source may then still yield, for a reader that cancelled and
 * waits for the rest; after the grace it is left, with `return()` called but not waited for.
 */
export class StreamWriter<Event> implements Receiver, Beating, TurnFlushable {
  private readonly inbox: string;
  private readonly controller = new AbortController();
  private acceptTimer: NodeJS.Timeout | undefined;
  private graceTimer: NodeJS.Timeout | undefined;

  private source: AsyncIterator<readonly Event[]> | undefined;
  private pulling = false;
  /** How the source ended; the last frame is still to be sent. */
  private outcome: { error: unknown } | 'complete' | undefined;
  private ended = false;

  /** Of this turn, each a JSON array. */
  private batches: string[] = [];
  private batchBytes = 0;
  private collecting = false;
  /** Rendered frames that wait for credit; more than one only when a body was cut into parts. */
  private frames: Buffer[] = [];
  /** The last frame is among the rendered ones. */
  private complete = false;
  private sent = 0;
  /** Bytes of the frames the reader has not consumed; the last of them is frame `sent`. */
  private unconsumed: number[] = [];
  private unconsumedBytes = 0;

  private idleTicks = 0;
  private readerSilentTicks = 0;

  /** `onEnd` is called once, with what the source failed with, if it did. */
  constructor(
    private readonly link: Link,
    readonly peer: string,
    private readonly onEnd: (failure: unknown) => void,
  ) {
    this.inbox = link.inbox.add('writer', this);
    link.pulse.add(this);
    this.acceptTimer = setTimeout(() => this.sendHeartbeat(), ACCEPT_MS);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Starts to pull. A failure to open is a failure of the stream. */
  run(opening: Promise<AsyncIterable<readonly Event[]>>): void {
    opening.then(
      (source) => {
        this.source = source[Symbol.asyncIterator]();
        if (this.ended) this.leaveSource();
        else this.pull();
      },
      (error) => this.finish({ error }),
    );
  }

  /** Asks the source to stop, and leaves it after the grace. `reason` is that of the signal. */
  cancel(reason?: typeof DETACHED): void {
    if (this.ended || this.controller.signal.aborted) return;
    this.graceTimer = setTimeout(() => this.cutOff(), CANCEL_GRACE_MS);
    this.controller.abort(reason);
    this.pull();
  }

  // ---- for the connection ----

  receive(message: IncomingMessage): void {
    const isGone = message.headers !== undefined && isNoResponders(message);
    const control = isGone ? 'stop' : parseControl(message.data);
    this.readerSilentTicks = 0;
    if (control === 'stop') this.cancel();
    else if (control === 'detach') this.cancel(DETACHED);
    else if (control !== undefined) this.consume(control);
  }

  fail(_error: MessagingError): void {
    this.cancel();
  }

  /** A heartbeat fills our own silence, and makes a reader speak that takes our frames without a word. */
  tick(): void {
    this.idleTicks++;
    this.readerSilentTicks++;
    if (this.readerSilentTicks >= READER_SILENCE_TICKS_MAX) this.cancel();
    if (this.idleTicks >= HEARTBEAT_TICKS || this.readerSilentTicks % HEARTBEAT_TICKS === 0) this.sendHeartbeat();
  }

  flushTurn(): void {
    this.collecting = false;
    if (this.ended) return;
    this.renderTurn();
    this.sendFrames();
    this.pull();
  }

  // ---- the source ----

  private pull(): void {
    if (this.source === undefined || this.pulling || this.outcome !== undefined || this.ended || !this.hasRoom()) return;
    this.pulling = true;
    try {
      this.source.next().then(this.onStep, this.onFailure);
    } catch (error) {
      this.onFailure(error);
    }
  }

  private readonly onStep = (step: IteratorResult<readonly Event[]>): void => {
    this.pulling = false;
    if (this.ended) return;
    if (step.done) {
      this.finish('complete');
      return;
    }
    if (step.value.length > 0 && !this.keep(step.value)) return;
    this.pull();
  };

  /** False when the batch cannot be rendered: that is a failure of the source, which is left. */
  private keep(batch: readonly Event[]): boolean {
    try {
      const text = JSON.stringify(batch);
      this.batches.push(text);
      this.batchBytes += text.length;
      this.collect();
      return true;
    } catch (error) {
      this.finish({ error });
      this.leaveSource();
      return false;
    }
  }

  private readonly onFailure = (error: unknown): void => {
    this.pulling = false;
    this.finish({ error });
  };

  private finish(outcome: { error: unknown } | 'complete'): void {
    if (this.ended || this.outcome !== undefined) return;
    this.outcome = outcome;
    this.collect();
  }

  /** A cancelled source is pulled even without credit, so that it comes to its end. */
  private hasRoom(): boolean {
    if (this.batches.length >= TURN_BATCHES_MAX || this.batchBytes >= TURN_BYTES_MAX || this.frames.length > 0) return false;
    return this.hasCredit() || this.controller.signal.aborted;
  }

  private hasCredit(): boolean {
    return this.unconsumed.length < WINDOW_FRAMES && this.unconsumedBytes < WINDOW_BYTES;
  }

  // ---- frames ----

  private collect(): void {
    if (this.collecting) return;
    this.collecting = true;
    this.link.outbox.flushLater(this);
  }

  private renderTurn(): void {
    const { batches } = this;
    this.batches = [];
    this.batchBytes = 0;
    if (batches.length > 0 || this.outcome === 'complete')
      this.render(this.outcome === 'complete' ? 'last' : 'events', joinArrays(batches));
    if (typeof this.outcome === 'object') this.render('failure', JSON.stringify(toWireError(this.outcome.error)));
    this.complete = this.outcome !== undefined;
  }

  private render(kind: FrameKind, body: string): void {
    const frames = renderFrames(kind, this.sent + this.frames.length + 1, body, this.link.messageBytesMax);
    this.frames.push(...frames);
  }

  private sendFrames(): void {
    while (this.hasCredit()) {
      const frame = this.frames.shift();
      if (frame === undefined) return;
      this.sent++;
      const isLast = this.complete && this.frames.length === 0;
      this.link.outbox.send(this.peer, frame, isLast ? undefined : this.inbox);
      if (isLast) {
        this.end();
        return;
      }
      this.unconsumed.push(frame.length);
      this.unconsumedBytes += frame.length;
      this.noteSent();
    }
  }

  private consume(sequence: number): void {
    const count = this.unconsumed.length - (this.sent - sequence);
    if (count <= 0) return;
    for (const bytes of this.unconsumed.splice(0, count)) this.unconsumedBytes -= bytes;
    this.sendFrames();
    this.pull();
  }

  private sendHeartbeat(): void {
    if (this.ended) return;
    this.link.outbox.send(this.peer, Buffer.from(`H${this.sent}\n`), this.inbox);
    this.noteSent();
  }

  private noteSent(): void {
    this.idleTicks = 0;
    if (this.acceptTimer === undefined) return;
    clearTimeout(this.acceptTimer);
    this.acceptTimer = undefined;
  }

  // ---- the end ----

  private end(): void {
    this.ended = true;
    clearTimeout(this.acceptTimer);
    clearTimeout(this.graceTimer);
    this.link.inbox.remove(this.inbox);
    this.link.pulse.remove(this);
    this.batches = [];
    this.frames = [];
    this.source = undefined; // the context of its handler knows us, and may be kept for long
    this.onEnd(typeof this.outcome === 'object' ? this.outcome.error : undefined);
  }

  /** The source did not end in time. A reader that is still there hears of it. */
  private cutOff(): void {
    if (this.outcome === undefined) this.leaveSource();
    const failure = toWireError(new ServiceError('unavailable', 'The stream was cut off.'));
    for (const frame of renderFrames('failure', this.sent + 1, JSON.stringify(failure), this.link.messageBytesMax)) {
      this.link.outbox.send(this.peer, frame);
    }
    this.end();
  }

  /** `return()` of a generator waits for its pending await, which may never come: nobody waits for it here. */
  private leaveSource(): void {
    this.source?.return?.().catch(() => undefined);
    this.source = undefined;
  }
}

/** One array of what several have, none of them empty. */
function joinArrays(texts: readonly string[]): string {
  return texts.length === 1 ? (texts[0] ?? '[]') : `[${texts.map((text) => text.slice(1, -1)).join(',')}]`;
}
