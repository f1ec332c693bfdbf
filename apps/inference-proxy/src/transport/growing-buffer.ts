const NOTHING: Buffer = Buffer.alloc(0);

/**
 * Bytes put together from pieces of any size, in no more than twice the memory they need themselves. Kept in a list, a piece of one
 * byte would take a hundred, and upstreams choose how small theirs are.
 */
export class GrowingBuffer {
  length = 0;
  private bytes = NOTHING;
  /** How many of `bytes` are ours to write to: none of a piece that is only kept. */
  private capacity = 0;

  push(piece: Buffer): void {
    const needed = this.length + piece.length;
    if (this.length === 0) {
      this.bytes = piece; // most often the only one
    } else {
      if (needed > this.capacity) {
        const grown = Buffer.allocUnsafe(Math.max(needed, 2 * this.length));
        this.bytes.copy(grown, 0, 0, this.length);
        this.bytes = grown;
        this.capacity = grown.length;
      }
      piece.copy(this.bytes, this.length);
    }
    this.length = needed;
  }

  /** All of them, and keeps none. */
  take(): Buffer {
    const all = this.bytes.subarray(0, this.length);
    this.bytes = NOTHING;
    this.length = this.capacity = 0;
    return all;
  }
}
