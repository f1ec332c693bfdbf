/** A point at which a script waits until the row lets it go on. */
export class Gate {
  /** Resolves when a call waits here. */
  readonly reached: Promise<void>;
  readonly opened: Promise<void>;
  private readonly resolveReached: () => void;
  private readonly resolveOpened: () => void;

  constructor() {
    const reached = Promise.withResolvers<void>();
    const opened = Promise.withResolvers<void>();
    this.reached = reached.promise;
    this.opened = opened.promise;
    this.resolveReached = reached.resolve;
    this.resolveOpened = opened.resolve;
  }

  open(): void {
    this.resolveOpened();
  }

  async pass(): Promise<void> {
    this.resolveReached();
    await this.opened;
  }
}
