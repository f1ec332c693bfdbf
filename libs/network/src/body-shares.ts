interface Limits {
  /** Bytes of all bodies together. */
  bytesMax: number;
  /** Bytes of all bodies of one holder. */
  holderBytesMax: number;
  /** A body of up to this size may use the reserve. */
  smallBodyBytesMax: number;
  /** Bytes that larger bodies leave free. */
  reserveBytes: number;
}

/** Divides the memory of bodies in flight between holders: accounts, people or addresses. Small bodies have a reserve that large ones leave free. */
export class BodyShares {
  private usedBytes = 0;
  private readonly usedByHolder = new Map<string, number>();

  constructor(private readonly limits: Limits) {}

  get bytesInUse(): number {
    return this.usedBytes;
  }

  /** Takes `bytes` for a body of `bodyBytes` in total until `release`, or takes nothing and says which limit is reached. */
  take(holder: string, bytes: number, bodyBytes: number): 'taken' | 'over-share' | 'over-all' {
    const { bytesMax, holderBytesMax, smallBodyBytesMax, reserveBytes } = this.limits;
    const holderBytes = (this.usedByHolder.get(holder) ?? 0) + bytes;
    if (holderBytes > holderBytesMax) return 'over-share';
    if (this.usedBytes + bytes > bytesMax - (bodyBytes > smallBodyBytesMax ? reserveBytes : 0)) return 'over-all';
    this.usedBytes += bytes;
    this.usedByHolder.set(holder, holderBytes);
    return 'taken';
  }

  release(holder: string, bytes: number): void {
    this.usedBytes -= bytes;
    const left = (this.usedByHolder.get(holder) ?? 0) - bytes;
    if (left > 0) this.usedByHolder.set(holder, left);
    else this.usedByHolder.delete(holder);
  }
}
