import type { StreamEvent } from '#inference/stream-event.js';

export type ToolCallEvent = Extract<StreamEvent, { type: 'tool-call-start' | 'tool-call-delta' | 'tool-call-end' }>;

/**
 * Releases the events of one tool call at a time, in order of start. Events of a later call wait until all earlier calls have ended.
 * Blocks of the messages format cannot interleave, and the stream helper of OpenAI's SDK treats the first piece of another call as the
 * end of the previous one and fails to parse its arguments.
 */
export class ToolCallSequencer {
  private current = 0;
  private readonly waiting = new Map<number, ToolCallEvent[]>();

  /** Returns the events that can be sent now: none, the event itself, or the event and those that waited for it. */
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
