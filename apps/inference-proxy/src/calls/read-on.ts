import { isContent, type StreamEvent } from '#inference/stream-event.js';
import { asFailure, type UpstreamFailure } from '../failures/upstream-failure.js';
import type { RouteCall } from '../routing/route-state.js';
import { EventLoopBudget } from './event-loop-budget.js';

/** End of a reply that was read on. `aborted`: the proxy ended the reading. */
type ReadOnEnd = 'complete' | 'aborted' | UpstreamFailure;

/** Reads the rest of a reply for its usage and drops its content, which the meter counts. `signal` fires when the reading must end. */
export async function readOn(rest: AsyncIterable<readonly StreamEvent[]>, call: RouteCall, signal: AbortSignal): Promise<ReadOnEnd> {
  const budget = new EventLoopBudget();
  try {
    for await (const events of rest) {
      if (call.firstContentAt !== undefined) call.laterChunks += 1;
      else if (events.some(isContent)) call.onContent();
      await budget.yieldWhenSpent();
    }
    return 'complete'; // an incomplete call throws
  } catch (error) {
    return signal.aborted ? 'aborted' : asFailure(error);
  }
}
