import { estimateOutputTokens, estimateUsage } from './estimate-tokens.js';
import type { StreamEvent } from './stream-event.js';
import type { Usage } from './usage.js';

/** The caps of a hold. No estimate exceeds them. */
export interface EstimateCaps {
  promptTokensEstimate: number;
  outputTokensMax: number;
}

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
      case 'tool-call-end':
      case 'upstream-start':
      case 'usage-report':
      case 'settlement-deferred':
      case 'completion-finish':
      case 'completion-failure':
        return;
    }
  }

  /** Not limited by the caps. */
  get tokensEstimate(): number {
    return estimateOutputTokens(this.bytes);
  }

  /** Usage of a reply without reported usage. */
  estimateUsage(caps: EstimateCaps): Usage {
    return withinCap(estimateUsage(caps.promptTokensEstimate, this.bytes - this.reasoningBytes, this.reasoningBytes), caps.outputTokensMax);
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
