import type { FinishReason, StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';

/** Where the pipeline sends what the model says. Plain replies collect, streamed ones pass on; the pipeline cannot tell. */
export interface Reply {
  /** Aborts when the client is gone. From then on nothing needs to be sent. */
  readonly clientGone: AbortSignal;

  /**
   * Takes the events of one batch, without the terminal one; `isLast` says that it followed. A promise means: wait for it
   * before sending more. It resolves, and never rejects, also when the client goes away meanwhile.
   */
  send(batch: readonly StreamEvent[], isLast: boolean): Promise<void> | undefined;

  /** The reply is complete and its settlement safe. */
  finish(reason: FinishReason, usage: Usage): void;
}
