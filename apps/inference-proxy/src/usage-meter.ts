import { estimateOutputTokens, estimateUsage } from '#inference/estimate-tokens.js';
import type { StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';

const NOTHING: Usage = { promptTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0, source: 'estimated' };

/**
 * What one upstream call has consumed so far: as the upstream reports it, else estimated from the text received. Before
 * the first content nothing counts, since nothing would be billed (architecture.md, "What counts as returned").
 */
export class UsageMeter {
  /** Bytes of text, reasoning and tool arguments received. */
  private outputBytes = 0;
  private reasoningBytes = 0;
  private reported: Usage | undefined;
  private outputBytesAtReport = 0;
  hasContent = false;

  /** An estimate never goes beyond the caps the hold was made for. */
  constructor(private readonly caps: { promptTokensEstimate: number; outputTokensMax: number }) {}

  count(event: StreamEvent): void {
    switch (event.type) {
      case 'reasoning-delta':
        this.reasoningBytes += Buffer.byteLength(event.text);
        this.hasContent = true;
        return;
      case 'text-delta':
      case 'refusal-delta':
      case 'tool-call-delta':
        this.outputBytes += Buffer.byteLength(event.text);
        this.hasContent = true;
        return;
      case 'tool-call-start':
        this.hasContent = true;
        return;
      case 'tool-call-end':
      case 'upstream-start':
      case 'usage-report':
      case 'completion-finish':
      case 'completion-failure':
        return;
    }
  }

  /** Takes what the upstream says; it covers everything counted before. */
  report(usage: Usage): void {
    this.reported = usage;
    this.outputBytesAtReport = this.outputBytes + this.reasoningBytes;
  }

  /** All output that came, by the one estimator, whatever the caps. */
  get outputTokensEstimate(): number {
    return estimateOutputTokens(this.outputBytes + this.reasoningBytes);
  }

  /** At the end of a reply. A report that leaves out the prompt, or the output that came, is completed by the estimate. */
  final(): Usage {
    const estimate = estimateUsage(this.caps.promptTokensEstimate, this.outputBytes, this.reasoningBytes);
    const { reported } = this;
    if (reported === undefined) return this.capped(estimate);
    const countsOutput = reported.outputTokens > 0 || estimate.outputTokens === 0;
    const sinceReport = estimateOutputTokens(this.outputBytes + this.reasoningBytes - this.outputBytesAtReport);
    if (reported.promptTokens > 0 && countsOutput && sinceReport === 0) return reported;
    return this.capped({
      promptTokens: reported.promptTokens || estimate.promptTokens,
      cachedTokens: reported.cachedTokens,
      outputTokens: countsOutput ? reported.outputTokens + sinceReport : estimate.outputTokens,
      reasoningTokens: countsOutput ? reported.reasoningTokens : estimate.reasoningTokens,
      source: 'estimated',
    });
  }

  /** While it runs, and when it ends early. */
  soFar(): Usage {
    return this.hasContent ? this.final() : NOTHING;
  }

  private capped(usage: Usage): Usage {
    const outputTokens = Math.min(usage.outputTokens, this.caps.outputTokensMax);
    return { ...usage, outputTokens, reasoningTokens: Math.min(usage.reasoningTokens, outputTokens) };
  }
}
