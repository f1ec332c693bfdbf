import { type ResourceLimits, Worker } from 'node:worker_threads';
import type { Logger } from '#observability/logger.js';
import { BodyThread } from './body-thread.js';
import { FairQueue, type WorkOwner } from './fair-queue.js';
import type { BodyKind, LargeBody } from './parse-large-body.js';
import { whyStopped } from './read-body.js';

export interface BodyWorkerLimits {
  bodyWorkers: number;
  bodyWorkerHeapMb: number;
}

/** `heapMb`: the most memory that V8 may take for the thread's objects, in MiB; beyond it the thread dies. */
export type StartWorker = (heapMb: number) => Worker;

interface Job {
  owner: WorkOwner;
  kind: BodyKind;
  body: Buffer;
  resolve(parsed: LargeBody): void;
  reject(error: Error): void;
}

/**
 * Parses large bodies in worker threads, so that none of them holds up the event loop. A thread starts when it is first needed; one that
 * dies fails its job with `internal_error`, and another takes its place with the next job.
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

  /** Bodies whose turn has not come. */
  get waiting(): number {
    return this.queue.length;
  }

  /**
   * The body is moved: the caller's buffer is empty afterwards. Throws what the body is refused with, `internal_error` when its thread
   * died, and `whyStopped` when the signal fires first: a body that still waits then is never parsed.
   */
  async parse(kind: BodyKind, body: Buffer, owner: WorkOwner, signal: AbortSignal): Promise<LargeBody> {
    if (signal.aborted) throw whyStopped(signal);
    const { promise, resolve, reject } = Promise.withResolvers<LargeBody>();
    const job = { kind, body, owner, resolve, reject };
    const leave = (): void => {
      this.queue.remove(job);
      reject(whyStopped(signal));
    };
    signal.addEventListener('abort', leave, { once: true });
    this.queue.add(job);
    this.dispatch();
    try {
      return await promise;
    } finally {
      signal.removeEventListener('abort', leave);
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
      if (!this.closing) this.logger.error({ err: cause }, 'body worker died; the next large body starts another');
    });
    this.threads.add(thread);
    return thread;
  }
}

/** V8 would take 48 MiB for young objects; those of a body outlive them in any case. */
export function heapLimits(heapMb: number): ResourceLimits {
  return { maxOldGenerationSizeMb: heapMb, maxYoungGenerationSizeMb: 16 };
}

function startBodyWorker(heapMb: number): Worker {
  return new Worker(new URL('./body-worker.js', import.meta.url), { resourceLimits: heapLimits(heapMb) });
}
