import { DETACH, type Frame, parseFrame, renderCredit, renderResume, STOP, WINDOW_BYTES, WINDOW_FRAMES } from './frames.js';
import { type Heartbeating, TICK_MS } from './heartbeat.js';
import { isInbox, type StreamAddress, streamAddress } from './inbox-subject.js';
import type { Link } from './link.js';
import { type EventStream, MessagingError } from './messaging.js';
import { type IncomingMessage, isNoResponders, type Receiver } from './receiver.js';
import { type PackedRequest, StreamRequest } from './stream-request.js';
import { decodeJson, fromWireError } from './wire.js';
import { WriterWatch } from './writer-watch.js';

/** Milliseconds that the writer may take to end after a cancel. */
const CANCEL_GRACE_MS = 1_000;
/** Credit is sent at least this often while frames arrive, so that the writer sees a live reader. */
const CREDIT_TICKS = 1_000 / TICK_MS;

/** Most bytes of waiting frames that one batch merges; a single frame may be larger. */
const BATCH_BYTES_MAX = 16 * 1024;

interface ReadyFrame<Event> {
  events: readonly Event[];
  sequence: number;
  /** Bytes received up to the end of this frame. */
  bytes: number;
}

interface Waiter<Event> {
  resolve(result: IteratorResult<readonly Event[]>): void;
  reject(error: Error): void;
}

/** The reading end of one framed stream. `frames.ts` describes the wire format. */
export class StreamReader<Event> implements EventStream<Event>, AsyncIterator<readonly Event[]>, Receiver, Heartbeating {
  readonly survivesLoss = true;
  private inbox: string;
  /** The writer, from its first frame. */
  otherEnd: StreamAddress | undefined;
  /** The request, until the first frame. */
  private request: StreamRequest | undefined;
  private ready: ReadyFrame<Event>[] = [];
  private waiter: Waiter<Event> | undefined;
  private parts: Uint8Array[] = [];
  private partBytes = 0;

  private sequence = 0;
  private receivedBytes = 0;
  private consumed = { sequence: 0, bytes: 0 };
  private credited = { sequence: 0, bytes: 0 };

  private readonly watch: WriterWatch;
  private uncreditedTicks = 0;
  private withdraw: (() => void) | undefined;
  private cancelTimer: NodeJS.Timeout | undefined;
  /** Control message that the writer got, or gets as soon as its subject is known. */
  private cancelled: typeof STOP | undefined;
  private ended = false;
  private failure: Error | undefined;

  constructor(
    private readonly link: Link,
    readonly peer: string,
    private readonly signal: AbortSignal | undefined,
  ) {
    this.watch = new WriterWatch(link);
    this.inbox = link.inbox.add('reader', this);
    link.heartbeat.add(this);
    signal?.addEventListener('abort', this.onAbort);
  }

  open(packed: PackedRequest): void {
    this.request = new StreamRequest(this.link, this.peer, packed);
    this.withdraw = packed.withdraw;
    this.request.send(this.inbox);
  }

  get running() {
    return 'reader' as const;
  }

  get since(): number | undefined {
    return this.request?.since;
  }

