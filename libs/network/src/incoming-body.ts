/** Collects the bytes of one body in one buffer. A list would take a hundred bytes per chunk, and clients choose the chunk sizes. */
export class IncomingBody {
  length = 0;
  private bytes: Buffer | undefined;

  /** `expectedBytes` is the announced length, undefined when there is none. */
  constructor(private readonly expectedBytes: number | undefined) {}

  push(chunk: Buffer): void {
    const needed = this.length + chunk.length;
    if (this.bytes === undefined) {
      this.bytes = chunk; // usually the only chunk
    } else {
      // The first chunk is copied before it grows: its memory belongs to Node.
      if (this.bytes.length < needed) this.bytes = this.grown(needed);
      chunk.copy(this.bytes, this.length);
    }
    this.length = needed;
  }

  /** Returns all bytes and releases them. */
  take(): Buffer {
    const all = this.bytes?.subarray(0, this.length) ?? Buffer.alloc(0);
    this.bytes = undefined;
    return all;
  }

  private grown(needed: number): Buffer {
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.expectedBytes ?? 2 * needed));
    this.bytes?.copy(grown, 0, 0, this.length);
    return grown;
  }
}
