import { ServiceError } from '#contracts/service-error.js';
import { DETACHED, type EventStream, MessagingError } from './messaging.js';
import { toServiceError } from './wire.js';

/** Milliseconds that the source may take to end after a cancel. */
const CANCEL_GRACE_MS = 1_000;
/** Batches of a cancelled source that wait for the reader. Before a cancel, one waits. */
const CANCELLED_BATCHES_MAX = 64;

interface Waiter<Event> {
  resolve(result: IteratorResult<readonly Event[]>): void;
  reject(error: Error): void;
}

/**
 * A stream whose reader and writer are in the same process. A batch that was yielded belongs to the reader, who gets the same objects: the
 * source must not change them. The source is one batch ahead of the reader.
 */
export class LocalStream<Event> implements EventStream<Event>, AsyncIterator<readonly Event[]> {
  private readonly controller = new AbortController();
  private graceTimer: NodeJS.Timeout | undefined;
  private onEnd: ((failure: unknown) => void) | undefined;

  private source: AsyncIterator<readonly Event[]> | undefined;
  private isPulling = false;
  /** The source has ended, or was abandoned. */
  private isOver = false;

  private ready: (readonly Event[])[] = [];
  private waiter: Waiter<Event> | undefined;
  /** The reader has left: what follows is dropped. */
  private isLeft = false;
  private failure: Error | undefined;

  constructor(
    private readonly subject: string,
    private readerSignal: AbortSignal | undefined,
    /** Called once, when the stream has ended. */
    private readonly onOver: () => void,
  ) {
    readerSignal?.addEventListener('abort', this.onAbort);
  }

  /** Aborts when the reader cancels or leaves, and when the service stops. */
  get abortSignal(): AbortSignal {
    return this.controller.signal;
  }

  /** Starts pulling the source. If it fails to open, the stream fails. `onEnd` is called once, with the error of the source, if it failed. */
  run(opening: Promise<AsyncIterable<readonly Event[]>>, onEnd: (failure: unknown) => void): void {
    this.onEnd = onEnd;
    opening.then(
      (source) => {
        this.source = source[Symbol.asyncIterator]();
        if (this.isOver) this.abandonSource();
        else this.pull();
      },
      (error) => this.finish(toServiceError(error), error),
    );
  }

  /** Fails a stream that no service took. */
  fail(error: Error): void {
    if (!this.isOver) this.finish(error, undefined);
  }

  // ---- iteration ----

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<readonly Event[]>> {
    const value = this.ready.shift();
    if (value !== undefined) {
      this.pull();
      return Promise.resolve({ done: false, value });
    }
    if (this.failure !== undefined) {
      const { failure } = this;
      this.failure = undefined;
      return Promise.reject(failure);
    }
    if (this.isOver) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => {
      this.waiter = { resolve, reject };
      this.pull();
    });
  }

  return(): Promise<IteratorResult<readonly Event[]>> {
    this.isLeft = true;
    this.ready = [];
    this.failure = undefined;
    this.waiter?.resolve({ done: true, value: undefined });
    this.waiter = undefined;
    this.abort(undefined, () => this.cancelFailed());
    return Promise.resolve({ done: true, value: undefined });
  }

  cancel({ detach = false }: { detach?: boolean } = {}): void {
    this.abort(detach ? DETACHED : undefined, () => this.cancelFailed());
  }

  /** Cancels the source because its service stops. */
  stop(): void {
    this.abort(undefined, () => new ServiceError('unavailable', 'The stream was cut off.'));
  }

  // ---- the source ----

  private pull(): void {
    if (this.source === undefined || this.isPulling || this.isOver || !this.hasRoom()) return;
    this.isPulling = true;
    try {
      this.source.next().then(this.onStep, this.onFailure);
    } catch (error) {
      this.onFailure(error);
    }
  }

  private readonly onStep = (step: IteratorResult<readonly Event[]>): void => {
    this.isPulling = false;
    if (this.isOver) return;
    if (step.done) {
      this.finish(undefined, undefined);
      return;
    }
    if (step.value.length > 0) this.hand(step.value);
    this.pull();
  };

  private readonly onFailure = (error: unknown): void => {
    this.isPulling = false;
    if (!this.isOver) this.finish(toServiceError(error), error);
  };

  private hand(batch: readonly Event[]): void {
    if (this.isLeft) return;
    const { waiter } = this;
    if (waiter === undefined) {
      this.ready.push(batch);
      return;
    }
    this.waiter = undefined;
    waiter.resolve({ done: false, value: batch });
  }

  /** A cancelled source is pulled although its reader does not read, so that it can end. */
  private hasRoom(): boolean {
    return this.ready.length < (this.controller.signal.aborted ? CANCELLED_BATCHES_MAX : 1);
  }

  // ---- the end ----

  private abort(reason: typeof DETACHED | undefined, failure: () => Error): void {
    if (this.isOver || this.controller.signal.aborted) return;
    this.graceTimer = setTimeout(() => {
      this.abandonSource();
      this.finish(failure(), undefined);
    }, CANCEL_GRACE_MS);
    this.controller.abort(reason);
    this.pull();
  }

  private cancelFailed(): Error {
    return new MessagingError('timeout', `${this.subject} did not end within ${CANCEL_GRACE_MS} ms of the cancel.`);
  }

  /** `failure` is for the reader, `cause` for the service. */
  private finish(failure: Error | undefined, cause: unknown): void {
    this.isOver = true;
    clearTimeout(this.graceTimer);
    this.readerSignal?.removeEventListener('abort', this.onAbort);
    // The context of the handler refers to this stream, and may live longer than what the stream came from and goes to.
    this.source = undefined;
    this.readerSignal = undefined;
    const { waiter } = this;
    this.waiter = undefined;
    if (waiter === undefined) this.failure = this.isLeft ? undefined : failure;
    else if (failure === undefined) waiter.resolve({ done: true, value: undefined });
    else waiter.reject(failure);
    this.onEnd?.(cause);
    this.onEnd = undefined;
    this.onOver();
  }

  /** Does not wait for `return()`: a generator finishes its pending await first, which may never resolve. */
  private abandonSource(): void {
    this.source?.return?.().catch(() => undefined);
    this.source = undefined;
  }

  private readonly onAbort = (): void => this.cancel();
}
