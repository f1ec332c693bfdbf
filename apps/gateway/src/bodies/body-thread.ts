import { isMarkedAsUntransferable, type Worker } from 'node:worker_threads';
import type { BodyKind, LargeBody } from './parse-large-body.js';
import { type BodyAnswer, type BodyJob, readAnswer, workerFailed } from './worker-messages.js';

/** No body within the limits takes a hundredth of this: a thread that does is stuck. */
const JOB_MS_MAX = 30_000;

interface Job {
  resolve(answer: BodyAnswer): void;
  reject(error: Error): void;
  timer: NodeJS.Timeout;
}

/** One worker thread and the job it works on. */
export class BodyThread {
  private job: Job | undefined;
  private cause: Error | undefined;

  /** `onExit` is called when the thread is gone, with the reason if there is one; by then its job has failed. */
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

  /** The body is moved to the thread: the caller's buffer is empty afterwards. Called when the job before has ended. */
  async parse(kind: BodyKind, bytes: Buffer): Promise<LargeBody> {
    // A piece of Node's pool of small buffers cannot be moved.
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
