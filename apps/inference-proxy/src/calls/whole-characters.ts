import type { StreamEvent } from '#inference/stream-event.js';

type Delta = Extract<StreamEvent, { text: string }>;

/** Replaces half a character that has no other half. */
const REPLACEMENT = '\ufffd';

/**
 * Joins characters that an upstream has cut between two deltas. Half a surrogate pair is a JSON string that strict clients (Rust,
 * Python) cannot parse, so a first half at the end of a delta waits for the next delta of its text. A half that stays alone is replaced.
 */
export class WholeCharacters {
  /** First halves that wait, each as a delta of its text. */
  private waiting: Delta[] = [];

  join(events: readonly StreamEvent[]): readonly StreamEvent[] {
    if (this.waiting.length === 0 && events.every(isWhole)) return events;
    const joined: StreamEvent[] = [];
    for (const event of events) {
      const [half] = this.take((waiting) => continues(waiting, event));
      for (const alone of this.take((waiting) => isOver(waiting, event))) joined.push({ ...alone, text: REPLACEMENT });
      if ('text' in event) this.joinText({ ...event, text: (half?.text ?? '') + event.text }, joined);
      else joined.push(event);
    }
    return joined;
  }

  private joinText(event: Delta, joined: StreamEvent[]): void {
    const { text } = event;
    const endsInHalf = isFirstHalf(text.charCodeAt(text.length - 1));
    if (endsInHalf) this.waiting.push({ ...event, text: text.slice(-1) });
    const whole = (endsInHalf ? text.slice(0, -1) : text).toWellFormed();
    if (whole !== '') joined.push({ ...event, text: whole });
  }

  /** Removes the waiting halves for which `isTaken` is true, and returns them. */
  private take(isTaken: (waiting: Delta) => boolean): Delta[] {
    const taken = this.waiting.filter(isTaken);
    if (taken.length > 0) this.waiting = this.waiting.filter((waiting) => !taken.includes(waiting));
    return taken;
  }
}

function isWhole(event: StreamEvent): boolean {
  return !('text' in event) || event.text.isWellFormed();
}

/** True when the event continues the text that `waiting` is part of. Calls may interleave. */
function continues(waiting: Delta, event: StreamEvent): boolean {
  return waiting.type === event.type && readIndex(waiting) === readIndex(event);
}

/** True when the text of `waiting` cannot continue: text continues at once, a call until its end. */
function isOver(waiting: Delta, event: StreamEvent): boolean {
  if (waiting.type !== 'tool-call-delta') return !continues(waiting, event);
  return event.type === 'tool-call-end' && event.index === waiting.index;
}

function readIndex(event: StreamEvent): number | undefined {
  return 'index' in event ? event.index : undefined;
}

function isFirstHalf(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
