import { overlap } from './think-tags.js';

/**
 * Finds stop sequences in a text that comes in pieces, for upstreams that do not (architecture.md, "an upstream without
 * `stop`"; T-44). The sequence itself is not part of the output.
 */
export class StopSequences {
  private held = '';

  constructor(private readonly sequences: readonly string[]) {}

  /** What may go out now, and whether a sequence was met: then nothing after it counts. */
  push(piece: string): { text: string; met: boolean } {
    const text = this.held + piece;
    let first = -1;
    for (const sequence of this.sequences) {
      const at = text.indexOf(sequence);
      if (at !== -1 && (first === -1 || at < first)) first = at;
    }
    if (first !== -1) {
      this.held = '';
      return { text: text.slice(0, first), met: true };
    }
    const keep = Math.max(0, ...this.sequences.map((sequence) => overlap(text, sequence)));
    this.held = text.slice(text.length - keep);
    return { text: text.slice(0, text.length - keep), met: false };
  }

  /** What was held back, because it might have become a sequence. */
  flush(): string {
    const rest = this.held;
    this.held = '';
    return rest;
  }
}
