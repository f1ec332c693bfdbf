import type { Dispatcher } from 'undici';
import type { Random } from './random.js';

type ServerState = 'well' | 'gone' | 'hung' | 'status 500' | 'status 429' | 'flaky';

/** Share of failing calls while the server is flaky. */
const FLAKY_SHARE = 0.3;
/** A prompt with this text breaks every server. */
export const POISON = 'poison';

/** An openai-chat server of a fleet, in place of a socket pool. Its current state decides the outcome of every call. */
export class SimulatedServer {
  state: ServerState = 'well';
  slowness = 1;
  running = 0;
  runningMax = 0;
  /** Time of each call. */
  readonly calls: number[] = [];
  readonly pool = { dispatch: this.dispatch.bind(this), close: async () => undefined } as unknown as Dispatcher;

  constructor(
    readonly id: string,
    /** Mean milliseconds to the first content, and from there to the end. */
    private readonly terms: { firstContentMs: number; streamMs: number },
    private readonly random: Random,
  ) {}

  callsBetween(from: number, to: number): number {
    return this.calls.filter((at) => at >= from && at < to).length;
  }

  private dispatch({ body }: Dispatcher.DispatchOptions, handler: Required<Dispatcher.DispatchHandler>): boolean {
    const { state, random, slowness } = this;
    this.calls.push(performance.now());
    const call = new Call(handler, () => this.running--);
    this.runningMax = Math.max(this.runningMax, ++this.running);
    if (state === 'gone') {
      call.later(1, () => call.fail(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })));
      return true;
    }
    handler.onRequestStart(call.controller as never, {});
    if (state === 'hung') return true;
    const isBroken = state === 'status 500' || (state === 'flaky' && random.chance(FLAKY_SHARE)) || String(body).includes(POISON);
    const status = state === 'status 429' ? 429 : isBroken ? 500 : 200;
    if (status !== 200) {
      call.later(5, () => call.answer(status, '{"error":{"message":"no"}}'));
      return true;
    }
    const jitter = random.between(0.7, 1.3);
    call.later(this.terms.firstContentMs * slowness * jitter, () => {
      call.begin(`data: {"choices":[{"index":0,"delta":{"content":"word"},"finish_reason":null}]}\n\n`);
      call.later(this.terms.streamMs * slowness * jitter, () => {
        call.end('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n');
      });
    });
    return true;
  }
}

class Call {
  private isOver = false;
  readonly controller = {
    aborted: false,
    paused: false,
    reason: null,
    rawHeaders: null,
    rawTrailers: null,
    abort: (reason: Error): void => this.fail(reason),
    pause: (): void => undefined,
    resume: (): void => undefined,
  };

  constructor(
    private readonly handler: Required<Dispatcher.DispatchHandler>,
    private readonly onOver: () => void,
  ) {}

  later(delayMs: number, action: () => void): void {
    setTimeout(() => !this.isOver && action(), delayMs);
  }

  answer(status: number, body: string): void {
    this.handler.onResponseStart(this.controller as never, status, { 'content-type': 'application/json' });
    this.end(body);
  }

  begin(text: string): void {
    this.handler.onResponseStart(this.controller as never, 200, { 'content-type': 'text/event-stream' });
    this.data(text);
  }

  end(text: string): void {
    this.data(text);
    this.over();
    this.handler.onResponseEnd(this.controller as never, {});
  }

  fail(error: Error): void {
    if (this.isOver) return;
    this.over();
    this.handler.onResponseError(this.controller as never, error);
  }

  private data(text: string): void {
    if (!this.isOver) this.handler.onResponseData(this.controller as never, Buffer.from(text));
  }

  private over(): void {
    this.isOver = true;
    this.onOver();
  }
}
