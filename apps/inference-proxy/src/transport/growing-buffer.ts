const NOTHING: Buffer = Buffer.alloc(0);

/**
 * Concatenates pieces of any size in at most twice their memory. In a list, a piece of one byte would take a hundred, and the upstream
 * chooses the size of its pieces.
 */
export class GrowingBuffer {
  length = 0;
  private bytes = NOTHING;
  /** Writable length of `bytes`; 0 while it is a piece of the caller. */
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

  /** Returns all bytes and forgets them. */
  take(): Buffer {
    const all = this.bytes.subarray(0, this.length);
    this.bytes = NOTHING;
    this.length = this.capacity = 0;
    return all;
  }
}
