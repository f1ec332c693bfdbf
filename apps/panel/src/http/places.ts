/** Counts what each holder has at once, up to a limit. */
export class Places {
  private readonly taken = new Map<string, number>();

  constructor(private readonly max: number) {}

  /** Takes a place. Returns the function that frees it, to be called once; undefined when the holder has no place left. */
  enter(holder: string): (() => void) | undefined {
    const before = this.taken.get(holder) ?? 0;
    if (before >= this.max) return undefined;
    this.taken.set(holder, before + 1);
    return () => {
      const left = (this.taken.get(holder) ?? 1) - 1;
      if (left > 0) this.taken.set(holder, left);
      else this.taken.delete(holder);
    };
  }
}
