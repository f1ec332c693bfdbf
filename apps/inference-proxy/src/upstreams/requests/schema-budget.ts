/**
 * Characters that a folded schema may have. Folding repeats parts of a schema, once for each branch or reference, and the client chooses
 * how many there are; the hold counts the schema as it was sent.
 */
export class SchemaBudget {
  private left: number;

  /** `length`: characters of the schema as it was sent. */
  constructor(length: number) {
    this.left = 2 * length;
  }

  /** Takes the length of a part. Returns false when that is more than is left; nothing more is then left. */
  take(part: unknown): boolean {
    this.count(part);
    return this.left >= 0;
  }

  private count(part: unknown): void {
    this.left -= 2;
    if (typeof part === 'string') this.left -= part.length;
    else if (typeof part !== 'object' || part === null) this.left -= 4;
    else
      for (const [name, inner] of Object.entries(part)) {
        if (this.left < 0) return;
        this.left -= name.length + 2;
        this.count(inner);
      }
  }
}
