import type { StreamEvent } from '#inference/stream-event.js';

type Batch = readonly StreamEvent[];
type Step = IteratorResult<Batch, void>;

const DONE: Step = { done: true, value: undefined };

/** Events of an upstream call that can be taken from their reader at any moment, also while it waits for the next batch. */
export class DetachableEvents implements AsyncIterableIterator<Batch, void, undefined> {
  private awaited: Promise<Step> | undefined;
  private endForReader: () => void = () => undefined;
  private isDetached = false;

  constructor(private readonly source: AsyncGenerator<Batch, void, undefined>) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Step> {
    if (this.isDetached) return Promise.resolve(DONE);
    const awaited = this.source.next();
    this.awaited = awaited;
    return new Promise((resolve, reject) => {
      this.endForReader = () => resolve(DONE);
      awaited.then(resolve, reject);
    });
  }

  async return(): Promise<Step> {
    return this.isDetached ? DONE : this.source.return();
  }

  /** Ends the reader's iteration and returns the rest, beginning with the batch that the reader waited for or had just received. */
  detach(): AsyncIterable<Batch> {
    this.isDetached = true;
    this.endForReader();
    return this.rest();
  }

  private async *rest(): AsyncGenerator<Batch, void, undefined> {
    for (let step = await (this.awaited ?? this.source.next()); !step.done; step = await this.source.next()) yield step.value;
  }
}
