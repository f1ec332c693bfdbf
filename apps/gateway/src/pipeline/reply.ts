import { GatewayError } from '#inference/errors.js';
import type { FinishReason, StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';

/** Where the pipeline sends what the model says. Plain replies collect, streamed ones pass on; the pipeline cannot tell. */
export interface Reply {
  /** Aborts when the reply is not to go on: the client is to be told a `stopError`, or is gone, and nothing more needs to be sent. */
  readonly stopped: AbortSignal;

  /**
   * Takes the events of one batch, without the terminal one; `isLast` says that it followed. A promise means: wait for it
   * before sending more. It resolves, and never rejects, also when the reply is stopped meanwhile.
   */
  send(batch: readonly StreamEvent[], isLast: boolean): Promise<void> | undefined;

  /** The reply is complete and its settlement safe. */
  finish(reason: FinishReason, usage: Usage): void;
}

/** What the client of a stopped reply is to be told; undefined while nothing is stopped, and when the client is gone. */
export function stopError({ reason }: AbortSignal): GatewayError | undefined {
  return reason instanceof GatewayError ? reason : undefined;
}
