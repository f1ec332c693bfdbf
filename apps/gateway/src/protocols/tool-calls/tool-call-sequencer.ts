import type { StreamEvent } from '#inference/stream-event.js';

export type ToolCallEvent = Extract<StreamEvent, { type: 'tool-call-start' | 'tool-call-delta' | 'tool-call-end' }>;

/**
 * Lets one call through at a time, in order of start. Pieces of a later call wait until the calls before it have ended, so
 * that no client sees calls interleave: blocks cannot (M-25, T-22), and the OpenAI client's stream helper takes the first
 * piece of another call for the end of the one before, and throws where it parses arguments.
 */
export class ToolCallSequencer {
  private current = 0;
  private readonly waiting = new Map<number, ToolCallEvent[]>();

  /** What can be said now, in order: nothing, the event itself, or the event and what waited for it. */
  next(event: ToolCallEvent): readonly ToolCallEvent[] {
    if (event.index !== this.current) {
      const held = this.waiting.get(event.index);
      if (held === undefined) this.waiting.set(event.index, [event]);
      else held.push(event);
      return [];
    }
    return event.type === 'tool-call-end' ? [event, ...this.advance()] : [event];
  }

  private advance(): ToolCallEvent[] {
    const released: ToolCallEvent[] = [];
    let ended = true;
    while (ended) {
      this.current++;
      const held = this.waiting.get(this.current) ?? [];
      this.waiting.delete(this.current);
      released.push(...held);
      ended = held.at(-1)?.type === 'tool-call-end';
    }
    return released;
  }
}
