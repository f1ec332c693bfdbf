/**
 * Reads the text of one block. Some servers send it in the start of the block and again in its deltas: deltas that spell the start anew
 * add nothing. The methods return the text that is new.
 */
export class BlockText {
  /** The part of the start that the deltas have not repeated yet; empty when they do not repeat it. */
  private expected = '';
  /** Deltas that may be a repetition. */
  private held = '';

  start(text: string): string {
    this.expected = text;
    return text;
  }

  push(delta: string): string {
    if (this.expected === '') return delta;
    if (this.expected.startsWith(delta)) {
      this.expected = this.expected.slice(delta.length);
      this.held = this.expected === '' ? '' : this.held + delta;
      return '';
    }
    const isRepeated = delta.startsWith(this.expected);
    const added = isRepeated ? delta.slice(this.expected.length) : this.held + delta;
    this.expected = this.held = '';
    return added;
  }

  /** Returns text that was held and is no repetition. Call at the end of the block. */
  end(): string {
    const { held } = this;
    this.expected = this.held = '';
    return held;
  }
}
