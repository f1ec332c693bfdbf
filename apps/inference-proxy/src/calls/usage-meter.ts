import { type EstimateCaps, ReceivedOutput, withinCap } from '#inference/received-output.js';
import type { StreamEvent } from '#inference/stream-event.js';
import { NO_USAGE, type PromptUsage, promptUsage, type Usage } from '#inference/usage.js';

/**
 * Milliseconds after sending from which an upstream is taken to work on the request: a client that disconnects later pays for the prompt.
 * Shorter, and a client that cancels at once would pay; longer, and more prompts would be processed unpaid.
 */
export const BEGUN_AFTER_MS = 1_000;

/**
 * Measures the usage of one upstream call: as the upstream reports it, or else estimated from the text received. Before the first
 * content the usage is zero, unless the client has disconnected, or the upstream has counted a reply that stays without content.
 */
export class UsageMeter {
  private readonly received = new ReceivedOutput();
  private reported: Usage | undefined;
  private countsSoFar: Usage | undefined;
  /** True when the counts so far are those of the whole reply, hidden output included. */
  private isCounted = false;
  /** Output tokens that the upstream has reported beyond the cap. */
  outputTokensOver = 0;
  private sentAt: number | undefined;
  private isAnswered = false;
  private owesPrompt = false;

  constructor(private caps: EstimateCaps) {}

  get hasContent(): boolean {
    return this.received.hasContent;
  }

  /** True once the upstream itself has counted the whole reply. */
  get isReported(): boolean {
    return this.reported !== undefined;
  }

  /** Replaces the estimate of the prompt: that of the parts that were sent so far. */
  expectPrompt(promptTokensEstimate: number): void {
    this.caps = { ...this.caps, promptTokensEstimate };
  }

  /** Call when the request has been written to the upstream. */
  sent(): void {
    this.sentAt = performance.now();
  }

  /** Call when the upstream has accepted the request. */
  answered(): void {
    this.isAnswered = true;
  }

  /** True when the upstream works on the request: it has answered, or `BEGUN_AFTER_MS` have passed. */
  get hasBegun(): boolean {
    return this.isAnswered || (this.sentAt !== undefined && performance.now() - this.sentAt >= BEGUN_AFTER_MS);
  }

  count(event: StreamEvent): void {
    this.received.count(event);
  }

  /**
   * Takes the upstream's usage of the whole reply. A dialect reports once, at the end of a good reply. No output beyond the cap is billed
   * or shown.
   */
  report(usage: Usage): void {
    this.reported = withinCap(usage, this.caps.outputTokensMax);
    this.outputTokensOver = usage.outputTokens - this.reported.outputTokens;
  }

  /** Takes what the upstream has counted so far. Call after each batch. `isFinal`: the finish of a reply that is billed has come, so all output is counted. */
  noteCounts(counts: Usage, isFinal = false): void {
    this.received.noteCounts(counts);
    this.countsSoFar = counts;
    this.isCounted = isFinal && counts.outputTokens > 0;
  }

  /** The upstream's count of the prompt; undefined before it has reported one. */
  get promptCounted(): PromptUsage | undefined {
    const { countsSoFar } = this;
    return countsSoFar !== undefined && countsSoFar.promptTokens > 0 ? promptUsage(countsSoFar) : undefined;
  }

  /** Call when the client disconnects: a prompt that the upstream works on then counts, also without content. */
  clientDisconnected(): void {
    this.owesPrompt = this.hasBegun;
  }

  /** Estimated tokens of all output received, beyond any cap. */
  get outputTokensEstimate(): number {
    return this.received.tokensEstimate;
  }

  /** Usage at the end of a reply. A report without the prompt or the output is completed by the estimate. */
  final(): Usage {
    const { reported, received } = this;
    if (reported === undefined) return received.estimateUsage(this.caps);
    const countsPrompt = reported.promptTokens > 0;
    const countsOutput = reported.outputTokens > 0 || received.bytes === 0;
    if (countsPrompt && countsOutput) return reported;
    const estimate = received.estimateUsage(this.caps);
    const completed: Usage = {
      ...promptUsage({ ...(countsPrompt ? reported : estimate), ...(reported.tier !== undefined && { tier: reported.tier }) }),
      outputTokens: countsOutput ? reported.outputTokens : estimate.outputTokens,
      reasoningTokens: countsOutput ? reported.reasoningTokens : estimate.reasoningTokens,
      promptSource: countsPrompt ? 'reported' : 'estimated',
      outputSource: countsOutput ? 'reported' : 'counted',
    };
    return withinCap(completed, this.caps.outputTokensMax);
  }

  /** Usage while the reply runs, or when it ends early. */
  soFar(): Usage {
    return this.hasContent || this.owesPrompt || this.isCounted ? this.final() : NO_USAGE;
  }

  /** Usage of a reply that ends early at an upstream with hidden output: adds `floor` tokens, within the cap. */
  withHidden(floor: number): Usage {
    const usage = this.soFar();
    if (this.isReported || this.isCounted || usage === NO_USAGE) return usage; // `NO_USAGE`: nothing is owed
    const { received } = this;
    const outputTokens = Math.min(received.tokensEstimate, this.caps.outputTokensMax) + floor;
    if (usage.outputTokens >= outputTokens) return usage; // the upstream has already reported at least that much
    const hidden: Usage = {
      ...usage,
      outputTokens,
      reasoningTokens: Math.max(usage.reasoningTokens, received.reasoningTokensEstimate + floor),
      outputSource: 'floor',
    };
    return withinCap(hidden, this.caps.outputTokensMax);
  }
}
