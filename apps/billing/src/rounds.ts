/** Runs a round at once and then every `intervalMs`, one at a time: a round that is due while another runs is left out. */
export class Rounds {
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;

  constructor(
    /** Never throws: the next round retries. */
    private readonly round: () => Promise<void>,
    private readonly intervalMs: number,
  ) {}

  start(): void {
    const begin = (): void => {
      this.running ??= this.round().finally(() => {
        this.running = undefined;
      });
    };
    begin();
    this.timer = setInterval(begin, this.intervalMs);
  }

  /** Resolves when the running round has ended. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.running;
  }
}
