import { type EstimateCaps, ReceivedOutput, withinCap } from '#inference/received-output.js';
import type { StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';
import type { StreamParser } from '../upstreams/upstream-adapter.js';

export const NOTHING: Usage = {
  promptTokens: 0,
  cachedTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  promptSource: 'estimated',
  outputSource: 'counted',
};

/**
 * After so long an upstream that was sent a request works on it, also before it answers: a client that leaves then pays for the prompt.
 * Shorter, and a client that changes its mind at once would pay; longer, and more prompts are read for nothing.
 */
export const BEGUN_AFTER_MS = 1_000;

/** Tokens that an upstream has counted so far, where it tells before the end. */
type CountsSoFar = Pick<StreamParser, 'usageSoFar'>;

/**
 * What one upstream call has consumed so far: as the upstream reports it, else estimated from the text received. Before
 * the first content nothing counts, until the client has left (architecture.md, "What counts as returned").
 */
export class UsageMeter {
  private readonly received = new ReceivedOutput();
  private reported: Usage | undefined;
  private counting: CountsSoFar = {};
  private sentAt: number | undefined;
  private isAnswered = false;
  private owesPrompt = false;

  constructor(private readonly caps: EstimateCaps) {}

  get hasContent(): boolean {
    return this.received.hasContent;
  }

  /** True once the upstream itself has counted the whole reply. */
  get isReported(): boolean {
    return this.reported !== undefined;
  }

  /** The request was written to the upstream. */
  sent(): void {
    this.sentAt = performance.now();
  }

  /** The upstream has accepted the request. */
  answered(): void {
    this.isAnswered = true;
  }

  /**
   * Reads from `parser` what the upstream has counted before its end, if it tells. Call again at the end with a copy: a meter outlives its
   * reply, and must not keep the text of it.
   */
  follow(parser: CountsSoFar): void {
    this.counting = parser;
  }

  /** True when the upstream works on the request: it has answered, or has had it for `BEGUN_AFTER_MS`. */
  get hasBegun(): boolean {
    return this.isAnswered || (this.sentAt !== undefined && performance.now() - this.sentAt >= BEGUN_AFTER_MS);
  }

  count(event: StreamEvent): void {
    this.received.count(event);
  }

  /** Takes what the upstream says of the whole reply: a dialect reports once, when the reply has ended well. */
  report(usage: Usage): void {
    this.reported = usage;
  }

  /** The client has left: from now on a prompt that the upstream works on counts, also without content, and so does what it has counted. */
  clientDisconnected(): void {
    this.owesPrompt = this.hasBegun;
  }

  /** All output that came, by the one estimator, whatever the caps. */
  get outputTokensEstimate(): number {
    return this.received.tokensEstimate;
  }

  /** At the end of a reply. A report that leaves out the prompt, or the output that came, is completed by the estimate. */
  final(): Usage {
    const { reported, received } = this;
    if (reported === undefined) return this.estimate();
    const countsPrompt = reported.promptTokens > 0;
    const countsOutput = reported.outputTokens > 0 || received.bytes === 0;
    if (countsPrompt && countsOutput) return reported;
    const estimate = received.estimateUsage(this.caps);
    const completed: Usage = {
      promptTokens: countsPrompt ? reported.promptTokens : estimate.promptTokens,
      cachedTokens: reported.cachedTokens,
      outputTokens: countsOutput ? reported.outputTokens : estimate.outputTokens,
      reasoningTokens: countsOutput ? reported.reasoningTokens : estimate.reasoningTokens,
      promptSource: countsPrompt ? 'reported' : 'estimated',
      outputSource: countsOutput ? 'reported' : 'counted',
    };
    return withinCap(completed, this.caps.outputTokensMax);
  }

  /** While it runs, and when it ends early. */
  soFar(): Usage {
    return this.hasContent || this.owesPrompt ? this.final() : NOTHING;
  }

  /** When it ends early and its upstream hides output: `floor` tokens of it are added to what was counted, within the cap. */
  withHidden(floor: number): Usage {
    const usage = this.soFar();
    if (this.isReported || usage === NOTHING) return usage;
    const { outputTokens, reasoningTokens } = this.received.estimateUsage(this.caps);
    if (usage.outputTokens >= outputTokens + floor) return usage;
    const hidden: Usage = {
      ...usage,
      outputTokens: outputTokens + floor,
      reasoningTokens: Math.max(usage.reasoningTokens, reasoningTokens + floor),
      outputSource: 'floor',
    };
    return withinCap(hidden, this.caps.outputTokensMax);
  }

  /** From sizes; of a client that has left also from what the upstream has counted before the end, a part of the output at most. */
  private estimate(): Usage {
    const estimate = this.received.estimateUsage(this.caps);
    const soFar = this.owesPrompt ? this.counting.usageSoFar : undefined;
    if (soFar === undefined) return estimate;
    const counted: Usage = {
      promptTokens: soFar.promptTokens || estimate.promptTokens,
      cachedTokens: soFar.cachedTokens,
      outputTokens: Math.max(soFar.outputTokens, estimate.outputTokens),
      reasoningTokens: Math.max(soFar.reasoningTokens, estimate.reasoningTokens),
      promptSource: soFar.promptTokens > 0 ? 'reported' : 'estimated',
      outputSource: soFar.outputTokens > estimate.outputTokens ? 'reported' : 'counted',
    };
    return withinCap(counted, this.caps.outputTokensMax);
  }
}
