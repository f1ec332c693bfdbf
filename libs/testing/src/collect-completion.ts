import type { Completion } from '#inference/completion.js';
import { CompletionCollector } from '#inference/completion-collector.js';
import type { StreamEvent } from '#inference/stream-event.js';

/** Folds all events of a reply. */
export function collectCompletion(events: Iterable<StreamEvent>): Completion {
  const collector = new CompletionCollector();
  for (const event of events) collector.add(event);
  return collector.finish();
}
