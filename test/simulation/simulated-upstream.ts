import type { Dispatcher } from 'undici';
import type { PromptUsage } from '#inference/usage.js';
import type { Random } from './random.js';

/** Behaviour of the upstream for one request. */
export interface Script {
  connectMs: number;
  firstByteMs: number;
  /** Milliseconds between two chunks. */
  paceMs: number;
  /** Chunks of four letters, one estimated token each. */
  chunks: number;
  ending: 'good' | 'no usage' | 'more than asked for' | 'broken' | 'silent' | 'status 500' | 'refused connection';
  stream: boolean;
  /** Bills `HIDDEN_TOKENS` that it does not show; the catalog has `hiddenReasoning`. */
  hides: boolean;
  /** Its count of the prompt, and the tier that it names. */
  prompt: PromptUsage;
  /** Time limit of a plain reply in the catalog. Default: 20 s. */
  totalMs?: number;
}

export const HIDDEN_TOKENS = 7;
/** Sizes of a prompt from which a price may have a step. */
export const STEPS_ABOVE = [6, 12, 15];
/** More tokens than the text of a request has bytes, so that no hold covers all of them. */
const UNCOVERED_TOKENS = 30;
const PROMPT_SIZES = [...STEPS_ABOVE.flatMap((above) => [above - 1, above, above + 1]), UNCOVERED_TOKENS];
/** Tiers that a price may name, and one that none does. */
export const PRICED_TIERS = ['flex', 'priority'];
const TIERS = [undefined, undefined, ...PRICED_TIERS, 'scale'];

export function chooseScript(random: Random): Script {
  const endings = ['no usage', 'more than asked for', 'broken', 'silent', 'status 500', 'refused connection'] as const;
  return {
    connectMs: random.between(0.1, 5),
    firstByteMs: random.between(1, 400),
    paceMs: random.between(1, 600),
    chunks: 1 + Math.floor(random.between(0, 12)),
    ending: random.chance(0.7) ? 'good' : (random.pick(endings) ?? 'good'),
    stream: random.chance(0.7),
    hides: random.chance(0.3),
    prompt: choosePrompt(random),
  };
}

function choosePrompt(random: Random): PromptUsage {
  const promptTokens = random.pick(PROMPT_SIZES) ?? 0;
  const some = (most: number): number => Math.floor(random.between(0, most + 1));
  const cachedTokens = some(4);
  const cacheWriteTokens = some(promptTokens - cachedTokens);
  const tier = random.pick(TIERS);
  return {
    ...{ promptTokens, cachedTokens, cacheWriteTokens, cacheWrite1hTokens: some(promptTokens - cachedTokens - cacheWriteTokens) },
    ...(tier !== undefined && { tier }),
  };
}

/** Returns the output tokens that the upstream bills for a reply of `shown` tokens. */
export function countOutput({ ending, hides }: Script, shown: number): number {
  return (ending === 'more than asked for' ? 1_000_000 : shown) + (hides ? HIDDEN_TOKENS : 0);
}

export interface UpstreamObserver {
  /** The call has started. */
  dispatched(index: number): void;
  /** The head of the reply has been sent. */
  answered(index: number): void;
  /** `tokens` have been sent so far. */
  produced(index: number, tokens: number): void;
  finished(index: number): void;
  /** True while the calling process is alive. */
  isHeard(): boolean;
}

/** An openai-chat upstream in place of a socket pool. It plays the script of the request whose number is in the prompt. */
export function simulatedPool(scripts: readonly Script[], observer: UpstreamObserver): Dispatcher {
  return {
    dispatch({ body }: { body: string }, handler: Required<Dispatcher.DispatchHandler>): boolean {
      const index = hashNumber(body);
      new Call(index, scripts[index] as Script, handler, observer).begin();
      return true;
    },
  } as unknown as Dispatcher;
}

/** Number of the request with this text. */
export function hashNumber(text: string): number {
  return Number(/request (\d+)\./.exec(text)?.[1]);
}

class Call {
  private isOver = false;
  private sent = 0;
  private readonly controller = {
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
    private readonly index: number,
    private readonly script: Script,
    private readonly handler: Required<Dispatcher.DispatchHandler>,
    private readonly observer: UpstreamObserver,
  ) {}

