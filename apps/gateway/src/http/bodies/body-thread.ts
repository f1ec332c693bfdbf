import { isMarkedAsUntransferable, type Worker } from 'node:worker_threads';
import type { BodyKind, LargeBody } from './parse-large-body.js';
import { type BodyAnswer, type BodyJob, readAnswer, workerFailed } from './worker-messages.js';

/** Milliseconds after which a thread counts as stuck. No body within the limits takes a hundredth of this, even on a busy machine. */
const JOB_MS_MAX = 120_000;

interface Job {
  resolve(answer: BodyAnswer): void;
  reject(error: Error): void;
  timer: NodeJS.Timeout;
}

/** One worker thread and its current job. */
export class BodyThread {
  private job: Job | undefined;
  private cause: Error | undefined;

  /** Calls `onExit` when the thread has ended and its job has failed, with the cause if there is one. */
  constructor(
    private readonly worker: Worker,
    onExit: (cause: Error | undefined) => void,
  ) {
    worker.unref();
    worker.on('message', (answer: BodyAnswer) => this.endJob()?.resolve(answer));
    worker.on('error', (error: Error) => {
      this.cause = error;
    });
    worker.on('exit', () => {
      this.endJob()?.reject(workerFailed(this.cause ?? new Error('the worker thread ended')));
      onExit(this.cause);
    });
  }

  /** Moves the body to the thread, which leaves the caller's buffer empty. Call it only after the previous job has ended. */
  async parse(kind: BodyKind, bytes: Buffer): Promise<LargeBody> {
    // A slice of Node's buffer pool cannot be transferred.
    const body = isMarkedAsUntransferable(bytes.buffer) ? new Uint8Array(bytes) : bytes;
    const answer = await new Promise<BodyAnswer>((resolve, reject) => {
      this.job = { resolve, reject, timer: setTimeout(() => void this.worker.terminate(), JOB_MS_MAX) };
      this.worker.postMessage({ kind, body } satisfies BodyJob, [body.buffer as ArrayBuffer]);
    });
    return readAnswer(answer);
  }

  async terminate(): Promise<void> {
    await this.worker.terminate();
  }

  private endJob(): Job | undefined {
    const { job } = this;
    this.job = undefined;
    clearTimeout(job?.timer);
    return job;
  }
}
