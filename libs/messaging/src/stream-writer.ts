import { ServiceError } from '#contracts/service-error.js';
import { Absence } from './absence.js';
import {
  type FrameKind,
  parseControl,
  type RenderedFrame,
  renderFrames,
  renderHeartbeat,
  toBytes,
  WINDOW_BYTES,
  WINDOW_FRAMES,
} from './frames.js';
import { type Heartbeating, TICK_MS } from './heartbeat.js';
import { type StreamAddress, streamAddress } from './inbox-subject.js';
import type { Link } from './link.js';
import { DETACHED, type MessagingError } from './messaging.js';
import type { Flushable } from './outbox.js';
import { type IncomingMessage, isNoResponders, type Receiver } from './receiver.js';
import { SentFrames } from './sent-frames.js';
import { toWireError } from './wire.js';

/** Delay of the first heartbeat of a slow source. The reader cannot cancel before it knows the writer's subject. */
const ACCEPT_MS = 50;
/** Milliseconds that the source may continue after a cancel, to yield its last events. */
const CANCEL_GRACE_MS = 1_000;
const HEARTBEAT_TICKS = 1_000 / TICK_MS;
/** Limits of one turn, for a source that never waits. The last batch may exceed the bytes. */
const TURN_BATCHES_MAX = 64;
const TURN_BYTES_MAX = 16 * 1024;

/**
 * The writing end of one framed stream. Sends the events of a source, one frame a turn of the event loop, within the reader's credit.
 * Without credit it does not pull the source.
 *
 * `signal` aborts when the reader cancelled or died. The source may then yield its last events within the grace; after that the writer
 * calls its `return()` and does not wait for it.
 */
export class StreamWriter<Event> implements Receiver, Heartbeating, Flushable {
  readonly survivesLoss = true;
  readonly otherEnd: StreamAddress;
  private readonly inbox: string;
  private readonly controller = new AbortController();
  private acceptTimer: NodeJS.Timeout | undefined;
  private graceTimer: NodeJS.Timeout | undefined;

  private source: AsyncIterator<readonly Event[]> | undefined;
  private pulling = false;
  /** Outcome of the source, before the last frame is sent. */
  private outcome: { error: unknown } | 'complete' | undefined;
  private ended = false;

  /** Batches of this turn, each a JSON array. */
  private batches: string[] = [];
  private batchBytes = 0;
  private collecting = false;
  /** Rendered frames that wait for credit; more than one only for a body in parts. */
  private frames: RenderedFrame[] = [];
  /** The last frame has been rendered. */
  private complete = false;
  private readonly window = new SentFrames();

  private idleTicks = 0;
  /** A live reader answers every heartbeat. */
  private readerSilentTicks = 0;
  private readonly absence: Absence;

