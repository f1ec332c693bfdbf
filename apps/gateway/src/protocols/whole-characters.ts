/**
 * Keeps the two halves of a character together. Models stream by tokens, and some upstreams cut text between the halves of a
 * surrogate pair (T-45); a half alone is a JSON string that strict clients (Rust, Python) cannot read, so it waits for its other half.
 */
export class WholeCharacters {
  private half = '';

  /** What can be sent now: all but a first half at the end. */
  push(text: string): string {
    const joined = this.half + text;
    const endsInHalf = isFirstHalf(joined.charCodeAt(joined.length - 1));
    this.half = endsInHalf ? joined.slice(-1) : '';
    return endsInHalf ? joined.slice(0, -1) : joined;
  }

  /** The half whose other half never came, when no more text will. */
  end(): string {
    const { half } = this;
    this.half = '';
    return half;
  }
}

function isFirstHalf(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