  // ---- iteration ----

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<readonly Event[]>> {
    if (this.ready.length > 0) {
      const value = this.takeReady();
      this.giveCredit();
      return Promise.resolve({ done: false, value });
    }
    if (this.failure !== undefined) {
      const { failure } = this;
      this.failure = undefined;
      return Promise.reject(failure);
    }
    if (this.ended) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => {
      this.waiter = { resolve, reject };
    });
  }

  return(): Promise<IteratorResult<readonly Event[]>> {
    this.ready = [];
    if (!this.ended) {
      this.sendToWriter(STOP);
      this.end(undefined);
    }
    this.failure = undefined;
    return Promise.resolve({ done: true, value: undefined });
  }

  cancel({ detach = false }: { detach?: boolean } = {}): void {
    if (this.cancelled !== undefined || this.ended) return;
    this.cancelled = detach ? DETACH : STOP;
    this.sendToWriter(this.cancelled);
    this.cancelTimer = setTimeout(
      () => this.end(new MessagingError('timeout', `${this.peer} did not end within ${CANCEL_GRACE_MS} ms of the cancel.`)),
      CANCEL_GRACE_MS,
    );
  }

  // ---- messages of the connection ----

  receive(message: IncomingMessage): void {
    if (message.headers !== undefined && isNoResponders(message)) {
      this.notFound();
      return;
    }
    const frame = parseFrame(message.data);
    if (frame === undefined) {
      this.breakOff(`${this.peer} sent something that is not a frame.`);
      return;
    }
    // Read once: the client decodes it anew for a message without one.
    const { reply } = message;
    if (reply && !isInbox(reply)) {
      this.breakOff(`${this.peer} sent a reply subject outside of an inbox.`);
      return;
    }
    this.watch.heard();
    this.releaseRequest();
    if (reply) this.meetWriter(reply);
    const before = frame.kind === 'heartbeat' ? frame.sequence : frame.sequence - 1;
    if (before < this.sequence) return; // repeated
    if (before > this.sequence) {
      this.missed();
      return;
    }
    this.watch.complete();
    this.sequence = frame.sequence;
    this.receivedBytes += frame.body.length;
    try {
      this.take(frame);
    } catch (error) {
      this.breakOff(`A frame of ${this.peer} could not be read.`, error);
    }
  }

  fail(error: MessagingError): void {
    if (!this.ended) this.end(error);
  }

  tick(): void {
    if (!this.link.connected) return;
    this.uncreditedTicks++;
    if (this.request?.tick()) this.openAgain(this.request);
    const finding = this.watch.tick();
    if (finding === 'ask') this.askForMore();
    else if (finding !== undefined) this.breakOff(this.fault(finding));
  }

  resume(): void {
    this.request?.resume();
    this.watch.missed(); // perhaps; an answer in sequence ends it
    if (this.cancelled !== undefined) this.sendToWriter(this.cancelled);
    this.askForMore();
  }

  // ---- private ----

  /** The server has found no listener. */
  private notFound(): void {
    if (this.otherEnd !== undefined) {
      if (this.watch.notFound()) this.breakOff(this.fault('gone'));
    } else if (!this.request?.notFound()) {
      const kind = this.request?.isRepeated ? 'broken' : 'unavailable';
      this.end(new MessagingError(kind, `No service listens on ${this.peer}.`));
    }
  }

  private openAgain(request: StreamRequest): void {
    const { inbox } = this;
    this.inbox = this.link.inbox.add('reader', this);
    this.link.inbox.remove(inbox);
    request.send(this.inbox);
  }

  private releaseRequest(): void {
    this.request?.packed.onReleased?.();
    this.request = undefined;
  }

  private missed(): void {
    if (this.link.resumeMs === 0) this.breakOff(this.fault('lost'));
    else if (this.watch.missed()) this.askForMore();
  }

  private askForMore(): void {
    if (this.otherEnd !== undefined) this.link.outbox.sendStreamed(this.otherEnd, renderResume(this.sequence), this.inbox);
  }

  private fault(finding: 'silent' | 'gone' | 'lost'): string {
    return finding === 'lost' ? `Frame ${this.sequence + 1} of ${this.peer} was lost.` : `The writer of ${this.peer} is ${finding}.`;
  }

  private take(frame: Frame): void {
    switch (frame.kind) {
      case 'events':
        this.hand(this.readEvents(frame.body));
        return;
      case 'last':
        this.hand(this.readEvents(frame.body));
        this.end(undefined);
        return;
      case 'failure':
        this.end(fromWireError(decodeJson(this.join(frame.body))));
        return;
      case 'part':
        this.keepPart(frame.body);
        return;
      case 'heartbeat':
        if (this.ready.length === 0) this.consumeAll();
        this.credited = this.consumed;
        this.sendCredit();
        return;
    }
  }

  private readEvents(body: Uint8Array): readonly Event[] {
    const events = decodeJson(this.join(body));
    if (!Array.isArray(events)) throw new TypeError('not a list of events');
    return events;
  }

  private hand(events: readonly Event[]): void {
    if (events.length === 0) return;
    if (this.waiter === undefined) {
      this.ready.push({ events, sequence: this.sequence, bytes: this.receivedBytes });
      return;
    }
    const { waiter } = this;
    this.waiter = undefined;
    this.consumeAll();
    this.giveCredit();
    waiter.resolve({ done: false, value: events });
  }

  private keepPart(body: Uint8Array): void {
    this.parts.push(body);
    this.partBytes += body.length;
    if (this.partBytes > this.link.payloadBytesMax) throw new RangeError('too large');
    if (this.ready.length > 0) return;
    this.consumeAll();
    this.giveCredit();
  }

  private join(body: Uint8Array): Uint8Array {
    if (this.parts.length === 0) return body;
    const whole = Buffer.concat([...this.parts, body]);
    this.parts = [];
    this.partBytes = 0;
    return whole;
  }

  private takeReady(): readonly Event[] {
    let count = 1;
    while (count < this.ready.length && (this.ready[count]?.bytes ?? 0) - this.consumed.bytes <= BATCH_BYTES_MAX) count++;
    const taken = this.ready.splice(0, count);
    const last = taken.at(-1);
    if (last !== undefined) this.consumed = { sequence: last.sequence, bytes: last.bytes };
    return taken.length === 1 && last !== undefined ? last.events : taken.flatMap(({ events }) => events);
  }

  private consumeAll(): void {
    this.consumed = { sequence: this.sequence, bytes: this.receivedBytes };
  }

  /** Sends credit when the writer needs it. */
  private giveCredit(): void {
    const frames = this.consumed.sequence - this.credited.sequence;
    const bytes = this.consumed.bytes - this.credited.bytes;
    if (frames >= WINDOW_FRAMES / 2 || bytes >= WINDOW_BYTES / 2 || (frames > 0 && this.uncreditedTicks >= CREDIT_TICKS)) {
      this.credited = this.consumed;
      this.sendCredit();
    }
  }

  /** Also sent without new credit, as a sign of life. */
  private sendCredit(): void {
    this.uncreditedTicks = 0;
    this.sendToWriter(renderCredit(this.credited.sequence));
  }

  private meetWriter(subject: string): void {
    if (this.otherEnd !== undefined) return;
    this.otherEnd = streamAddress(subject);
    if (this.cancelled !== undefined) this.sendToWriter(this.cancelled);
  }

  private sendToWriter(control: Buffer): void {
    if (this.otherEnd !== undefined && !this.ended) this.link.outbox.sendStreamed(this.otherEnd, control);
  }

  private breakOff(message: string, cause?: unknown): void {
    this.sendToWriter(STOP);
    this.end(new MessagingError('broken', message, { cause }));
  }

  private end(failure: Error | undefined): void {
    this.ended = true;
    this.failure = failure;
    clearTimeout(this.cancelTimer);
    this.signal?.removeEventListener('abort', this.onAbort);
    this.withdraw?.();
    this.releaseRequest();
    this.link.inbox.remove(this.inbox);
    this.link.heartbeat.remove(this);
    const { waiter } = this;
    if (waiter === undefined) return;
    this.waiter = undefined;
    if (failure === undefined) waiter.resolve({ done: true, value: undefined });
    else {
      this.failure = undefined;
      waiter.reject(failure);
    }
  }

  private readonly onAbort = (): void => this.cancel();
}
