import { ServiceError } from '#contracts/service-error.js';
import { DETACHED, type EventStream, MessagingError } from '#messaging/messaging.js';
import type { Random } from './random.js';

/** Longest time in which the writer notices a dead reader, and the reader a lost frame. */
export const HEARTBEAT_MS = 1_000;
const CANCEL_GRACE_MS = 1_000;
const NEVER = new Promise<never>(() => undefined);

/** A process at one end of a stream. */
interface Peer {
  readonly isAlive: boolean;
}

/** The network between both ends. */
interface Carrier {
  readonly random: Random;
  readonly frameLoss: number;
  send(to: Peer, arrive: () => void, options: { canBeLost: boolean; after?: number }): number;
}

/** Both ends of a framed stream, with its visible behaviour: order, lost frames, cancel with a grace, dead ends. */
export class SimulatedStream<Event> implements EventStream<Event>, AsyncIterator<readonly Event[]> {
  onEnd: () => void = () => undefined;
  private readonly controller = new AbortController();
  private source: AsyncIterator<readonly Event[]> | undefined;
  private readonly arrived: (readonly Event[])[] = [];
  private waiter: { resolve(step: IteratorResult<readonly Event[]>): void; reject(error: unknown): void } | undefined;
  private readerEnded = false;
  private writerEnded = false;
  private failure: unknown;
  private lastArrival = 0;

  constructor(
    private readonly network: Carrier,
    private readonly reader: Peer,
    private readonly writer: Peer | undefined,
  ) {}

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  // ---- the reading end ----

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<readonly Event[]>> {
    if (!this.reader.isAlive) return NEVER;
    const value = this.arrived.shift();
    if (value !== undefined) return Promise.resolve({ done: false, value });
    if (this.failure !== undefined) {
      const { failure } = this;
      this.failure = undefined;
      return Promise.reject(failure);
    }
    if (this.readerEnded) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => {
      this.waiter = { resolve, reject };
    });
  }

  async return(): Promise<IteratorResult<readonly Event[]>> {
    this.cancel();
    return { done: true, value: undefined };
  }

  cancel({ detach = false }: { detach?: boolean } = {}): void {
    if (this.readerEnded) return;
    const reason = detach ? DETACHED : undefined;
    if (this.writer !== undefined) this.network.send(this.writer, () => this.readerLost(reason), { canBeLost: false });
    setTimeout(() => this.fail(new MessagingError('timeout', 'The writer did not end after the cancel.')), CANCEL_GRACE_MS + 500);
  }

  fail(failure: unknown): void {
    if (this.readerEnded) return;
    this.failure = failure;
    this.endReading();
  }

  /** Called when the reader notices a dead writer. */
  writerLost(): void {
    this.fail(new MessagingError('broken', 'The writer is gone.'));
  }

  private receive(events: readonly Event[]): void {
    if (this.readerEnded || events.length === 0) return;
    this.arrived.push(events);
    this.wake();
  }

  private endReading(): void {
    if (this.readerEnded) return;
    this.readerEnded = true;
    this.onEnd();
    this.wake();
  }

  private wake(): void {
    const { waiter } = this;
    if (waiter === undefined || !this.reader.isAlive) return;
    this.waiter = undefined;
    this.next().then(waiter.resolve, waiter.reject);
  }

  // ---- the writing end ----

  /** Sends each batch of the source as a frame. */
  write(source: AsyncIterable<readonly Event[]>): void {
    this.source = source[Symbol.asyncIterator]();
    void this.pump(this.source);
  }

  /** Called when the writer notices a dead reader, or receives a stop. */
  readerLost(reason?: typeof DETACHED): void {
    if (this.writerEnded || this.controller.signal.aborted) return;
    this.controller.abort(reason);
    setTimeout(() => {
      if (this.writerEnded) return;
      this.writerEnded = true;
      void this.source?.return?.();
      this.sendFrame(() => this.fail(new ServiceError('unavailable', 'The stream was cut off.')));
    }, CANCEL_GRACE_MS);
  }

  private async pump(source: AsyncIterator<readonly Event[]>): Promise<void> {
    try {
      for (let step = await source.next(); !step.done; step = await source.next()) {
        const events = step.value;
        if (this.writerEnded) return;
        this.sendFrame(() => this.receive(events));
      }
      this.sendFrame(() => this.endReading());
    } catch (error) {
      this.sendFrame(() => this.fail(error instanceof ServiceError ? error : new ServiceError('internal_error', String(error))));
    } finally {
      this.writerEnded = true;
    }
  }

  /** Frames arrive in order. A lost frame is noticed with the next frame or heartbeat. */
  private sendFrame(arrive: () => void): void {
    if (this.writer?.isAlive !== true) return;
    if (this.network.random.chance(this.network.frameLoss)) {
      setTimeout(() => this.readerLost(), this.network.random.between(1, HEARTBEAT_MS));
      setTimeout(() => this.fail(new MessagingError('broken', 'A frame was lost.')), this.network.random.between(1, HEARTBEAT_MS));
      return;
    }
    this.lastArrival = this.network.send(this.reader, arrive, { canBeLost: false, after: this.lastArrival + 0.001 });
  }
}
