import type { StreamEvent } from '#inference/stream-event.js';

type Delta = Extract<StreamEvent, { text: string }>;

/** What stands for a half of a character that has no other half. */
const REPLACEMENT = '\ufffd';

/**
 * Makes whole characters of what an upstream says (T-45). Models stream by tokens, and some upstreams cut text between the halves of a
 * surrogate pair, or end it there; a half alone is a JSON string that strict clients (Rust, Python) cannot read. So a first half at
 * the end of a piece waits for the next piece of its text, and a half that turns out to be alone is replaced.
 */
export class WholeCharacters {
  /** The halves that wait, each as a piece of its text. */
  private waiting: Delta[] = [];

  mend(events: readonly StreamEvent[]): readonly StreamEvent[] {
    if (this.waiting.length === 0 && events.every(isWhole)) return events;
    const mended: StreamEvent[] = [];
    for (const event of events) {
      const [half] = this.take((waiting) => goesOn(waiting, event));
      for (const alone of this.take((waiting) => isOver(waiting, event))) mended.push({ ...alone, text: REPLACEMENT });
      if ('text' in event) this.mendText({ ...event, text: (half?.text ?? '') + event.text }, mended);
      else mended.push(event);
    }
    return mended;
  }

  private mendText(event: Delta, mended: StreamEvent[]): void {
    const { text } = event;
    const endsInHalf = isFirstHalf(text.charCodeAt(text.length - 1));
    if (endsInHalf) this.waiting.push({ ...event, text: text.slice(-1) });
    const whole = (endsInHalf ? text.slice(0, -1) : text).toWellFormed();
    if (whole !== '') mended.push({ ...event, text: whole });
  }

  /** Those for which it is so wait no longer. */
  private take(isSo: (waiting: Delta) => boolean): Delta[] {
    const taken = this.waiting.filter(isSo);
    if (taken.length > 0) this.waiting = this.waiting.filter((waiting) => !taken.includes(waiting));
    return taken;
  }
}

function isWhole(event: StreamEvent): boolean {
  return !('text' in event) || event.text.isWellFormed();
}

/** Calls interleave, and each goes on where it was. */
function goesOn(waiting: Delta, event: StreamEvent): boolean {
  return waiting.type === event.type && indexOf(waiting) === indexOf(event);
}

/** Text goes on at once or not at all, a call until its end. */
function isOver(waiting: Delta, event: StreamEvent): boolean {
  if (waiting.type !== 'tool-call-delta') return !goesOn(waiting, event);
  return event.type === 'tool-call-end' && event.index === waiting.index;
}

function indexOf(event: StreamEvent): number | undefined {
  return 'index' in event ? event.index : undefined;
}

function isFirstHalf(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
