import { estimateOutputTokens } from './estimate-tokens.js';
import type { StreamEvent } from './stream-event.js';
import { type PromptUsage, promptUsage, type Usage } from './usage.js';

/** The caps of a hold. No estimate exceeds them. */
export interface EstimateCaps {
  promptTokensEstimate: number;
  outputTokensMax: number;
}

/** Counts of an upstream. Each is 0 until the upstream reports it. */
type CountsSoFar = PromptUsage & Pick<Usage, 'outputTokens' | 'reasoningTokens'>;

const NOTHING_COUNTED: CountsSoFar = { promptTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 };

/**
 * Counts the received part of a reply. The gateway and the inference-proxy both count, in case the other dies, and both must bill the
 * same.
 */
export class ReceivedOutput {
  /** True after the first content event (`isContent`). */
  hasContent = false;
  /** UTF-8 bytes of everything that the model wrote: text, reasoning, names and arguments of calls. */
  bytes = 0;
  private reasoningBytes = 0;
  private counts: CountsSoFar = NOTHING_COUNTED;
  private bytesCounted = 0;
  private reasoningBytesCounted = 0;

  count(event: StreamEvent): void {
    switch (event.type) {
      case 'text-delta':
      case 'refusal-delta':
      case 'tool-call-delta':
        this.add(event.text);
        return;
      case 'reasoning-delta':
        this.reasoningBytes += this.add(event.text);
        return;
      case 'tool-call-start':
        this.add(event.tool.name);
        return;
      case 'embedding-delta':
        this.hasContent = true; // vectors have no tokens
        return;
      case 'tool-call-end':
      case 'upstream-start':
      case 'usage-report':
      case 'settlement-deferred':
      case 'attempts-report':
      case 'completion-finish':
      case 'completion-failure':
        return;
    }
  }

  /** Not limited by the caps. */
  get tokensEstimate(): number {
    return estimateOutputTokens(this.bytes);
  }

  /** Not limited by the caps. */
  get reasoningTokensEstimate(): number {
    return estimateOutputTokens(this.reasoningBytes);
  }

  /**
   * Records what the upstream has counted before its end: the prompt, and perhaps the output received so far. The counts are exact, so
   * only what comes after them is estimated. A count of 0 is none: then all of it is.
   */
  noteCounts(counts: CountsSoFar): void {
    if (counts.outputTokens !== this.counts.outputTokens) {
      this.bytesCounted = counts.outputTokens > 0 ? this.bytes : 0;
      this.reasoningBytesCounted = counts.outputTokens > 0 ? this.reasoningBytes : 0;
    }
    this.counts = counts;
  }

  /** Usage of a reply that its upstream did not count to the end. */
  estimateUsage({ promptTokensEstimate, outputTokensMax }: EstimateCaps): Usage {
    const { promptTokens, outputTokens, reasoningTokens } = this.counts;
    const bytesLeft = this.bytes - this.bytesCounted;
    const usage: Usage = {
      ...promptUsage({ ...this.counts, promptTokens: promptTokens || promptTokensEstimate }),
      outputTokens: outputTokens + estimateOutputTokens(bytesLeft),
      reasoningTokens: reasoningTokens + estimateOutputTokens(this.reasoningBytes - this.reasoningBytesCounted),
      promptSource: promptTokens > 0 ? 'reported' : 'estimated',
      outputSource: outputTokens > 0 && bytesLeft === 0 ? 'reported' : 'counted',
    };
    return withinCap(usage, outputTokensMax);
  }

  private add(text: string): number {
    const bytes = Buffer.byteLength(text);
    this.hasContent = true;
    this.bytes += bytes;
    return bytes;
  }
}

export function withinCap(usage: Usage, outputTokensMax: number): Usage {
  const outputTokens = Math.min(usage.outputTokens, outputTokensMax);
  return { ...usage, outputTokens, reasoningTokens: Math.min(usage.reasoningTokens, outputTokens) };
}
