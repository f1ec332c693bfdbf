import { isContent, type StreamEvent } from '#inference/stream-event.js';
import { asFailure, type UpstreamFailure } from '../failures/upstream-failure.js';
import type { RouteCall } from '../routing/route-state.js';
import { EventLoopBudget } from './event-loop-budget.js';

/** End of a reply that was read on. `stopped`: the proxy ended it. */
export type ReadOnEnd = 'complete' | 'stopped' | UpstreamFailure;

/** Reads the rest of a reply for its usage and drops its content, which the meter counts. `stop` fires when the call was ended. */
export async function readOn(rest: AsyncIterable<readonly StreamEvent[]>, call: RouteCall, stop: AbortSignal): Promise<ReadOnEnd> {
  const budget = new EventLoopBudget();
  try {
    for await (const events of rest) {
      if (call.firstContentAt === undefined && events.some(isContent)) call.contentCame();
      await budget.yieldWhenSpent();
    }
    return 'complete'; // an incomplete call throws
  } catch (error) {
    return stop.aborted ? 'stopped' : asFailure(error);
  }
}