  begin(): void {
    const { connectMs, firstByteMs, ending } = this.script;
    this.observer.dispatched(this.index);
    this.later(connectMs, () => {
      if (ending === 'refused connection') return this.fail(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }));
      this.handler.onRequestStart(this.controller as never, {});
      this.later(firstByteMs, () => this.answer());
    });
  }

  private answer(): void {
    const { ending, stream, chunks, paceMs } = this.script;
    const contentType = stream ? 'text/event-stream' : 'application/json';
    const status = ending === 'status 500' ? 500 : 200;
    this.handler.onResponseStart(this.controller as never, status, { 'content-type': contentType });
    this.observer.answered(this.index);
    if (ending === 'status 500') this.later(1, () => this.finish('{"error":{"message":"overloaded"}}'));
    else if (stream) this.later(paceMs, () => this.nextChunk());
    else this.later(paceMs * chunks, () => this.wholeReply());
  }

  private nextChunk(): void {
    const { chunks, ending, paceMs } = this.script;
    if (this.sent === chunks) {
      this.endStream();
      return;
    }
    this.sent++;
    this.observer.produced(this.index, this.sent);
    this.data(`data: {"choices":[{"index":0,"delta":{"content":"word"},"finish_reason":null}]${this.tier()}}\n\n`);
    if (this.sent === chunks && ending === 'silent') return;
    this.later(paceMs, () => this.nextChunk());
  }

  private endStream(): void {
    const { ending } = this.script;
    if (ending === 'broken') {
      this.fail(connectionReset());
      return;
    }
    const usage = ending === 'no usage' ? '' : `data: {"choices":[],"usage":${this.usage()}${this.tier()}}\n\n`;
    this.finish(`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n${usage}data: [DONE]\n\n`);
  }

  private wholeReply(): void {
    const { chunks, ending } = this.script;
    if (ending === 'silent') return;
    if (ending === 'broken') {
      this.fail(connectionReset());
      return;
    }
    this.sent = chunks;
    this.observer.produced(this.index, chunks);
    const message = `{"role":"assistant","content":"${'word'.repeat(chunks)}"}`;
    const usage = ending === 'no usage' ? '' : `,"usage":${this.usage()}`;
    this.finish(`{"choices":[{"index":0,"message":${message},"finish_reason":"stop"}]${usage}${this.tier()}}`);
  }

  private usage(): string {
    const { promptTokens, cachedTokens, cacheWriteTokens = 0, cacheWrite1hTokens = 0 } = this.script.prompt;
    const output = countOutput(this.script, this.sent);
    const total = promptTokens + output;
    return JSON.stringify({
      ...{ prompt_tokens: promptTokens, completion_tokens: output, total_tokens: total },
      prompt_tokens_details: { cached_tokens: cachedTokens },
      cache_creation: { ephemeral_5m_input_tokens: cacheWriteTokens, ephemeral_1h_input_tokens: cacheWrite1hTokens },
    });
  }

  /** The field of the tier, in every chunk. */
  private tier(): string {
    const { tier } = this.script.prompt;
    return tier === undefined ? '' : `,"service_tier":"${tier}"`;
  }

  private data(text: string): void {
    this.handler.onResponseData(this.controller as never, Buffer.from(text));
  }

  private finish(text: string): void {
    this.isOver = true;
    if (this.script.ending !== 'status 500') this.observer.finished(this.index);
    if (!this.observer.isHeard()) return;
    this.data(text);
    this.handler.onResponseEnd(this.controller as never, {});
  }

  private fail(reason: Error): void {
    if (this.isOver) return;
    this.isOver = true;
    setTimeout(() => this.observer.isHeard() && this.handler.onResponseError(this.controller as never, reason), 0);
  }

  /** A dead process has closed its sockets, so the upstream stops. */
  private later(delayMs: number, act: () => void): void {
    setTimeout(() => {
      if (!this.isOver && this.observer.isHeard()) act();
    }, delayMs);
  }
}

function connectionReset(): Error {
  return Object.assign(new Error('reset'), { code: 'ECONNRESET' });
}
