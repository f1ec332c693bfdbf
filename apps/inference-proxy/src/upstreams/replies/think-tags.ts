import type { UpstreamCapabilities } from '#contracts/catalog.js';
import type { StreamEvent } from '#inference/stream-event.js';

/** Tags of reasoning, each with the one that closes it. */
const TAGS: ReadonlyMap<string, string> = new Map([
  ['<think>', '</think>'],
  ['<thinking>', '</thinking>'],
]);
/** Longest white space before a tag; more belongs to the answer. */
const BLANK_LENGTH_MAX = 1_024;

/**
 * Splits `<think>…</think>` at the beginning of a text into reasoning and text, across any number of deltas. Tags count only before the
 * first visible text, so that an answer may mention them. With `beginsInside`, the text begins inside the reasoning, with or without its
 * opening tag.
 */
export class ThinkTags {
  private state: 'before' | 'inside' | 'after' = 'before';
  private held = '';
  /** True after reasoning: white space before the answer belongs to the template. */
  private trimming = false;
  /** Tags that may close the reasoning. */
  private closings: readonly string[];

  constructor(private beginsInside = false) {
    this.closings = beginsInside ? [...TAGS.values()] : [];
  }

  push(piece: string, events: StreamEvent[]): void {
    let text = this.held + piece;
    this.held = '';
    while (text !== '') {
      if (this.state === 'before') text = this.readBefore(text, events);
      else if (this.state === 'inside') text = this.readInside(text, events);
      else {
        append('text-delta', text, events);
        return;
      }
    }
  }

  /** Appends text that was held back as a possible tag. Call at the end of the reply. */
  end(events: StreamEvent[]): void {
    append(this.state === 'inside' ? 'reasoning-delta' : 'text-delta', this.trimming ? this.held.trim() : this.held, events);
    this.held = '';
  }

  private readBefore(text: string, events: StreamEvent[]): string {
    const visible = text.trimStart();
    for (const [opening, closing] of TAGS) {
      if (visible.startsWith(opening)) {
        this.state = 'inside';
        this.closings = [closing];
        this.trimming = this.beginsInside = false;
        return visible.slice(opening.length).trimStart();
      }
      if (opening.startsWith(visible) && text.length <= BLANK_LENGTH_MAX) {
        this.held = text;
        return '';
      }
    }
    if (this.beginsInside) {
      this.state = 'inside';
      this.beginsInside = false;
      return visible;
    }
    this.state = 'after';
    append('text-delta', this.trimming ? visible : text, events);
    return '';
  }

  private readInside(text: string, events: StreamEvent[]): string {
    for (const closing of this.closings) {
      const close = text.indexOf(closing);
      if (close === -1) continue;
      append('reasoning-delta', text.slice(0, close), events);
      this.state = 'before';
      this.trimming = true;
      return text.slice(close + closing.length).trimStart();
    }
    const keep = Math.max(...this.closings.map((closing) => overlap(text, closing)));
    append('reasoning-delta', text.slice(0, text.length - keep), events);
    this.held = text.slice(text.length - keep);
    return '';
  }
}

/** Returns undefined for an upstream that writes no tags. */
export function findThinkTags({ thinkTags, beginsInReasoning }: UpstreamCapabilities): ThinkTags | undefined {
  return thinkTags || beginsInReasoning ? new ThinkTags(beginsInReasoning) : undefined;
}

/** Returns the length of the longest end of `text` that is a proper beginning of `word`. */
function overlap(text: string, word: string): number {
  for (let length = Math.min(text.length, word.length - 1); length > 0; length--) {
    if (text.endsWith(word.slice(0, length))) return length;
  }
  return 0;
}

function append(type: 'text-delta' | 'reasoning-delta', text: string, events: StreamEvent[]): void {
  if (text !== '') events.push({ type, text });
}
