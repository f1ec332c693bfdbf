import { type ResourceLimits, Worker } from 'node:worker_threads';
import type { Logger } from '#observability/logger.js';
import { BodyThread } from './body-thread.js';
import { FairQueue, type WorkOwner } from './fair-queue.js';
import type { BodyKind, LargeBody } from './parse-large-body.js';
import { stoppedError } from './read-body.js';

interface BodyWorkerLimits {
  bodyWorkers: number;
  bodyWorkerHeapMb: number;
}

/** `heapMb` is the heap limit of the thread in MiB; V8 ends a thread that exceeds it. */
export type StartWorker = (heapMb: number) => Worker;

interface Job {
  owner: WorkOwner;
  kind: BodyKind;
  body: Buffer;
  resolve(parsed: LargeBody): void;
  reject(error: Error): void;
}

/**
 * Parses large bodies in worker threads, so that no body blocks the event loop. Threads start on demand. A thread that dies fails its job
 * with `internal_error`; the next job starts another thread.
 */
export class BodyWorkers {
  private readonly queue = new FairQueue<Job>();
  private readonly threads = new Set<BodyThread>();
  private readonly idle = new Set<BodyThread>();
  private closing = false;

  constructor(
    private readonly limits: BodyWorkerLimits,
    private readonly logger: Logger,
    private readonly startWorker: StartWorker = startBodyWorker,
  ) {}

  /** Bodies that wait for a thread. */
  get waiting(): number {
    return this.queue.length;
  }

  /**
   * Parses a body. Moves it to a thread, which leaves the caller's buffer empty. Throws the error of a refused body, `internal_error` when
   * the thread dies, and `stoppedError` when the signal aborts first; a body that still waits is then never parsed.
   */
  async parse(kind: BodyKind, body: Buffer, owner: WorkOwner, signal: AbortSignal): Promise<LargeBody> {
    if (signal.aborted) throw stoppedError(signal);
    const { promise, resolve, reject } = Promise.withResolvers<LargeBody>();
    const job = { kind, body, owner, resolve, reject };
    const abandon = (): void => {
      this.queue.remove(job);
      reject(stoppedError(signal));
    };
    signal.addEventListener('abort', abandon, { once: true });
    this.queue.add(job);
    this.dispatch();
    try {
      return await promise;
    } finally {
      signal.removeEventListener('abort', abandon);
    }
  }

  /** Nest lifecycle hook. */
  async onApplicationShutdown(): Promise<void> {
    this.closing = true;
    await Promise.all([...this.threads].map((thread) => thread.terminate()));
  }

  private dispatch(): void {
    while (this.idle.size > 0 || this.threads.size < this.limits.bodyWorkers) {
      const job = this.queue.take();
      if (job === undefined) return;
      const [thread = this.start()] = this.idle;
      void this.work(thread, job);
    }
  }

  private async work(thread: BodyThread, job: Job): Promise<void> {
    this.idle.delete(thread);
    try {
      job.resolve(await thread.parse(job.kind, job.body));
    } catch (error) {
      job.reject(error as Error);
    }
    this.queue.done(job);
    if (this.threads.has(thread)) this.idle.add(thread);
    this.dispatch();
  }

  private start(): BodyThread {
    const thread = new BodyThread(this.startWorker(this.limits.bodyWorkerHeapMb), (cause) => {
      this.threads.delete(thread);
      this.idle.delete(thread);
      if (!this.closing) this.logger.error({ err: cause }, 'body worker thread died; the next large body starts another');
    });
    this.threads.add(thread);
    return thread;
  }
}

/** Limits the young generation too: its default of 48 MiB is wasted on the long-lived objects of a body. */
export function heapLimits(heapMb: number): ResourceLimits {
  return { maxOldGenerationSizeMb: heapMb, maxYoungGenerationSizeMb: 16 };
}

function startBodyWorker(heapMb: number): Worker {
  return new Worker(new URL('./body-worker.js', import.meta.url), { resourceLimits: heapLimits(heapMb) });
}
