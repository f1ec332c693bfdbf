import { isContent, type StreamEvent } from '#inference/stream-event.js';
import { asFailure, type UpstreamFailure } from '../failures/upstream-failure.js';
import type { RouteCall } from '../routing/route-call.js';
import { SharedTurns } from './shared-turns.js';

/** How the reply of an upstream that was read on came to its end; `stopped`: we ended it. */
export type ReadOnEnd = 'complete' | 'stopped' | UpstreamFailure;

/**
 * Reads what is left of a reply for its usage, and passes nothing on. Its meter counts it as it comes. `stop` fires when the call is not
 * to go on: it has ended the call itself.
 */
export async function readOn(rest: AsyncIterable<readonly StreamEvent[]>, call: RouteCall, stop: AbortSignal): Promise<ReadOnEnd> {
  const turns = new SharedTurns();
  try {
    for await (const events of rest) {
      if (call.firstContentAt === undefined && events.some(isContent)) call.contentCame();
      await turns.shared();
    }
    return 'complete'; // a call that does not come to its end throws
  } catch (error) {
    return stop.aborted ? 'stopped' : asFailure(error);
  }
}
