import { type EstimateCaps, ReceivedOutput, withinCap } from '#inference/received-output.js';
import type { StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';

const NOTHING: Usage = { promptTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0, source: 'estimated' };

/**
 * What one upstream call has consumed so far: as the upstream reports it, else estimated from the text received. Before
 * the first content nothing counts, since nothing would be billed (architecture.md, "What counts as returned").
 */
export class UsageMeter {
  private readonly received = new ReceivedOutput();
  private reported: Usage | undefined;

  constructor(private readonly caps: EstimateCaps) {}

  get hasContent(): boolean {
    return this.received.hasContent;
  }

  count(event: StreamEvent): void {
    this.received.count(event);
  }

  /** Takes what the upstream says of the whole reply: a dialect reports once, when the reply has ended well. */
  report(usage: Usage): void {
    this.reported = usage;
  }

  /** All output that came, by the one estimator, whatever the caps. */
  get outputTokensEstimate(): number {
    return this.received.tokensEstimate;
  }

  /** At the end of a reply. A report that leaves out the prompt, or the output that came, is completed by the estimate. */
  final(): Usage {
    const { reported, received } = this;
    const estimate = received.estimateUsage(this.caps);
    if (reported === undefined) return estimate;
    const countsOutput = reported.outputTokens > 0 || received.bytes === 0;
    if (reported.promptTokens > 0 && countsOutput) return reported;
    const completed: Usage = {
      promptTokens: reported.promptTokens || estimate.promptTokens,
      cachedTokens: reported.cachedTokens,
      outputTokens: countsOutput ? reported.outputTokens : estimate.outputTokens,
      reasoningTokens: countsOutput ? reported.reasoningTokens : estimate.reasoningTokens,
      source: 'estimated',
    };
    return withinCap(completed, this.caps.outputTokensMax);
  }

  /** While it runs, and when it ends early. */
  soFar(): Usage {
    return this.hasContent ? this.final() : NOTHING;
  }
}