  /** `onEnd` is called once, with the error of the source, if it failed. */
  constructor(
    private readonly link: Link,
    readonly peer: string,
    private readonly onEnd: (failure: unknown) => void,
  ) {
    this.otherEnd = streamAddress(peer);
    this.absence = new Absence(link);
    this.inbox = link.inbox.add('writer', this);
    link.heartbeat.add(this);
    this.acceptTimer = setTimeout(() => this.sendHeartbeat(), ACCEPT_MS);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  get running() {
    return 'writer' as const;
  }

  get lacksCredit(): boolean {
    return !this.ended && !this.hasCredit();
  }

  /** Starts pulling the source. If it fails to open, the stream fails. */
  run(opening: Promise<AsyncIterable<readonly Event[]>>): void {
    opening.then(
      (source) => {
        this.source = source[Symbol.asyncIterator]();
        if (this.ended) this.abandonSource();
        else this.pull();
      },
      (error) => this.finish({ error }),
    );
  }

  /** Aborts `signal` with `reason`, and abandons the source after the grace. */
  cancel(reason?: typeof DETACHED): void {
    if (this.ended || this.controller.signal.aborted) return;
    this.graceTimer = setTimeout(() => this.cutOff(), CANCEL_GRACE_MS);
    this.controller.abort(reason);
    this.pull();
  }

  /** Cancels the source because its service stops. */
  stop(): void {
    this.cancel();
  }

  // ---- messages of the connection ----

  receive(message: IncomingMessage): void {
    if (message.headers !== undefined && isNoResponders(message)) {
      if (this.absence.begin()) this.cancel();
      return;
    }
    this.readerSilentTicks = 0;
    this.absence.end();
    const control = parseControl(message.data);
    if (control?.kind === 'stop') this.cancel();
    else if (control?.kind === 'detach') this.cancel(DETACHED);
    else if (control?.kind === 'credit') this.consume(control.sequence);
    else if (control?.kind === 'resume') this.sendAgain(control.sequence);
  }

  fail(_error: MessagingError): void {
    this.cancel();
  }

  /** Sends a heartbeat when the writer is idle, or when the reader has been silent or absent. */
  tick(): void {
    if (!this.link.connected) return;
    this.idleTicks++;
    this.readerSilentTicks++;
    if (this.readerSilentTicks >= this.link.silenceTicksMax || this.absence.tick()) this.cancel();
    if (this.idleTicks >= HEARTBEAT_TICKS || this.readerSilentTicks % HEARTBEAT_TICKS === 0 || this.absence.isOpen) this.sendHeartbeat();
  }

  /** Shows itself to the reader, which asks for the frames that it has missed. */
  resume(): void {
    this.sendHeartbeat();
  }

  flush(): void {
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

  /** Returns false, and abandons the source, when the batch is not JSON. */
  private keep(batch: readonly Event[]): boolean {
    try {
      const text = JSON.stringify(batch);
      this.batches.push(text);
      this.batchBytes += text.length;
      this.collect();
      return true;
    } catch (error) {
      this.finish({ error });
      this.abandonSource();
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

  /** A cancelled source is pulled without credit, so that it can end. */
  private hasRoom(): boolean {
    if (this.batches.length >= TURN_BATCHES_MAX || this.batchBytes >= TURN_BYTES_MAX || this.frames.length > 0) return false;
    return this.hasCredit() || this.controller.signal.aborted;
  }

  private hasCredit(): boolean {
    return this.window.count < WINDOW_FRAMES && this.window.bytes < WINDOW_BYTES;
  }

  // ---- frames ----

  private collect(): void {
    if (this.collecting) return;
    this.collecting = true;
    this.link.outbox.flushOnNextTick(this);
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
    const frames = renderFrames(kind, this.window.sent + this.frames.length + 1, body, this.link.messageBytesMax);
    this.frames.push(...frames);
  }

  private sendFrames(): void {
    while (this.hasCredit()) {
      const frame = this.frames.shift();
      if (frame === undefined) return;
      const isLast = this.complete && this.frames.length === 0;
      const data = toBytes(frame);
      this.window.add(frame, data.length);
      this.link.outbox.sendStreamed(this.otherEnd, data, isLast ? undefined : this.inbox);
      if (isLast) {
        this.link.ended.keep(this.inbox, this.otherEnd, this.window);
        this.end();
        return;
      }
      this.noteSent();
    }
  }

  private consume(sequence: number): void {
    if (!this.window.acknowledge(sequence)) return;
    this.sendFrames();
    this.pull();
  }

  private sendAgain(sequence: number): void {
    const frames = this.window.after(sequence);
    for (const frame of frames) this.link.outbox.sendStreamed(this.otherEnd, frame, this.inbox);
    if (frames.length === 0) this.sendHeartbeat();
  }

  private sendHeartbeat(): void {
    if (this.ended) return;
    this.link.outbox.sendStreamed(this.otherEnd, renderHeartbeat(this.window.sent), this.inbox);
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
    this.link.heartbeat.remove(this);
    this.batches = [];
    this.frames = [];
    this.source = undefined; // the context of its handler refers to this writer, and may live longer
    this.onEnd(typeof this.outcome === 'object' ? this.outcome.error : undefined);
  }

  /** Ends the stream of a source that did not end in time, and tells the reader. */
  private cutOff(): void {
    if (this.outcome === undefined) this.abandonSource();
    const failure = toWireError(new ServiceError('unavailable', 'The stream was cut off.'));
    for (const frame of renderFrames('failure', this.window.sent + 1, JSON.stringify(failure), this.link.messageBytesMax)) {
      this.link.outbox.sendStreamed(this.otherEnd, toBytes(frame));
    }
    this.link.inbox.remove(this.inbox);
    this.end();
  }

  /** Does not wait for `return()`: a generator finishes its pending await first, which may never resolve. */
  private abandonSource(): void {
    this.source?.return?.().catch(() => undefined);
    this.source = undefined;
  }
}

/** Joins JSON arrays, none of them empty. */
function joinArrays(texts: readonly string[]): string {
  return texts.length === 1 ? (texts[0] ?? '[]') : `[${texts.map((text) => text.slice(1, -1)).join(',')}]`;
}
