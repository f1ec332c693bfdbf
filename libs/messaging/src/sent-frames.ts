import { type RenderedFrame, toBytes } from './frames.js';

/**
 * The resend window: the frames of one stream that its reader has not consumed. The credit of the stream limits it to `WINDOW_FRAMES`, or
 * `WINDOW_BYTES` and a frame. Keeps text, because a small `Buffer` would keep the 8 KiB that Node allocates for several of them.
 */
export class SentFrames {
  /** Sequence of the last frame. */
  sent = 0;
  bytes = 0;
  private readonly frames: RenderedFrame[] = [];
  /** Bytes of each frame. */
  private readonly sizes: number[] = [];

  get count(): number {
    return this.frames.length;
  }

  add(frame: RenderedFrame, bytes: number): void {
    this.sent++;
    this.frames.push(frame);
    this.sizes.push(bytes);
    this.bytes += bytes;
  }

  /** Drops every frame up to `sequence`. Returns false when there is none. */
  acknowledge(sequence: number): boolean {
    const count = this.frames.length - (this.sent - sequence);
    if (count <= 0) return false;
    this.frames.splice(0, count);
    for (const size of this.sizes.splice(0, count)) this.bytes -= size;
    return true;
  }

  /** Returns the frames after `sequence`; none if one of them was dropped. */
  after(sequence: number): Buffer[] {
    const count = this.sent - sequence;
    return count > 0 && count <= this.frames.length ? this.frames.slice(-count).map(toBytes) : [];
  }
}
