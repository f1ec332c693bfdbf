/** Limits the bytes in use at the same time. Waiters are served in order. */
export class ByteBudget {
  private free: number;
  private readonly waiting: { bytes: number; proceed: () => void }[] = [];

  constructor(private readonly bytesMax: number) {
    this.free = bytesMax;
  }

  /** Resolves when `bytes` are free, and takes them until `release`. Throws `RangeError` above the whole budget. */
  async take(bytes: number): Promise<void> {
    if (bytes > this.bytesMax) throw new RangeError(`${bytes} bytes never fit into ${this.bytesMax}`);
    if (this.waiting.length === 0 && bytes <= this.free) {
      this.free -= bytes;
      return;
    }
    await new Promise<void>((proceed) => this.waiting.push({ bytes, proceed }));
  }

  release(bytes: number): void {
    this.free += bytes;
    for (let next = this.waiting[0]; next !== undefined && next.bytes <= this.free; next = this.waiting[0]) {
      this.waiting.shift();
      this.free -= next.bytes;
      next.proceed();
    }
  }
}
