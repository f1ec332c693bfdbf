import type { Format, Heard } from './formats/format.ts';

/** A request of a client: what has been heard so far, and its end. */
export class Exchange {
  status = 0;
  headers = new Headers();
  /** Resolves to what was heard when the reply is over, or the client has left. */
  readonly done: Promise<Heard>;
  private text = '';
  private isStream = false;
  private isBroken = false;
  private isOver = false;
  private readonly abort = new AbortController();
  private readonly waiting = new Set<() => void>();
  private readonly format: Format;

  constructor(format: Format, url: string, init: { headers: Record<string, string>; body: string; timeoutMs: number }) {
    this.format = format;
    this.done = this.run(url, init);
  }

  /** The reply as far as it has come. */
  get heard(): Heard {
    const { format, status, text, isStream, isBroken } = this;
    if (status === 0) return { ...format.readReply(0, '{}'), faults: ['no reply'], end: 'open', error: null };
    return isStream && status === 200
      ? format.readStream(text, isBroken)
      : this.isOver && !isBroken
        ? format.readReply(status, text)
        : { ...format.readReply(status, '{}'), end: 'open', error: null, faults: [] };
  }

  /** The bytes as they came. */
  get raw(): string {
    return this.text;
  }

  /** Resolves when `isHeard` is true of what was heard; rejects when the reply is over before that. */
  async until(isHeard: (heard: Heard) => boolean): Promise<void> {
    while (!isHeard(this.heard)) {
      if (this.isOver) throw new Error(`the reply ended early: ${this.status} ${this.text.slice(0, 200)}`);
      await new Promise<void>((resolve) => this.waiting.add(resolve));
    }
  }

  /** Closes the connection. */
  leave(): void {
    this.abort.abort();
  }

  private async run(
    url: string,
    { headers, body, timeoutMs }: { headers: Record<string, string>; body: string; timeoutMs: number },
  ): Promise<Heard> {
    const timer = setTimeout(() => this.abort.abort(), timeoutMs);
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers,
        body,
        signal: this.abort.signal,
      });
      this.status = response.status;
      this.headers = response.headers;
      this.isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
      const decoder = new TextDecoder();
      for await (const bytes of response.body ?? []) {
        this.text += decoder.decode(bytes, { stream: true });
        this.wake();
      }
    } catch {
      this.isBroken = true;
    } finally {
      clearTimeout(timer);
      this.isOver = true;
      this.wake();
    }
    return this.heard;
  }

  private wake(): void {
    for (const resolve of this.waiting) resolve();
    this.waiting.clear();
  }
}
