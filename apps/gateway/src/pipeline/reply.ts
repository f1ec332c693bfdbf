import { GatewayError } from '#inference/errors.js';
import type { FinishReason, StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';
import type { Quote } from './quote.js';

/** Receives the events of a model. A plain reply collects them, a streamed reply sends them. */
export interface Reply {
  /** Aborts when the reply must end: with a `stopError` for the client, or without one when the client has disconnected. */
  readonly stopped: AbortSignal;

  /** Called before the hold is made. Throws a `GatewayError` when there is no room for the reply. */
  prepare?(quote: Quote): void;

  /**
   * Takes the events of one batch, without the terminal event. `isLast`: the terminal event came right after this batch. The caller
   * awaits a returned promise before it sends more (backpressure). The promise resolves when more can be sent or the reply is stopped,
   * and never rejects.
   */
  send(batch: readonly StreamEvent[], isLast: boolean): Promise<void> | undefined;

  /** Ends a complete reply. Called when its settlement is recorded or refused, or when `settleAnswerMs` is over. */
  finish(reason: FinishReason, usage: Usage): void;
}

/** Returns the error for the client of a stopped reply; undefined when the reply is not stopped or the client has disconnected. */
export function stopError({ reason }: AbortSignal): GatewayError | undefined {
  return reason instanceof GatewayError ? reason : undefined;
}
